"""A line of any log of a board, with its payload as plain JSON.

Logs of the reference implementation have these fields too, so nothing here depends on which
program wrote a line, nor on its type of event. `event_lines` reads the payloads of our own.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

import msgspec

from taskloom.codec.torn_tail import DECODE_ERRORS
from taskloom.errors import DamagedLogError
from taskloom.ids import AgentId, Seq, StepId, TaskId


class EventHeader(msgspec.Struct, frozen=True):
    """A line without its payload: who did what to which step, and when."""

    wal_seq: Seq
    event_type: str
    task_id: TaskId
    created_at: datetime
    step_id: StepId | None = None
    actor_agent_id: AgentId | None = None


class LogLine(msgspec.Struct, kw_only=True, frozen=True):
    """A whole line, checked for the types of its fields alone."""

    wal_seq: Seq
    session_id: str = ""
    event_id: str = ""
    event_type: str
    actor_agent_id: str | None = None
    actor_run_id: str | None = None
    task_id: str = ""
    step_id: str | None = None
    payload: dict[str, object]
    created_at: datetime
    command_id: str | None = None


_decode_header: Final = msgspec.json.Decoder(EventHeader).decode
_decode_line: Final = msgspec.json.Decoder(LogLine).decode


def read_event_header(line: bytes) -> EventHeader | None:
    """Return the header of a line; None if it does not parse."""
    try:
        return _decode_header(line)
    except DECODE_ERRORS:
        return None


def decode_lines(data: bytes, *, after: Seq) -> Iterator[LogLine]:
    """Yield the whole lines that follow line `after`.

    Raises:
        DamagedLogError: A line does not parse, or has the wrong number.
    """
    lines = data.split(b"\n")
    lines.pop()
    for seq, text in enumerate(lines, after + 1):
        try:
            line = _decode_line(text)
        except DECODE_ERRORS as cause:
            raise DamagedLogError(seq, str(cause)) from cause
        if line.wal_seq != seq:
            raise DamagedLogError(seq, f"the line is numbered {line.wal_seq}")
        yield line
