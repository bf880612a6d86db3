"""The answers to commands, and the same answer again for a command that is sent twice."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final

from taskloom.board import (
    Actor,
    CancelTask,
    ClaimStep,
    Command,
    CompleteTask,
    CreateTask,
    Done,
    EventType,
    FailTask,
    Receipt,
    StepStatus,
    Task,
    UpdateBoard,
    UpdateStep,
    view_step,
)
from taskloom.board.validation import refuse
from taskloom.ids import CommandId, Seq
from taskloom.log import Wal
from taskloom.runtime.log_reader import restore

_KEPT_MAX: Final = 1_000
_ID_CHARS_MAX: Final = 200


def write_receipt(task: Task, command: Command | CreateTask, first: Seq) -> Receipt:
    """Write the answer to a command whose events begin at line `first`."""
    receipt = Receipt(task.task_id, task.seq, first, task.event_prefix, task.status)
    if isinstance(command, ClaimStep):
        step = task.steps[command.step_id]
        receipt.step, receipt.fence = view_step(step), step.claim_seq
    return receipt


class CommandMemory:
    """The latest receipts of commands that carried an id; older ones are read from the log."""

    def __init__(self, open_again: Callable[[], Wal]) -> None:
        """Read from the log, opened again, what is no longer in memory."""
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

    def is_done(self, task: Task, command: Command | CreateTask, actor: Actor) -> bool:
        """Return whether this very command was carried out before.

        Raises:
            RefusedError: Its id was used for another command, or by another run.
        """
        command_id = command.command_id
        if command_id is None:
            return False
        check_command_id(command_id)
        done = task.done.get(command_id)
        if done is None:
            return False
        if done.run_id != actor.run_id or not _fits(command, done):
            refuse("$.command_id", f"{command_id!r} was used for another command; use it once.")
        return True

    def recall(
        self, task: Task, command: Command | CreateTask, *, read_log: bool
    ) -> Receipt | None:
        """Return the first answer to a command that is done; None if only the log has it."""
        assert command.command_id is not None
        kept = self._kept.get(command.command_id)
        if kept is not None or not read_log:
            return kept
        done = task.done[command.command_id]
        return write_receipt(self._as_it_was(done.last_seq), command, done.first_seq)

    def _as_it_was(self, seq: Seq) -> Task:
        wal = self._open_again()
        try:
            return restore(wal, None, until=seq)
        finally:
            wal.close()


def check_command_id(command_id: object) -> None:
    """Refuse an id that is no short, printable text."""
    text = command_id if isinstance(command_id, str) and command_id.isprintable() else ""
    if not 0 < len(text) <= _ID_CHARS_MAX:
        refuse("$.command_id", f"must be 1 to {_ID_CHARS_MAX} printable characters.")


_LAST: Final[Mapping[type, EventType]] = {
    CompleteTask: EventType.TASK_COMPLETED,
    FailTask: EventType.TASK_FAILED,
    CancelTask: EventType.TASK_CANCELLED,
}
_FIRST: Final[Mapping[type, EventType]] = {
    CreateTask: EventType.TASK_CREATED,
    UpdateBoard: EventType.TASK_UPDATED,
    ClaimStep: EventType.STEP_CLAIMED,
}
_STATUS: Final[Mapping[EventType, StepStatus]] = {
    EventType.STEP_REOPENED: StepStatus.PENDING,
    EventType.STEP_STARTED: StepStatus.RUNNING,
    EventType.STEP_BLOCKED: StepStatus.BLOCKED,
    EventType.STEP_COMPLETED: StepStatus.COMPLETED,
    EventType.STEP_FAILED: StepStatus.FAILED,
    EventType.STEP_CANCELLED: StepStatus.CANCELLED,
}


def _fits(command: Command | CreateTask, done: Done) -> bool:
    """Return whether the events of a command that is done can be those of this one."""
    kind = type(command)
    if kind in _LAST:
        return done.last_type is _LAST[kind]
    if kind in _FIRST:
        return done.first_type is _FIRST[kind] and done.step_id == getattr(command, "step_id", None)
    if done.first_type in _FIRST.values() or done.last_type in _LAST.values():
        return False
    # A note may stand before any change, and alone where the status was the same already.
    is_change = isinstance(command, UpdateStep) and done.first_type is not EventType.STEP_UPDATED
    if is_change and getattr(command, "status", None) != _STATUS.get(done.first_type):
        return False
    return done.step_id == getattr(command, "step_id", done.step_id)
