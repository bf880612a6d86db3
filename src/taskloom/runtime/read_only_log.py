"""Looking at one log without touching it: a Task that lives, has ended, or is another program's.

The file is opened for reading alone, so nothing here can take back a lease, mend a torn tail or
write a byte, whatever it finds. It is read under its shared lock: what comes out is durable.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Final

import msgspec

from taskloom.board import TERMINAL_EVENTS, Task, TaskView, view_task
from taskloom.codec import DECODE_ERRORS, ReferenceReplay, Replay
from taskloom.errors import Code, DamagedLogError, RefusedError, StorageError, UnavailableError
from taskloom.ids import Seq, SessionId
from taskloom.log import Disk, OsDisk, Reader
from taskloom.log.disk import READ_ONLY
from taskloom.runtime.restore import gc_paused


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """A Task as it is, or as it was at `view.seq`."""

    view: TaskView
    session_id: SessionId
    last_seq: Seq
    """The last line of the log, which may be later than the moment that is shown."""
    foreign: bool
    """Written by the reference implementation."""
    torn_bytes: int
    """What a crash left behind the last whole decision; it was never true."""


class Entry(msgspec.Struct, kw_only=True, frozen=True):
    """One line of a log, with the fields that every log has, checked for shape alone."""

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


_decode: Final = msgspec.json.Decoder(Entry).decode

ChangeSignal = Callable[[int], None]
"""Told how many bytes were read, piece by piece."""


def inspect(path: Path, *, at: Seq | None = None, watch: ChangeSignal | None = None) -> Inspection:
    """Return the Task as the log says it is, or was at line `at`.

    A log shorter than `at` is shown as it is; `view.seq` tells. The rest of it is checked too,
    so whether a log can be trusted does not depend on the moment that is asked for.

    Raises:
        RefusedError: The path leads to a pipe, a device or the like.
        UnavailableError: The log is damaged.
        StorageError: It cannot be read.
    """
    with closing(ReadOnlyLog(path)) as wal, wal.trusting():
        with gc_paused():
            task = _replay(wal, at, watch)
        return Inspection(
            view=view_task(task, str(path)),
            session_id=task.session_id,
            last_seq=wal.seq,
            foreign=wal.is_foreign,
            torn_bytes=wal.torn_bytes,
        )


def _replay(wal: "ReadOnlyLog", at: Seq | None, watch: ChangeSignal | None) -> Task:
    replay: Replay | ReferenceReplay | None = None
    for piece in wal.news():
        if replay is None:
            replay = ReferenceReplay() if wal.is_foreign else Replay()
        if at is None or replay.seq < at:
            replay.add(piece, until=at)
        if watch is not None:
            watch(len(piece))
    if replay is None or replay.task is None:
        raise DamagedLogError(1, NOTHING_WHOLE)
    return replay.task


NOTHING_WHOLE: Final = "the file holds no whole decision"
"""Not damage in earnest: a crash cut the Task's creation short, and nobody was told it exists."""


_SENSELESS: Final = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
)  # fmt: skip  # one kind of trouble
"""What a line may lead to that parses, and was still never written by a board."""


class ReadOnlyLog:
    """One log file, opened for reading alone. Not for two threads at once."""

    def __init__(self, path: Path, disk: Disk | None = None) -> None:
        """Open it.

        Raises:
            RefusedError: It is a pipe, a device or the like.
            StorageError: It cannot be opened.
        """
        self.path = path
        self._disk: Disk = disk or OsDisk()
        with _storage(path):
            _require_file(path)
            # Whoever names a link wants to see where it leads.
            self._fd = self._disk.open(path.resolve(), READ_ONLY)
        self._reader = Reader(self._disk, self._fd)
        self.torn_bytes = 0
        """What stands behind the last whole decision, after `news` came to the end."""
        self.is_over = False
        """Whether `entries` came to the Task's end, so that nothing can follow."""

    @property
    def seq(self) -> Seq:
        """The last line that was read."""
        return self._reader.position.seq

    @property
    def is_foreign(self) -> bool:
        """Whether the reference implementation wrote it."""
        return self._reader.is_foreign

    def is_there(self) -> bool:
        """Tell whether the path still leads to the file that is open."""
        with _storage(self.path):
            return self._disk.is_named(self._fd, self.path)

    def news(self) -> Iterator[bytes]:
        """Yield what was appended since, in pieces of whole decisions.

        The lock is held for one piece at a time: a reader may be slow, and no writer waits for it.

        Raises:
            DamagedLogError: The log is not what it was.
            StorageError: It cannot be read.
        """
        self.torn_bytes = 0
        end = 0
        while True:
            with self._locked() as size:
                end = end or size
                piece = next(self._reader.pieces(size), b"")
            if not piece:
                self.torn_bytes = self._reader.torn_bytes
                return
            yield piece
            if self._reader.offset >= end:
                return  # What came meanwhile is for the next look.

    @contextmanager
    def _locked(self) -> Generator[int]:
        """Keep writers off and tell the file's size."""
        with _storage(self.path):
            self._disk.lock_shared(self._fd, wait=True)
            try:
                size = self._disk.size(self._fd)
                if size < self._reader.offset:
                    raise DamagedLogError(self.seq, f"the file was cut to {size} bytes")
                yield size
            finally:
                self._disk.unlock(self._fd)

    def entries(self, *, after: Seq = 0) -> Iterator[Entry]:
        """Yield what was appended since as entries, those behind line `after`.

        Raises:
            UnavailableError: The log is damaged.
            StorageError: It cannot be read.
        """
        with self.trusting():
            for piece in self.news():
                for entry in _entries(piece, last=self.seq):
                    self.is_over = entry.event_type in TERMINAL_EVENTS
                    if entry.wal_seq > after:
                        yield entry
            if self.seq == 0:
                raise DamagedLogError(1, NOTHING_WHOLE)

    @contextmanager
    def trusting(self) -> Generator[None]:
        """Turn damage into the answer that this Task is unavailable."""
        try:
            yield
        except DamagedLogError as damage:
            raise UnavailableError(str(self.path), damage.line, damage.cause) from damage
        except _SENSELESS as cause:
            what = f"the events up to here make no sense: {cause!r}"
            raise UnavailableError(str(self.path), self.seq, what) from cause

    def close(self) -> None:
        """Close the file; the lock goes with it."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            with suppress(OSError):
                self._disk.close(fd)


def _entries(piece: bytes, *, last: Seq) -> Iterator[Entry]:
    lines = piece.split(b"\n")
    lines.pop()
    first = last - len(lines) + 1
    for seq, line in enumerate(lines, first):
        try:
            entry = _decode(line)
        except DECODE_ERRORS as cause:
            raise DamagedLogError(seq, str(cause)) from cause
        if entry.wal_seq != seq:
            raise DamagedLogError(seq, f"the line is numbered {entry.wal_seq}")
        yield entry


def _require_file(path: Path) -> None:
    """Look before opening: a pipe waits for its other end, and a device may do anything.

    A directory can be opened, and says what it is when it is read.
    """
    mode = path.stat().st_mode
    if not (S_ISREG(mode) or S_ISDIR(mode)):
        raise RefusedError(
            Code.VALIDATION_ERROR, f"{path} is not a regular file.", {"wal_path": str(path)}
        )


@contextmanager
def _storage(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as cause:
        raise StorageError(
            f"{path} could not be read: {cause.strerror or cause}. Nothing was changed.",
            {"wal_path": str(path), "error": str(cause), "errno": cause.errno},
        ) from cause
