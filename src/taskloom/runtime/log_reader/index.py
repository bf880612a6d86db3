"""The index of a session's logs, made from their last lines alone."""

from datetime import UTC, datetime
from typing import Final

from taskloom.board import TERMINAL_EVENTS, EventType, TaskLine, TaskStatus
from taskloom.codec import checksum_matches, crc_after, is_framed, read_event_header, read_header
from taskloom.define import define
from taskloom.errors import TaskloomError
from taskloom.ids import TaskId
from taskloom.log import Log, WalInfo

_END_STATUS: Final = {
    EventType.TASK_COMPLETED: TaskStatus.COMPLETED,
    EventType.TASK_FAILED: TaskStatus.FAILED,
    EventType.TASK_CANCELLED: TaskStatus.CANCELLED,
}


@define(frozen=True)
class LogEntry:
    """One log."""

    info: WalInfo
    task_id: TaskId
    """From the log where it can be read, else the file's name."""
    ended: TaskStatus | None
    """How the Task ended; None if it did not, or if the last line does not tell."""
    updated_at: datetime
    error: TaskloomError | None = None
    is_suspect: bool = False
    """Its last line fails its checks; opening the log shows whether it is torn or damaged."""

    @property
    def name(self) -> str:
        """The log's name."""
        return self.info.name

    def unavailable(self, error: TaskloomError, wal_path: str) -> TaskLine:
        """Return the line that a list shows when the log cannot be read."""
        return TaskLine(
            task_id=self.task_id,
            wal_path=wal_path,
            status="unavailable",
            updated_at=self.updated_at,
            error=error.as_dict(),
        )


class LogIndex:
    """The logs of a session; every call reads those that are new or have changed.

    Not thread-safe.
    """

    def __init__(self, log: Log) -> None:
        """Index the logs of this session; nothing is read yet."""
        self._log = log
        self._entries: dict[str, LogEntry] = {}

    def scan(self) -> list[LogEntry]:
        """Return all logs, newest first."""
        entries: dict[str, LogEntry] = {}
        for info in self._log.entries():
            known = self._entries.get(info.name)
            entry = known if known is not None and known.info == info else self._read(info)
            if entry is not None:
                entries[info.name] = entry
        self._entries = entries
        return sorted(entries.values(), key=lambda entry: entry.updated_at, reverse=True)

    def find(self, task_id: TaskId) -> LogEntry | None:
        """Return the log of a Task: the active one, else the newest of those that ended."""
        same = [entry for entry in self.scan() if entry.task_id == task_id]
        active = [entry for entry in same if entry.ended is None]
        healthy = [entry for entry in active if not entry.is_suspect]
        return next(iter(healthy or active or same), None)

    def _read(self, info: WalInfo) -> LogEntry | None:
        modified = datetime.fromtimestamp(info.mtime_ns / 1e9, UTC)
        try:
            lines = self._log.last_lines(info.name)
        except TaskloomError as error:
            return LogEntry(info, info.name, None, modified, error)
        if not lines:
            # No whole line: a process is creating the log, or died while it did.
            if info.size_bytes == 0:
                return None
            return LogEntry(info, info.name, None, modified, is_suspect=True)
        last = read_event_header(lines[-1])
        if last is None or not _is_valid(lines):
            last = last or read_event_header(self._log.first_line(info.name))
            name = last.task_id if last else info.name
            return LogEntry(info, name, None, modified, is_suspect=True)
        ended = None
        if last.event_type in TERMINAL_EVENTS and self._is_whole(info.name, lines[-1]):
            ended = _END_STATUS[EventType(last.event_type)]
        at = last.created_at if last.created_at.tzinfo else last.created_at.replace(tzinfo=UTC)
        return LogEntry(info, last.task_id, ended, at)

    def _is_whole(self, name: str, last: bytes) -> bool:
        """Return whether all lines of the write that ends in this line are there and valid."""
        header = read_header(last)
        if header is None or header.tx is None:
            return True  # The reference implementation has no transactions.
        size = header.wal_seq - header.tx[2]
        if not 1 <= size <= header.wal_seq:
            return False  # Not what was written; opening the log will tell.
        lines = self._log.last_lines(name, size + 1)
        before = crc_after(lines[0]) if len(lines) > size else 0
        return before is not None and checksum_matches(b"".join(lines[-size:]), before)


def _is_valid(lines: list[bytes]) -> bool:
    """Return whether the checksum of the last line follows from that of the line before."""
    if not is_framed(lines[-1]):
        return not is_framed(lines[0])  # The reference implementation has no checksums.
    before = crc_after(lines[-2]) if len(lines) > 1 else 0
    return before is not None and checksum_matches(lines[-1], before)
