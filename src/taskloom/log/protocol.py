"""The interface of logs, with the promises that every implementation keeps.

A `Log` holds the write-ahead logs of a session; a `Wal` is one of them, opened. Both are
synchronous and may block: the runtime chooses the thread. Every implementation passes the
contract suite in `taskloom.testing.log_contract`:

1. Lines are numbered 1, 2, 3… without a gap.
2. When `append` returns, what it wrote survives a crash of this process, and a power cut too
   unless the log was opened with less durability.
3. Of two appends with the same `after`, exactly one succeeds; the other is `FencedError`.
4. A write torn by a crash is never read, and the next append takes its place.
5. Of two `create`s of one name, exactly one succeeds.
6. A failed append leaves nothing behind that could be read later, or says that it might have.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from taskloom.define import define
from taskloom.errors import Code, RefusedError
from taskloom.ids import Seq


class Position(NamedTuple):
    """The end of a log, as a reader knows it."""

    seq: Seq
    crc: int
    """The checksum of all bytes so far: the next line's is chained to it."""


START = Position(0, 0)
"""The position in front of the first line."""


@define(frozen=True)
class TornTail:
    """The remains of a write that a crash cut short, and the file that keeps a copy of them."""

    wal_path: str
    after_seq: Seq
    size_bytes: int
    kept_in: str | None
    """None if they are still in the log: only a writer removes them."""


class WalInfo(NamedTuple):
    """A log in a listing, which does not open it."""

    name: str
    size_bytes: int
    mtime_ns: int


class Wal(Protocol):
    """One write-ahead log, opened. Not thread-safe."""

    @property
    def path(self) -> str:
        """The log's place, for messages."""
        ...

    @property
    def position(self) -> Position:
        """The end, as far as `read_new` and `append` have reached."""
        ...

    @property
    def torn(self) -> TornTail | None:
        """The last torn write that this handle found."""
        ...

    @property
    def is_reference_log(self) -> bool:
        """Whether the reference implementation wrote it; then nothing is appended to it."""
        ...

    @property
    def is_writable(self) -> bool:
        """Whether an append could succeed, as far as this handle knows."""
        ...

    def acquire(self, *, wait: bool, shared: bool = False) -> bool:
        """Take the write lock: no other handle can append until `release`. False if it is taken.

        A shared lock is for reading: other handles can read too, and none can append.
        """
        ...

    def release(self) -> None:
        """Release the lock."""
        ...

    def unread_bytes(self) -> int:
        """Return how much was appended behind `position`.

        Raises:
            StorageError: That cannot be read.
        """
        ...

    def read_new(self) -> Iterator[bytes]:
        """Yield what was appended behind `position`, in chunks of whole transactions.

        Within the write lock, a torn tail is copied elsewhere and removed.

        Raises:
            DamagedLogError: The log is not what was written.
            StorageError: It cannot be read.
        """
        ...

    def append(self, lines: bytes | bytearray, *, after: Position, then: Position) -> None:
        """Append the lines of whole transactions within the write lock, durably.

        Raises:
            FencedError: The log does not end at `after`.
            StorageError: It could not be written. The lock is lost, and what this handle has
                read may have changed: `rewind`.
        """
        ...

    def rewind(self) -> None:
        """Read from the start again; a lock is kept."""
        ...

    def close(self) -> None:
        """Close the handle, which releases the lock."""
        ...


class Log(Protocol):
    """The logs of one session."""

    def entries(self) -> list[WalInfo]:
        """List the logs."""
        ...

    def exclusive(self) -> AbstractContextManager[None]:
        """Lock the session: no other process can create a log in it meanwhile."""
        ...

    def create(self, name: str, lines: bytes | bytearray, *, then: Position) -> Wal:
        """Create a log that holds `lines`, durably.

        Raises:
            RefusedError: `path_conflict`: there is one of that name.
            StorageError: It could not be written; no trace of it is left.
        """
        ...

    def open(self, name: str) -> Wal:
        """Open an existing log."""
        ...

    def first_line(self, name: str) -> bytes:
        """Return the first line, whole or not, without reading the rest."""
        ...

    def last_lines(self, name: str, count: int = 2) -> list[bytes]:
        """Return the last full lines (fewer if there are fewer), without reading the rest."""
        ...


def read_chunk(wal: Wal) -> bytes:
    """Return the next chunk of a log, read under the shared lock; nothing at the end.

    Raises:
        DamagedLogError: The log is not what was written.
        StorageError: It cannot be read.
    """
    wal.acquire(wait=True, shared=True)
    try:
        return next(wal.read_new(), b"")
    finally:
        wal.release()


def path_conflict(name: str, path: str) -> RefusedError:
    """Return the error that a log of this name exists."""
    return RefusedError(
        Code.PATH_CONFLICT,
        f"There is a log named {name!r} already. Nothing was overwritten; choose another wal_name.",
        {"wal_name": name, "wal_path": path},
    )
