"""Encodes events as lines of a log, and decodes them.

A line is decoded straight into the payload class of its event type, in one pass: that is what
makes replay quick. The type of an event is its value in `EventType`, never a class name.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, Protocol, cast

import msgspec

from taskloom.board import (
    PAYLOADS,
    Event,
    Payload,
    Recorded,
    StepCompleted,
    StepSnapshot,
    TaskCreated,
)
from taskloom.codec.frame import Chain
from taskloom.codec.torn_tail import DECODE_ERRORS
from taskloom.define import define
from taskloom.errors import DamagedLogError
from taskloom.ids import AgentId, CommandId, RunId, Seq, SessionId, StepId, TaskId


@define()
class EventAuthor:
    """Who wrote the events of one decision, for whom and when: all their lines have this."""

    session_id: SessionId
    task_id: TaskId
    event_prefix: str
    agent_id: AgentId
    run_id: RunId
    at: datetime
    command_id: CommandId | None = None


class Line(Protocol):
    """A decoded line, its payload an instance of the class of its event type."""

    wal_seq: Seq
    payload: Payload
    created_at: datetime
    step_id: StepId | None
    actor_agent_id: str
    actor_run_id: RunId
    session_id: SessionId
    task_id: TaskId
    event_id: str
    command_id: CommandId | None


class _Out(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A line as it is written, its fields in this order."""

    wal_seq: int
    session_id: str
    event_id: str
    event_type: str
    actor_agent_id: str
    actor_run_id: str
    task_id: str
    step_id: str | None = None
    payload: object
    created_at: datetime
    command_id: str | None = None
    tx: tuple[int, int, int]


def _as_written(payload: Payload) -> Payload:
    """Return a payload whose optional fields are left out of the line if they are empty.

    These fields were added after the first logs; a line that does not use them has not changed.
    """
    if type(payload) is StepCompleted and payload.result_data is None:
        before, result, artifacts = (
            payload.previous_status,
            payload.result_summary,
            payload.artifact_ids,
        )
        return StepCompleted(before, result, artifacts, msgspec.UNSET)
    if type(payload) is TaskCreated:
        return TaskCreated(
            replace(payload.task, steps=list(map(_step_as_written, payload.task.steps)))
        )
    return payload


def _step_as_written(step: StepSnapshot) -> StepSnapshot:
    if step.metadata is not None:
        return step
    return StepSnapshot(
        step_id=step.step_id,
        title=step.title,
        summary=step.summary,
        depends_on_step_ids=step.depends_on_step_ids,
        required=step.required,
        worker_pool_id=step.worker_pool_id,
        metadata=msgspec.UNSET,
    )


_NEEDED: Final[list[tuple[str, object] | tuple[str, object, object]]] = [
    ("wal_seq", int),
    ("created_at", datetime),
    ("step_id", str | None, None),
    ("command_id", str | None, None),
]
_ENVELOPE: Final[list[tuple[str, object] | tuple[str, object, object]]] = [
    ("actor_run_id", str, ""),
    ("session_id", str, ""),
    ("event_id", str, ""),
    ("actor_agent_id", str, ""),
    ("task_id", str, ""),
]


def _decoder(
    fields: list[tuple[str, object] | tuple[str, object, object]],
) -> msgspec.json.Decoder[object]:
    kinds = [
        msgspec.defstruct(
            f"{payload.__name__}Line",
            [("payload", payload), *fields],
            tag_field="event_type",
            tag=payload.type.value,
        )
        for payload in PAYLOADS
    ]
    union = kinds[0]
    for kind in kinds[1:]:
        union = cast("type", union | kind)
    return msgspec.json.Decoder(union)


class ReplayLine(Recorded, Protocol):
    """A line decoded for replay, with no more fields than that needs."""

    command_id: CommandId | None


_REPLAY: Final = _decoder(_NEEDED)
decode_replay_line: Final = cast("Callable[[bytes], ReplayLine]", _REPLAY.decode)
"""Decode one line for replay; raises one of `DECODE_ERRORS`."""
decode_replay_lines: Final = cast("Callable[[bytes], list[ReplayLine]]", _REPLAY.decode_lines)
"""Decode whole lines for replay; an error does not tell which of them is wrong."""
_decode_line: Final = cast("Callable[[bytes], Line]", _decoder([*_NEEDED, *_ENVELOPE]).decode)


def encode(
    events: Sequence[Event], author: EventAuthor, chain: Chain, *, after: Seq, base: Seq
) -> bytearray:
    """Return the lines of one transaction, to follow line `after`; see `frame` for `base`."""
    size = len(events)
    lines = bytearray()
    for number, event in enumerate(events, 1):
        chain.append(
            lines,
            _Out(
                wal_seq=after + number,
                session_id=author.session_id,
                event_id=f"{author.event_prefix}-{after + number}",
                event_type=event.payload.type,
                actor_agent_id=author.agent_id,
                actor_run_id=author.run_id,
                task_id=author.task_id,
                step_id=event.step_id,
                payload=_as_written(event.payload),
                created_at=author.at,
                command_id=author.command_id,
                tx=(number, size, base),
            ),
        )
    return lines


def decode(data: bytes, *, after: Seq) -> list[Line]:
    """Decode the whole lines that follow line `after`.

    Raises:
        DamagedLogError: One of them does not parse, or is of an unknown type.
    """
    raw = data.split(b"\n")
    raw.pop()
    lines: list[Line] = []
    for text in raw:
        try:
            lines.append(_decode_line(text))
        except DECODE_ERRORS as cause:
            raise DamagedLogError(after + len(lines) + 1, str(cause)) from cause
    return lines
