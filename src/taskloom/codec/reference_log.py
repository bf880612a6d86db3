"""Replay of logs that the reference implementation wrote.

Its lines have no frame. The Task in `task_created` is promoted already, and the events that say
so follow; `task_updated` has the whole DAG after the update in `task_summary`, which decides; a
block, or a step that falls from ready to pending, shows only there; ids may hold capitals and
dots; finished steps keep their holder. None of that is damage. Nothing is ever appended to such
a log: the Task can be read, not changed.
"""

from collections.abc import Mapping
from datetime import UTC
from typing import cast

from taskloom.board import EventType, Task, force_step, force_task, task_from_snapshot
from taskloom.codec.log_line import LogLine, decode_lines
from taskloom.errors import DamagedLogError
from taskloom.ids import Seq


class ReferenceReplay:
    """Applies such a log chunk by chunk."""

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
            DamagedLogError: A line does not parse or makes no sense.
        """
        for line in decode_lines(data, after=self.seq):
            if until is not None and line.wal_seq > until:
                return
            try:
                self._apply(line)
            except (KeyError, ValueError, TypeError, AttributeError) as cause:
                what = f"the event makes no sense: {cause!r}"
                raise DamagedLogError(line.wal_seq, what) from cause

    def _apply(self, line: LogLine) -> None:
        seq, event_type = line.wal_seq, EventType(line.event_type)
        at = line.created_at if line.created_at.tzinfo else line.created_at.replace(tzinfo=UTC)
        if event_type is EventType.TASK_CREATED:
            if self.task is not None:
                raise DamagedLogError(seq, "task_created can only start a log")
            self.task = task_from_snapshot(None, _task(line.payload["task"]), at, line.session_id)
        elif self.task is None:
            raise DamagedLogError(seq, "a log starts with task_created, numbered 1")
        elif event_type is EventType.TASK_UPDATED:
            whole = line.payload.get("task_summary")
            if whole is not None:
                self.task = task_from_snapshot(self.task, _task(whole), at, line.session_id)
        elif line.step_id is not None:
            force_step(self.task, line.step_id, event_type, line.payload, at, seq)
        else:
            force_task(self.task, event_type, line.payload)
        self.task.seq = seq
        self.task.updated_at = at
        self.task.event_prefix = line.event_id.removesuffix(f"_{seq}")


def _task(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise TypeError("the Task is not an object")
    return cast("Mapping[str, object]", value)
