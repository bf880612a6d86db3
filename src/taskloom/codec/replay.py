"""A log added up: the state that its events come to.

The same `evolve` that changes a live Task adds up its log, so the two cannot differ.
"""

from taskloom.board import Done, Event, ImpossibleEventError, Task, TaskCreated, create, evolve_all
from taskloom.codec.event_lines import decode, decode_step
from taskloom.codec.torn_tail import DECODE_ERRORS
from taskloom.errors import DamagedLogError
from taskloom.ids import CommandId, RunId, Seq


class Replay:
    """Adds up a log piece by piece."""

    def __init__(self, task: Task | None = None) -> None:
        """Begin before the first line, or behind what a Task has seen already."""
        self.task = task

    @property
    def seq(self) -> Seq:
        """The last line that was added."""
        return 0 if self.task is None else self.task.seq

    def add(self, data: bytes, *, until: Seq | None = None) -> None:
        """Add whole lines, up to line `until` if given.

        Raises:
            DamagedLogError: A line cannot be read or cannot follow; drop this replay.
        """
        if self.task is None:
            data = self._begin(data)
        if data:
            self._apply(data, until)

    def _begin(self, data: bytes) -> bytes:
        end = data.index(b"\n") + 1
        first = decode(data[:end], after=0)[0]
        if not isinstance(first.payload, TaskCreated) or first.wal_seq != 1:
            raise DamagedLogError(1, "a log begins with task_created, numbered 1")
        try:
            task = create(first.payload, first.created_at, 1, first.session_id)
        except ImpossibleEventError as cause:
            raise DamagedLogError(1, cause.message) from cause
        task.event_prefix = first.event_id.removesuffix("-1")
        if first.command_id is not None:
            note_done(task, first.command_id, 1, first.actor_run_id, Event(first.payload))
        self.task = task
        return data[end:]

    def _apply(self, data: bytes, until: Seq | None) -> None:
        task = self.task
        assert task is not None
        raw = data.split(b"\n")
        raw.pop()
        if until is not None:
            del raw[max(0, until - task.seq) :]
        try:
            # Decoded one by one: what a line became is gone before the next is looked at.
            evolve_all(task, map(decode_step, raw))
        except ImpossibleEventError as cause:
            raise DamagedLogError(task.seq + 1, cause.message) from cause
        except DECODE_ERRORS as cause:
            raise DamagedLogError(task.seq + 1, str(cause)) from cause
        if b'"command_id":"' in data:
            self._note_commands(raw)

    def _note_commands(self, raw: list[bytes]) -> None:
        """Remember the commands that carried an id; most logs have none."""
        assert self.task is not None
        for line in decode(b"\n".join([*raw, b""]), after=self.seq - len(raw)):
            if line.command_id is not None:
                event = Event(line.payload, line.step_id)
                note_done(self.task, line.command_id, line.wal_seq, line.actor_run_id, event)


def note_done(task: Task, command_id: CommandId, seq: Seq, run_id: RunId, event: Event) -> None:
    """Remember that line `seq` was written for this command."""
    before = task.done.get(command_id)
    kind = event.payload.type
    task.done[command_id] = (
        Done(seq, seq, run_id, kind, kind, event.step_id)
        if before is None
        else before._replace(last_seq=seq, last_type=kind)
    )
