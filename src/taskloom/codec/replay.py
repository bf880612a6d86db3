"""Replay: the state of a Task from the lines of its log.

The same `evolve` changes a live Task and a replayed one, so the two cannot differ.
"""

from taskloom.board import Done, Event, ImpossibleEventError, Task, TaskCreated, create, evolve_all
from taskloom.codec.event_lines import decode, decode_replay_line, decode_replay_lines
from taskloom.codec.torn_tail import DECODE_ERRORS
from taskloom.errors import DamagedLogError
from taskloom.ids import CommandId, RunId, Seq


class Replay:
    """Applies a log chunk by chunk."""

    def __init__(self, task: Task | None = None) -> None:
        """Start at the first line, or behind the last line that `task` has seen."""
        self.task = task

    @property
    def seq(self) -> Seq:
        """The last line that was applied."""
        return 0 if self.task is None else self.task.seq

    def add(self, data: bytes, *, until: Seq | None = None) -> None:
        """Apply whole lines, up to line `until` if given.

        Raises:
            DamagedLogError: A line does not parse or cannot follow; the Task is half changed.
        """
        if self.task is None:
            data = self._create(data)
        if data:
            self._apply(data, until)

    def _create(self, data: bytes) -> bytes:
        end = data.index(b"\n") + 1
        first = decode(data[:end], after=0)[0]
        if not isinstance(first.payload, TaskCreated) or first.wal_seq != 1:
            raise DamagedLogError(1, "a log starts with task_created, numbered 1")
        try:
            task = create(first.payload, first.created_at, 1, first.session_id)
        except ImpossibleEventError as error:
            raise DamagedLogError(1, error.cause) from error
        task.event_prefix = first.event_id.removesuffix("-1")
        if first.command_id is not None:
            note_done(task, first.command_id, 1, first.actor_run_id, Event(first.payload))
        self.task = task
        return data[end:]

    def _apply(self, data: bytes, until: Seq | None) -> None:
        task = self.task
        assert task is not None
        wanted = None if until is None else max(0, until - task.seq)
        try:
            lines = decode_replay_lines(data)[:wanted]
        except DECODE_ERRORS:
            self._apply_until_damage(data, wanted)
            return
        try:
            evolve_all(task, lines)
        except ImpossibleEventError as error:
            raise DamagedLogError(task.seq + 1, error.cause) from error
        if [line for line in lines if line.command_id is not None]:
            self._note_commands(data, len(lines))

    def _apply_until_damage(self, data: bytes, wanted: int | None) -> None:
        """Apply line by line: one of the lines, perhaps behind the wanted ones, does not parse."""
        task = self.task
        assert task is not None
        raw = data.split(b"\n")[:-1][:wanted]
        try:
            evolve_all(task, map(decode_replay_line, raw))
        except ImpossibleEventError as error:
            raise DamagedLogError(task.seq + 1, error.cause) from error
        except DECODE_ERRORS as cause:
            raise DamagedLogError(task.seq + 1, str(cause)) from cause
        self._note_commands(data, len(raw))

    def _note_commands(self, data: bytes, count: int) -> None:
        """Remember the commands that have an id, of the first `count` lines; most have none."""
        assert self.task is not None
        lines = data.split(b"\n")[:count]
        for line in decode(b"\n".join([*lines, b""]), after=self.seq - count):
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
