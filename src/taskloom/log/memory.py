"""The reference: logs in memory, shared by all handles on one `MemoryLog`. Nothing to crash."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock, RLock

from taskloom.errors import FencedError
from taskloom.log.protocol import START, Position, TornTail, Wal, WalInfo, path_conflict


@dataclass(slots=True)
class _Kept:
    lines: bytearray = field(default_factory=bytearray)
    position: Position = START
    lock: Lock = field(default_factory=Lock)


class MemoryLog:
    """The logs of one session, in memory."""

    def __init__(self) -> None:
        """Begin with none."""
        self._kept: dict[str, _Kept] = {}
        self._lock = RLock()

    def entries(self) -> list[WalInfo]:
        """List the logs."""
        return [WalInfo(name, len(kept.lines), 0) for name, kept in self._kept.items()]

    @contextmanager
    def exclusive(self) -> Generator[None]:
        """Keep other threads from creating."""
        with self._lock:
            yield

    def create(self, name: str, lines: bytes | bytearray, *, then: Position) -> Wal:
        """Make a new log."""
        with self._lock:
            if name in self._kept:
                raise path_conflict(name, f"memory:{name}")
            self._kept[name] = _Kept(bytearray(lines), then)
        wal = self.open(name)
        wal.read_to(len(lines), then)
        return wal

    def open(self, name: str) -> "MemoryWal":
        """Open a log."""
        return MemoryWal(name, self._kept[name])

    def first_line(self, name: str) -> bytes:
        """Return the first line."""
        return bytes(self._kept[name].lines).partition(b"\n")[0]

    def last_lines(self, name: str, count: int = 2) -> list[bytes]:
        """Return the last lines."""
        return bytes(self._kept[name].lines).splitlines(keepends=True)[-count:]


class MemoryWal:
    """One handle on one log in memory."""

    def __init__(self, name: str, kept: _Kept) -> None:
        """Begin at the start."""
        self._name = name
        self._kept = kept
        self._at = 0
        self._position = START

    @property
    def path(self) -> str:
        """A name that says there is no file."""
        return f"memory:{self._name}"

    @property
    def position(self) -> Position:
        """The end as far as it was read."""
        return self._position

    @property
    def torn(self) -> TornTail | None:
        """Nothing tears in memory."""
        return None

    @property
    def is_foreign(self) -> bool:
        """Everything here is ours."""
        return False

    @property
    def is_writable(self) -> bool:
        """Memory always is."""
        return True

    def acquire(self, *, wait: bool, shared: bool = False) -> bool:  # noqa: ARG002 - one at a time will do
        """Begin a turn."""
        return self._kept.lock.acquire(blocking=wait)

    def release(self) -> None:
        """End the turn."""
        self._kept.lock.release()

    def news(self) -> Iterator[bytes]:
        """Yield what is new, in one piece."""
        lines = bytes(self._kept.lines[self._at :])
        if lines:
            self.read_to(len(self._kept.lines), self._kept.position)
            yield lines

    def append(self, lines: bytes, *, after: Position, then: Position) -> None:
        """Append."""
        if self._kept.position != after:
            raise FencedError(after.seq, self._kept.position.seq)
        self._kept.lines += lines
        self._kept.position = then
        self.read_to(len(self._kept.lines), then)

    def unread_bytes(self) -> int:
        """Return how much is new."""
        return len(self._kept.lines) - self._at

    def rewind(self) -> None:
        """Begin at the start."""
        self.read_to(0, START)

    def close(self) -> None:
        """Nothing to let go of."""

    def read_to(self, at: int, position: Position) -> None:
        """Note how far this handle has read."""
        self._at, self._position = at, position
