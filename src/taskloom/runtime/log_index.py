"""Which logs a session has, told by their last lines, without reading the rest of them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import msgspec

from taskloom.board import TERMINAL_EVENTS, EventType, TaskStatus
from taskloom.codec import DECODE_ERRORS, crc_after, is_framed, read_header, seals
from taskloom.errors import TaskloomError
from taskloom.ids import TaskId
from taskloom.log import Log, WalInfo

_ENDS: Final = {
    EventType.TASK_COMPLETED: TaskStatus.COMPLETED,
    EventType.TASK_FAILED: TaskStatus.FAILED,
    EventType.TASK_CANCELLED: TaskStatus.CANCELLED,
}


class _Last(msgspec.Struct):
    event_type: str
    task_id: str
    created_at: datetime


_decode: Final = msgspec.json.Decoder(_Last).decode


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One log."""

    info: WalInfo
    task_id: TaskId
    """From inside the log where that can be read, else the file's name."""
    ended: TaskStatus | None
    """How the Task ended; None if it did not, or if that cannot be told by the last line."""
    updated_at: datetime
    error: TaskloomError | None = None
    is_suspect: bool = False
    """Its last line cannot be believed; whether it is torn or damaged shows when it is opened."""

    @property
    def name(self) -> str:
        """The log's name."""
        return self.info.name


class LogIndex:
    """What is there, looked at again whenever somebody asks. Not for two threads at once."""

    def __init__(self, log: Log) -> None:
        """Begin knowing nothing."""
        self._log = log
        self._found: dict[str, LogEntry] = {}

    def scan(self) -> list[LogEntry]:
        """Look at the logs that are new or have changed; return all, newest first."""
        found: dict[str, LogEntry] = {}
        for info in self._log.entries():
            before = self._found.get(info.name)
            if before is not None and before.info == info:
                found[info.name] = before
                continue
            now = self._look(info)
            if now is not None:
                found[info.name] = now
        self._found = found
        return sorted(found.values(), key=lambda each: each.updated_at, reverse=True)

    def find(self, task_id: TaskId) -> LogEntry | None:
        """Return the log of a Task: the active one, else the newest of those that ended."""
        same = [each for each in self.scan() if each.task_id == task_id]
        active = [each for each in same if each.ended is None]
        healthy = [each for each in active if not each.is_suspect]
        return next(iter(healthy or active or same), None)

    def _look(self, info: WalInfo) -> LogEntry | None:
        modified = datetime.fromtimestamp(info.mtime_ns / 1e9, UTC)
        try:
            lines = self._log.last_lines(info.name)
        except TaskloomError as error:
            return LogEntry(info, info.name, None, modified, error)
        if not lines:
            # Nothing whole in it: somebody is creating it, or died while doing so.
            if info.size_bytes == 0:
                return None
            return LogEntry(info, info.name, None, modified, is_suspect=True)
        last = _read(lines[-1])
        if last is None or not _is_sealed(lines):
            last = last or _read(self._log.first_line(info.name))
            name = last.task_id if last else info.name
            return LogEntry(info, name, None, modified, is_suspect=True)
        ended = None
        if last.event_type in TERMINAL_EVENTS and self._is_whole(info.name, lines[-1]):
            ended = _ENDS[EventType(last.event_type)]
        at = last.created_at if last.created_at.tzinfo else last.created_at.replace(tzinfo=UTC)
        return LogEntry(info, last.task_id, ended, at)

    def _is_whole(self, name: str, last: bytes) -> bool:
        """Tell whether all of the write that ends in this line is there, and not the end alone."""
        mark = read_header(last)
        if mark is None or mark.tx is None:
            return True  # The reference implementation marks nothing.
        size = mark.wal_seq - mark.tx[2]
        if not 1 <= size <= mark.wal_seq:
            return False  # Whatever it is, it is not what was written; opening it will tell.
        lines = self._log.last_lines(name, size + 1)
        before = crc_after(lines[0]) if len(lines) > size else 0
        return before is not None and seals(b"".join(lines[-size:]), before)


def _read(line: bytes) -> _Last | None:
    try:
        return _decode(line)
    except DECODE_ERRORS:
        return None


def _is_sealed(lines: list[bytes]) -> bool:
    """Tell whether the last line may be believed: its checksum follows from the one before."""
    if not is_framed(lines[-1]):
        return not is_framed(lines[0])  # The reference implementation seals none of them.
    before = crc_after(lines[-2]) if len(lines) > 1 else 0
    return before is not None and seals(lines[-1], before)
