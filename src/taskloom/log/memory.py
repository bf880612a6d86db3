"""Logs in memory, shared by all handles on one `MemoryLog`; they end with the process."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import field
from threading import Lock, RLock

from taskloom.define import define
from taskloom.errors import FencedError
from taskloom.log.protocol import START, Position, TornTail, Wal, WalInfo, path_conflict


@define()
class _Lines:
    lines: bytearray = field(default_factory=bytearray)
    position: Position = START
    lock: Lock = field(default_factory=Lock)


class MemoryLog:
    """The logs of one session, in memory."""

    def __init__(self) -> None:
        """Start without logs."""
        self._stored: dict[str, _Lines] = {}
        self._lock = RLock()

    def entries(self) -> list[WalInfo]:
        """List the logs."""
        return [WalInfo(name, len(stored.lines), 0) for name, stored in self._stored.items()]

    @contextmanager
    def exclusive(self) -> Generator[None]:
        """Lock the session for this thread."""
        with self._lock:
            yield

    def create(self, name: str, lines: bytes | bytearray, *, then: Position) -> Wal:
        """Create a log."""
        with self._lock:
            if name in self._stored:
                raise path_conflict(name, f"memory:{name}")
            self._stored[name] = _Lines(bytearray(lines), then)
        wal = self.open(name)
        wal.read_to(len(lines), then)
        return wal

    def open(self, name: str) -> "MemoryWal":
        """Open a log."""
        return MemoryWal(name, self._stored[name])

    def first_line(self, name: str) -> bytes:
        """Return the first line."""
        return bytes(self._stored[name].lines).partition(b"\n")[0]

    def last_lines(self, name: str, count: int = 2) -> list[bytes]:
        """Return the last lines."""
        return bytes(self._stored[name].lines).splitlines(keepends=True)[-count:]


class MemoryWal:
    """One handle on one log in memory."""

    def __init__(self, name: str, stored: _Lines) -> None:
        """Start at the first line."""
        self._name = name
        self._stored = stored
        self._at = 0
        self._position = START

    @property
    def path(self) -> str:
        """A name that no file has."""
        return f"memory:{self._name}"

    @property
    def position(self) -> Position:
        """The end as far as it was read."""
        return self._position

    @property
    def torn(self) -> TornTail | None:
        """None: a write to memory is never torn."""
        return None

    @property
    def is_reference_log(self) -> bool:
        """False: all lines are ours."""
        return False

    @property
    def is_writable(self) -> bool:
        """True."""
        return True

    def acquire(self, *, wait: bool, shared: bool = False) -> bool:  # noqa: ARG002 - a shared lock is exclusive too
        """Take the lock."""
        return self._stored.lock.acquire(blocking=wait)

    def release(self) -> None:
        """Release the lock."""
        self._stored.lock.release()

    def read_new(self) -> Iterator[bytes]:
        """Yield what is new, in one chunk."""
        lines = bytes(self._stored.lines[self._at :])
        if lines:
            self.read_to(len(self._stored.lines), self._stored.position)
            yield lines

    def append(self, lines: bytes | bytearray, *, after: Position, then: Position) -> None:
        """Append the lines."""
        if self._stored.position != after:
            raise FencedError(after.seq, self._stored.position.seq)
        self._stored.lines += lines
        self._stored.position = then
        self.read_to(len(self._stored.lines), then)

    def unread_bytes(self) -> int:
        """Return how much is new."""
        return len(self._stored.lines) - self._at

    def rewind(self) -> None:
        """Read from the start again."""
        self.read_to(0, START)

    def close(self) -> None:
        """Do nothing: no file is open."""

    def read_to(self, at: int, position: Position) -> None:
        """Note how far this handle has read."""
        self._at, self._position = at, position
