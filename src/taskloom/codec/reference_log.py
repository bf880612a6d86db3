"""Reading logs of the reference implementation, with its ways understood.

Its lines have no frame. The Task in `task_created` is already promoted, and the events that
say so follow; `task_updated` carries the whole DAG after the update in `task_summary`, and
that rules; a block, or a step's fall from ready to pending, shows only there; ids may hold
capitals and dots; finished steps keep their holder. None of that is damage. Nothing is ever
appended to such a log, so what comes out is a Task to look at.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, cast

import msgspec

from taskloom.board import EventType, Task, adopt, force_step, force_task
from taskloom.codec.torn_tail import DECODE_ERRORS
from taskloom.errors import DamagedLogError
from taskloom.ids import Seq


class _Line(msgspec.Struct):
    wal_seq: int
    event_type: EventType
    payload: dict[str, object]
    created_at: datetime
    task_id: str = ""
    session_id: str = ""
    step_id: str | None = None
    actor_agent_id: str | None = None
    actor_run_id: str | None = None
    event_id: str = ""


_decode: Final = msgspec.json.Decoder(_Line).decode


class ReferenceReplay:
    """Adds up such a log piece by piece."""

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
            DamagedLogError: A line cannot be read or makes no sense.
        """
        for text in data.split(b"\n")[:-1]:
            place = self.seq + 1
            if until is not None and place > until:
                return
            try:
                line = _decode(text)
                self._apply(line, place)
            except DECODE_ERRORS as cause:
                raise DamagedLogError(place, str(cause)) from cause
            except (KeyError, ValueError, TypeError, AttributeError) as cause:
                raise DamagedLogError(place, f"the event makes no sense: {cause!r}") from cause

    def _apply(self, line: _Line, place: Seq) -> None:
        if line.wal_seq != place:
            raise DamagedLogError(place, f"the line is numbered {line.wal_seq}")
        at = line.created_at if line.created_at.tzinfo else line.created_at.replace(tzinfo=UTC)
        if line.event_type is EventType.TASK_CREATED:
            if self.task is not None:
                raise DamagedLogError(place, "task_created can only begin a log")
            self.task = adopt(None, _task_of(line.payload["task"]), at, line.session_id)
        elif self.task is None:
            raise DamagedLogError(place, "a log begins with task_created, numbered 1")
        elif line.event_type is EventType.TASK_UPDATED:
            whole = line.payload.get("task_summary")
            if whole is not None:
                self.task = adopt(self.task, _task_of(whole), at, line.session_id)
        elif line.step_id is not None:
            force_step(self.task, line.step_id, line.event_type, line.payload, at, place)
        else:
            force_task(self.task, line.event_type, line.payload)
        self.task.seq = place
        self.task.updated_at = at
        self.task.event_prefix = line.event_id.removesuffix(f"_{place}")


def _task_of(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise TypeError("the Task is not an object")
    return cast("Mapping[str, object]", value)
