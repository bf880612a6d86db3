"""Reading along: every event of a Task from any line on, first what is there, then what comes.

Records are read from the log itself, under its shared lock, so a follower sees no line whose
writer is still at it; one that is slow or comes late misses nothing. A change made by this
process wakes it at once, one by another process is noticed at the next look. One case is left:
a line whose writer was killed just before its sync is shown, though only the next turn on the
log makes it safe from a power cut.
"""

from collections.abc import AsyncGenerator, Generator
from datetime import datetime
from typing import Final

import anyio.to_thread

from taskloom.board import TERMINAL_EVENTS, EventType, Payload
from taskloom.codec import Line, decode
from taskloom.define import define
from taskloom.errors import DamagedLogError, UnavailableError
from taskloom.ids import AgentId, CommandId, EventId, RunId, Seq, StepId, TaskId
from taskloom.log import Wal, read_chunk
from taskloom.runtime.change_signal import ChangeSignal, SyncChangeSignal
from taskloom.runtime.task_writer import TaskWriter

LOOK_S: Final = 0.1
"""How often a follower looks for what other processes wrote."""


@define(frozen=True, kw_only=True)
class Record:
    """One event, with everything its line says."""

    seq: Seq
    event_id: EventId
    event_type: EventType
    task_id: TaskId
    step_id: StepId | None
    payload: Payload
    actor_agent_id: AgentId
    actor_run_id: RunId
    created_at: datetime
    command_id: CommandId | None


def record_of(line: Line) -> Record:
    """Turn a decoded line into a record."""
    return Record(
        seq=line.wal_seq,
        event_id=line.event_id,
        event_type=line.payload.type,
        task_id=line.task_id,
        step_id=line.step_id,
        payload=line.payload,
        actor_agent_id=line.actor_agent_id,
        actor_run_id=line.actor_run_id,
        created_at=line.created_at,
        command_id=line.command_id,
    )


async def follow(writer: TaskWriter, wal: Wal, after: Seq, look_s: float) -> AsyncGenerator[Record]:
    """Yield the records after line `after`, for as long as the caller iterates."""
    try:
        async with ChangeSignal(writer, look_s) as changed:
            while True:
                changes = changed.reset()
                records = await anyio.to_thread.run_sync(_read, wal)
                for record in [each for each in records if each.seq > after]:
                    after = record.seq
                    yield record
                if records and records[-1].event_type in TERMINAL_EVENTS:
                    return
                if not records:
                    await changed.wait(changes)
    finally:
        wal.close()


def follow_sync(writer: TaskWriter, wal: Wal, after: Seq, look_s: float) -> Generator[Record]:
    """Yield the same records to a caller without an event loop."""
    try:
        with SyncChangeSignal(writer, look_s) as changed:
            while True:
                changes = changed.reset()
                records = _read(wal)
                for record in [each for each in records if each.seq > after]:
                    after = record.seq
                    yield record
                if records and records[-1].event_type in TERMINAL_EVENTS:
                    return
                if not records:
                    changed.wait(changes)
    finally:
        wal.close()


def _read(wal: Wal) -> list[Record]:
    """Read the next chunk, if there is one."""
    before = wal.position.seq
    if before and not wal.unread_bytes():
        return []  # Nothing is new: no writer waits for the lock.
    try:
        return [record_of(line) for line in decode(read_chunk(wal), after=before)]
    except DamagedLogError as damage:
        raise UnavailableError(wal.path, damage.line, damage.cause) from damage
