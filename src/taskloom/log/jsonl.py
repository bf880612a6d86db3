"""A session's logs as JSONL files in one directory: one file for each Task, and nothing else.

A process that creates a log locks the directory itself, so there is no lock file. Torn tails are
copied to another directory.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

from taskloom.errors import StorageError
from taskloom.ids import WAL_SUFFIX
from taskloom.log.disk import CREATE, READ_ONLY, Disk, OsDisk
from taskloom.log.durable_append import JsonlWal, failed
from taskloom.log.protocol import Position, WalInfo, path_conflict
from taskloom.log.quarantine import write_all

_T = TypeVar("_T")

_LEVELS: Final = 3
"""Directories that may be new with a session: its own, that of all sessions, the state one."""
_TAIL_BYTES: Final = 1 << 13


class Durability(StrEnum):
    """What an acknowledged change survives."""

    FSYNC = "fsync"
    """A killed process and a power cut."""
    OS = "os"
    """A killed process; what is left after a power cut depends on the operating system."""


class JsonlLog:
    """The logs of one session, in a directory."""

    def __init__(
        self,
        directory: Path,
        *,
        torn_dir: Path | None = None,
        durability: Durability = Durability.FSYNC,
        disk: Disk | None = None,
    ) -> None:
        """Name the directory; the first `create` makes it."""
        self._directory = directory
        self._torn_dir = torn_dir or directory.with_name(f"{directory.name}.torn")
        self._durable = Durability(durability) is Durability.FSYNC
        self._disk: Disk = disk or OsDisk()
        self._directory_is_durable = False

    def entries(self) -> list[WalInfo]:
        """List the logs; other files are left out."""
        try:
            found = list(self._disk.entries(self._directory))
        except OSError as cause:
            raise failed("listed", self._directory, cause) from cause
        return [
            WalInfo(name.removesuffix(WAL_SUFFIX), size, mtime)
            for name, size, mtime in found
            if name.endswith(WAL_SUFFIX)
        ]

    @contextmanager
    def exclusive(self) -> Generator[None]:
        """Lock the directory."""
        fd = -1
        try:
            self._make_directory()
            fd = self._disk.open(self._directory, READ_ONLY)
            self._disk.lock(fd, wait=True)
        except OSError as cause:
            self._close(fd)
            raise failed("made", self._directory, cause) from cause
        try:
            yield
        finally:
            self._close(fd)

    def _make_directory(self) -> None:
        """Make the directory durable: a process may have died between making and syncing it."""
        self._disk.make_directory(self._directory)
        if self._durable and not self._directory_is_durable:
            for parent in list(self._directory.parents)[:_LEVELS]:
                self._disk.sync_directory(parent)
            self._directory_is_durable = True

    def create(self, name: str, lines: bytes | bytearray, *, then: Position) -> JsonlWal:
        """Create a file. Call this within `exclusive`."""
        path = self._path(name)
        try:
            fd = self._open_new(name, path)
        except OSError as cause:
            raise failed("created", path, cause) from cause
        try:
            self._fill(fd, lines)
        except OSError as cause:
            outcome = self._undo_creation(path)
            self._close(fd)
            raise failed("created", path, cause, outcome) from cause
        # Nothing may fail from here on: the new log is durable.
        wal = JsonlWal(self._disk, path, self._torn_dir, durable=self._durable, fd=fd)
        wal.assume_created(len(lines), then)
        return wal

    def _open_new(self, name: str, path: Path) -> int:
        try:
            return self._disk.open(path, CREATE)
        except FileExistsError as there:
            if not self._clear_unfinished(path):
                raise path_conflict(name, str(path)) from there
        return self._disk.open(path, CREATE)

    def _fill(self, fd: int, lines: bytes | bytearray) -> None:
        self._disk.lock(fd, wait=True)
        write_all(self._disk, fd, lines)
        if self._durable:
            self._disk.sync(fd)
            self._disk.sync_directory(self._directory)
        with suppress(OSError):  # The file is complete; closing it releases its lock too.
            self._disk.unlock(fd)

    def _undo_creation(self, path: Path) -> str:
        """Remove the new file; return what is known about it then."""
        try:
            self._disk.remove(path)
            if self._durable:
                self._disk.sync_directory(self._directory)
        except OSError:
            return "unknown"
        return "not_written"

    def _close(self, fd: int) -> None:
        if fd >= 0:
            with suppress(OSError):  # Even a failed close frees the descriptor and its lock.
                self._disk.close(fd)

    def _clear_unfinished(self, path: Path) -> bool:
        """Remove a file whose creation a crash cut short; return whether it was one."""
        try:
            wal = JsonlWal(self._disk, path, self._torn_dir, durable=self._durable)
        except StorageError:
            return False  # A link, a pipe, a directory: not a log.
        try:
            wal.acquire(wait=True)
            return wal.remove_if_unfinished()
        finally:
            wal.close()

    def open(self, name: str) -> JsonlWal:
        """Open an existing file."""
        return JsonlWal(self._disk, self._path(name), self._torn_dir, durable=self._durable)

    def last_lines(self, name: str, count: int = 2) -> list[bytes]:
        """Read no more of the file's end than these lines need."""
        return self._read_with(name, lambda fd: self._last_lines(fd, count))

    def first_line(self, name: str) -> bytes:
        """Read no more of the file's start than its first line needs."""
        return self._read_with(name, self._first_line)

    def _read_with(self, name: str, read: Callable[[int], _T]) -> _T:
        path = self._path(name)
        try:
            fd = self._disk.open(path, READ_ONLY)
            try:
                return read(fd)
            finally:
                self._close(fd)
        except OSError as cause:
            raise failed("read", path, cause) from cause

    def _first_line(self, fd: int) -> bytes:
        want = _TAIL_BYTES
        while True:
            data = self._disk.read(fd, want, 0)
            line, newline, _ = data.partition(b"\n")
            if newline or len(data) < want:
                return line
            want *= 4

    def _last_lines(self, fd: int, count: int) -> list[bytes]:
        size = self._disk.size(fd)
        want = _TAIL_BYTES
        while True:
            start = max(0, size - want)
            data = self._disk.read(fd, size - start, start)
            lines = _full_lines(data)
            if start == 0 or len(lines) > count:  # The first of them may be a part of one.
                return lines[-count:]
            want *= 4

    def _path(self, name: str) -> Path:
        return self._directory / (name + WAL_SUFFIX)


def _full_lines(data: bytes) -> list[bytes]:
    parts = data.split(b"\n")
    parts.pop()
    return [part + b"\n" for part in parts]
