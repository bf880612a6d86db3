"""What every log promises, whatever keeps it.

A `Log` is the place where a session's write-ahead logs are; a `Wal` is one of them, opened.
Both are synchronous and may block: the runtime decides on which thread. Every implementation
passes the contract suite in `taskloom.testing.log_contract`:

1. Lines are numbered 1, 2, 3… without a gap.
2. When `append` returns, what it wrote survives a crash of this process, and a power cut too
   unless the log was told not to care.
3. Of two appends with the same `after`, exactly one succeeds; the other is `FencedError`.
4. A write torn by a crash is never read, and the next append takes its place.
5. Of two `create`s of one name, exactly one succeeds.
6. A failed append leaves nothing behind that could be read later, or says that it might have.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from taskloom.errors import Code, RefusedError
from taskloom.ids import Seq


class Position(NamedTuple):
    """Where a log ends, as a reader knows it."""

    seq: Seq
    crc: int
    """The checksum of all bytes so far: the next line's is chained to it."""


START = Position(0, 0)


@dataclass(frozen=True, slots=True)
class TornTail:
    """The remains of a write that a crash cut short, and where they were put."""

    wal_path: str
    after_seq: Seq
    size_bytes: int
    kept_in: str | None
    """None while nobody has set them aside: a reader leaves a file as it is."""


class WalInfo(NamedTuple):
    """A log as a listing sees it, without opening it."""

    name: str
    size_bytes: int
    mtime_ns: int


class Wal(Protocol):
    """One write-ahead log, opened. Not for two threads at once."""

    @property
    def path(self) -> str:
        """Where it is, for people."""
        ...

    @property
    def position(self) -> Position:
        """The end, as far as `news` and `append` have seen it."""
        ...

    @property
    def torn(self) -> TornTail | None:
        """The last torn write that this handle came upon."""
        ...

    @property
    def is_foreign(self) -> bool:
        """Whether the reference implementation wrote it; then it cannot be appended to."""
        ...

    @property
    def is_writable(self) -> bool:
        """Whether an append could succeed, as far as this handle knows."""
        ...

    def acquire(self, *, wait: bool, shared: bool = False) -> bool:
        """Begin a turn: nobody else appends until `release`. Tell whether that worked.

        A shared turn is for reading: others may read too, nobody writes.
        """
        ...

    def release(self) -> None:
        """End the turn."""
        ...

    def unread_bytes(self) -> int:
        """Return how much was appended since `news` or `append` last looked.

        Raises:
            StorageError: That cannot be told.
        """
        ...

    def news(self) -> Iterator[bytes]:
        """Yield what was appended since, in pieces of whole decisions.

        Within a turn, a torn tail that it comes upon is set aside.

        Raises:
            DamagedLogError: The log is not what it was.
            StorageError: It cannot be read.
        """
        ...

    def append(self, lines: bytes, *, after: Position, then: Position) -> None:
        """Append the lines of whole decisions within a turn, durably.

        Raises:
            FencedError: The log does not end at `after`.
            StorageError: It could not be written. The turn is over, and what this handle has
                read is no longer to be trusted: `rewind`.
        """
        ...

    def rewind(self) -> None:
        """Forget what was read, so that `news` begins at the start. A turn goes on."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Log(Protocol):
    """The logs of one session."""

    def entries(self) -> list[WalInfo]:
        """List the logs there are."""
        ...

    def exclusive(self) -> AbstractContextManager[None]:
        """Keep everybody else from creating a log in this session."""
        ...

    def create(self, name: str, lines: bytes | bytearray, *, then: Position) -> Wal:
        """Make a new log that holds `lines`, durably.

        Raises:
            RefusedError: `path_conflict`: there is one of that name.
            StorageError: It could not be written; no trace of it is left.
        """
        ...

    def open(self, name: str) -> Wal:
        """Open a log that is there."""
        ...

    def first_line(self, name: str) -> bytes:
        """Return the first line, whole or not, without reading the rest."""
        ...

    def last_lines(self, name: str, count: int = 2) -> list[bytes]:
        """Return the last full lines (fewer if there are fewer), without reading the rest."""
        ...


def path_conflict(name: str, path: str) -> RefusedError:
    """Return the error that a log of this name exists."""
    return RefusedError(
        Code.PATH_CONFLICT,
        f"There is a log named {name!r} already. Nothing was overwritten; choose another wal_name.",
        {"wal_name": name, "wal_path": path},
    )
