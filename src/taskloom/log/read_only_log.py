"""One log file opened for reading alone: it can neither be repaired nor written, whatever it holds.

It is read under its shared lock, one chunk at a time, so a writer never waits for a slow reader,
and every line that is returned is durable.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Final, TypeAlias

from taskloom.board import TERMINAL_EVENTS
from taskloom.codec import LogLine, decode_lines
from taskloom.errors import Code, DamagedLogError, RefusedError, UnavailableError
from taskloom.ids import Seq
from taskloom.log.disk import Disk, OsDisk
from taskloom.log.durable_append import JsonlWal, failed
from taskloom.log.protocol import Position, read_chunk

NO_TRANSACTION: Final = "the file holds no whole transaction"
"""Not damage: a crash interrupted the creation of the Task before it was acknowledged."""

Progress: TypeAlias = Callable[[int], None]
"""Called with the number of bytes read, chunk by chunk."""

_NONSENSE: Final = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
)  # fmt: skip  # one kind of error
"""What replay may raise for lines that parse, but that no board has written."""


class ReadOnlyLog:
    """A handle on one log file. Not thread-safe."""

    def __init__(
        self, path: Path, *, progress: Progress | None = None, disk: Disk | None = None
    ) -> None:
        """Open the file.

        Raises:
            RefusedError: It is a pipe, a device or the like.
            StorageError: It cannot be opened.
        """
        self.path = path
        self._progress = progress
        _require_file(path)
        # `Disk.open` refuses links, but the caller may name one.
        self._wal = JsonlWal(disk or OsDisk(), path.resolve(), path.parent, read_only=True)
        self.torn_bytes = 0
        """The length of an unfinished write behind the last transaction, after `read_new`."""
        self.is_over = False
        """Whether `lines` has returned the end of the Task: no line can follow."""

    @property
    def position(self) -> Position:
        """The end of what was read."""
        return self._wal.position

    @property
    def is_reference_log(self) -> bool:
        """Whether the reference implementation wrote the file."""
        return self._wal.is_reference_log

    def is_named(self) -> bool:
        """Return whether the path still names the open file.

        Raises:
            StorageError: That cannot be read.
        """
        return self._wal.is_named()

    def read_new(self) -> Iterator[bytes]:
        """Yield what was appended since, in chunks of whole transactions.

        Raises:
            DamagedLogError: The file is not what was written.
            StorageError: It cannot be read.
        """
        self.torn_bytes = 0
        left = self._wal.unread_bytes()
        while left:
            chunk = read_chunk(self._wal)
            if not chunk:
                self.torn_bytes = self._wal.unread_bytes()
                return
            yield chunk
            if self._progress is not None:
                self._progress(len(chunk))
            left = max(0, left - len(chunk))  # What is appended meanwhile is for the next call.

    def lines(self, *, after: Seq = 0) -> Iterator[LogLine]:
        """Yield what was appended since as lines, those behind line `after`.

        Raises:
            UnavailableError: The log is damaged.
            StorageError: It cannot be read.
        """
        with self.damage_as_unavailable():
            before = self.position.seq
            for chunk in self.read_new():
                for line in decode_lines(chunk, after=before):
                    self.is_over = line.event_type in TERMINAL_EVENTS
                    if line.wal_seq > after:
                        yield line
                before = self.position.seq
            if before == 0:
                raise DamagedLogError(1, NO_TRANSACTION)

    @contextmanager
    def damage_as_unavailable(self) -> Generator[None]:
        """Turn damage, and events that make no sense, into `UnavailableError`."""
        try:
            yield
        except DamagedLogError as damage:
            raise UnavailableError(str(self.path), damage.line, damage.cause) from damage
        except _NONSENSE as cause:
            what = f"the events up to here make no sense: {cause!r}"
            raise UnavailableError(str(self.path), self.position.seq, what) from cause

    def rewind(self) -> None:
        """Read from the start of the file again."""
        self._wal.rewind()

    def close(self) -> None:
        """Close the file."""
        self._wal.close()


def _require_file(path: Path) -> None:
    """Refuse what is no file before it is opened: a pipe would wait for its other end.

    A directory can be opened, and reading it raises what it is.
    """
    try:
        mode = path.stat().st_mode
    except OSError as cause:
        raise failed("read", path, cause) from cause
    if not (S_ISREG(mode) or S_ISDIR(mode)):
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"{path} is not a regular file. Name a log.",
            {"wal_path": str(path)},
        )
