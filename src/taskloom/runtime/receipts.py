"""The answers to commands, and giving the same answer again to whoever lost it."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from taskloom.board import Actor, ClaimStep, Command, Receipt, Task, view_step
from taskloom.board.reading import refuse
from taskloom.errors import Code, Refused
from taskloom.ids import CommandId, Seq, StepId
from taskloom.log import Wal
from taskloom.runtime.restore import restore

_KEPT_MAX: Final = 1_000
_ID_CHARS_MAX: Final = 200


def write_receipt(task: Task, command: Command | None, first: Seq) -> Receipt:
    """Write the answer to a command whose events begin at line `first`."""
    step = task.steps[command.step_id] if isinstance(command, ClaimStep) else None
    return Receipt(
        task_id=task.task_id,
        seq=task.seq,
        first_seq=first,
        event_prefix=task.event_prefix,
        status=task.status,
        step=view_step(step) if step is not None else None,
        fence=step.claim_seq if step is not None else None,
    )


class ReceiptMemory:
    """The latest receipts of commands that carried an id; older ones are read from the log."""

    def __init__(self, open_again: Callable[[], Wal]) -> None:
        """Keep a way to the log for what is no longer remembered."""
        self._open_again = open_again
        self._kept: OrderedDict[CommandId, Receipt] = OrderedDict()

    def keep(self, command_id: CommandId, receipt: Receipt) -> None:
        """Remember an answer."""
        self._kept[command_id] = receipt
        if len(self._kept) > _KEPT_MAX:
            self._kept.popitem(last=False)

    def forget(self) -> None:
        """Forget everything: what was answered may not have become durable."""
        self._kept.clear()

    def recall(
        self, task: Task, command_id: CommandId, actor: Actor, step_id: StepId = ""
    ) -> Receipt | None:
        """Return the first answer to a command, None if it was never carried out."""
        _check(command_id)
        done = task.done.get(command_id)
        if done is None:
            return None
        if done.run_id != actor.run_id:
            raise Refused(
                Code.VALIDATION_ERROR,
                f"$.command_id {command_id!r} was used by another run; a command id is used once.",
                {"path": "$.command_id"},
            )
        kept = self._kept.get(command_id)
        if kept is not None:
            return kept
        then = self._as_it_was(done.last_seq)
        step = then.steps.get(step_id)
        if step is not None and step.claim_seq != done.last_seq:
            step = None  # The command was no claim.
        return Receipt(
            task_id=then.task_id,
            seq=then.seq,
            first_seq=done.first_seq,
            event_prefix=then.event_prefix,
            status=then.status,
            step=view_step(step) if step is not None else None,
            fence=step.claim_seq if step is not None else None,
        )

    def _as_it_was(self, seq: Seq) -> Task:
        wal = self._open_again()
        try:
            return restore(wal, None, until=seq)
        finally:
            wal.close()


def _check(command_id: object) -> None:
    text = command_id if isinstance(command_id, str) and command_id.isprintable() else ""
    if not 0 < len(text) <= _ID_CHARS_MAX:
        refuse("$.command_id", f"must be 1 to {_ID_CHARS_MAX} printable characters.")
