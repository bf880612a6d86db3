"""Logs in memory, shared by all handles on one `MemoryLog`; they end with the process."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from threading import Lock, RLock

from taskloom.errors import FencedError
from taskloom.log.protocol import START, Position, TornTail, Wal, WalInfo, path_conflict


class _Lines:
    __slots__ = ("lines", "lock", "position")

    def __init__(self, lines: bytearray, position: Position) -> None:
        self.lines = lines
        self.position = position
        self.lock = Lock()


class MemoryLog:
    """The logs of one session, in memory. Implements `Log`."""

    def __init__(self) -> None:
        self._logs: dict[str, _Lines] = {}
        self._lock = RLock()

    def entries(self) -> list[WalInfo]:
        return [WalInfo(name, len(log.lines), 0) for name, log in self._logs.items()]

    @contextmanager
    def exclusive(self) -> Generator[None]:
        with self._lock:
            yield

    def create(self, name: str, lines: bytes | bytearray, *, then: Position) -> Wal:
        with self._lock:
            if name in self._logs:
                raise path_conflict(name, f"memory:{name}")
            self._logs[name] = _Lines(bytearray(lines), then)
        wal = self.open(name)
        wal.skip_to_end()
        return wal

    def open(self, name: str) -> "MemoryWal":
        return MemoryWal(name, self._logs[name])

    def first_line(self, name: str) -> bytes:
        return bytes(self._logs[name].lines).partition(b"\n")[0]

    def last_lines(self, name: str, count: int = 2) -> list[bytes]:
        return bytes(self._logs[name].lines).splitlines(keepends=True)[-count:]


class MemoryWal:
    """One handle on one log in memory. Implements `Wal`."""

    is_reference_log = False
    is_writable = True
    torn: TornTail | None = None

    def __init__(self, name: str, log: _Lines) -> None:
        self.path = f"memory:{name}"
        self.position = START
        self._log = log
        self._offset = 0

    def acquire(self, *, wait: bool, shared: bool = False) -> bool:  # noqa: ARG002 - a shared lock is exclusive too
        return self._log.lock.acquire(blocking=wait)

    def release(self) -> None:
        self._log.lock.release()

    def read_new(self) -> Iterator[bytes]:
        lines = bytes(self._log.lines[self._offset :])
        if lines:
            self.skip_to_end()
            yield lines

    def append(self, lines: bytes | bytearray, *, after: Position, then: Position) -> None:
        if self._log.position != after:
            raise FencedError(after.seq, self._log.position.seq)
        self._log.lines += lines
        self._log.position = then
        self.skip_to_end()

    def unread_bytes(self) -> int:
        return len(self._log.lines) - self._offset

    def rewind(self) -> None:
        self._offset, self.position = 0, START

    def close(self) -> None:
        pass

    def skip_to_end(self) -> None:
        """Move behind the last line."""
        self._offset, self.position = len(self._log.lines), self._log.position
