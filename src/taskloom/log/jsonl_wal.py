"""One write-ahead log in one JSONL file.

Rule 1: nothing is appended but within a turn (the file's lock), behind everything that is there.
Rule 2: a turn ends only after its writes are durable, so whoever reads within a turn, or under
        a shared lock, reads nothing that could still be taken back.
Rule 3: any error while writing ends the handle. What was written is cut off again while the
        lock is still held; if even that fails, the error says that nobody knows.
Rule 4: a failed sync is never tried again as if it could still succeed: the system may have
        dropped the very pages it was asked to keep. The file is opened and read anew instead.
"""

import logging
from collections.abc import Iterator
from contextlib import suppress
from errno import EACCES, EPERM, EROFS
from pathlib import Path

from taskloom.errors import DamagedLogError, FencedError, StorageError
from taskloom.log.disk import READ_ONLY, READ_WRITE, Disk
from taskloom.log.protocol import Position, TornTail
from taskloom.log.quarantine import quarantine_tail
from taskloom.log.reader import Reader

_LOG = logging.getLogger("taskloom")


class JsonlWal:
    """One handle on one file."""

    def __init__(
        self, disk: Disk, path: Path, torn_dir: Path, *, durable: bool, fd: int | None = None
    ) -> None:
        """Open the file, for reading only where writing is not allowed; or take an open one.

        Raises:
            StorageError: It cannot be opened at all.
        """
        self._disk = disk
        self._path = path
        self._torn_dir = torn_dir
        self._durable = durable
        self._torn: TornTail | None = None
        self._unmended: StorageError | None = None
        """Why a torn tail is still in the way."""
        self._name_is_safe = False
        """Whether the directory is known to hold the file's name, come what may."""
        self._locked = False
        self._held = False
        """Locked for us alone: our turn."""
        self._fd = -1
        self._writable = True
        if fd is None:
            self._open()
        else:
            self._fd = fd
            self._reader = Reader(disk, fd)

    def _open(self) -> None:
        self._writable = True
        try:
            try:
                self._fd = self._disk.open(self._path, READ_WRITE)
            except OSError as cause:
                if cause.errno not in (EACCES, EPERM, EROFS):
                    raise
                self._writable = False
                self._fd = self._disk.open(self._path, READ_ONLY)
        except OSError as cause:
            raise failed("opened", self._path, cause) from cause
        self._reader = Reader(self._disk, self._fd)

    @property
    def path(self) -> str:
        """The file's path."""
        return str(self._path)

    @property
    def position(self) -> Position:
        """The end as far as it was read or written."""
        return self._reader.position

    @property
    def torn(self) -> TornTail | None:
        """The last torn write that this handle came upon."""
        return self._torn

    @property
    def is_foreign(self) -> bool:
        """Whether the reference implementation wrote the file."""
        return self._reader.is_foreign

    @property
    def is_writable(self) -> bool:
        """Whether the file could be opened for writing, and is ours."""
        return self._writable and not self.is_foreign and self._unmended is None

    def acquire(self, *, wait: bool, shared: bool = False) -> bool:
        """Lock the file, opening it anew if an error closed it."""
        if self._fd < 0:
            self._open()
        lock = self._disk.lock_shared if shared else self._disk.lock
        try:
            self._locked = lock(self._fd, wait=wait)
        except OSError as cause:
            raise failed("locked", self._path, cause) from cause
        if self._locked and not self._is_named():
            # Deleted or replaced under us: what we have open is no longer the Task's log.
            self.close()
            self._open()
            return self.acquire(wait=wait, shared=shared)
        self._held = self._locked and not shared
        return self._locked

    def _is_named(self) -> bool:
        try:
            return self._disk.is_named(self._fd, self._path)
        except OSError as cause:
            self.close()
            raise failed("looked at", self._path, cause) from cause

    def release(self) -> None:
        """Unlock the file."""
        if self._locked:
            self._locked = self._held = False
            try:
                self._disk.unlock(self._fd)
            except OSError:
                self.close()  # That gives the lock back for certain.

    def unread_bytes(self) -> int:
        """Return how much longer the file is than what was read of it."""
        if not self._locked and not self._is_named():
            return 1  # At the least: it was deleted or replaced, and `acquire` will notice.
        return self._unread_bytes()

    def _unread_bytes(self) -> int:
        try:
            return self._disk.size(self._fd) - self._reader.offset
        except OSError as cause:
            raise failed("read", self._path, cause) from cause

    def news(self) -> Iterator[bytes]:
        """Yield what was appended since; set a torn tail aside if this is our turn."""
        unread = self._unread_bytes()
        reader = self._reader
        if unread == 0:
            return
        if unread < 0:
            size = reader.offset + unread
            raise DamagedLogError(reader.position.seq, f"the file was cut to {size} bytes")
        if self._held and self._writable and self._durable:
            self._secure()
        try:
            yield from reader.pieces(reader.offset + unread)
        except OSError as cause:
            raise failed("read", self._path, cause) from cause
        if reader.torn_bytes:
            self._handle_torn(reader.torn_bytes)

    def _secure(self) -> None:
        """Make durable what is about to be built upon: its writer may have been killed too soon."""
        try:
            self._sync()
        except OSError as cause:
            self.close()
            raise failed("read", self._path, cause) from cause

    def _sync(self) -> None:
        """Sync what was appended, and once the directory, which holds the file's name."""
        self._disk.sync_data(self._fd)
        if not self._name_is_safe:
            self._disk.sync_directory(self._path.parent)
            self._name_is_safe = True

    def _handle_torn(self, size_bytes: int) -> None:
        kept = None
        if self._held and self._writable and not self.is_foreign:
            at = self._reader.offset
            try:
                kept = quarantine_tail(
                    self._disk, self._fd, self._path, self._torn_dir, at, durable=self._durable
                )
            except OSError as cause:
                # Reading goes on without it; nothing is appended behind a torn tail, though.
                self._unmended = failed("mended", self._path, cause)
            else:
                self._unmended = None
                _LOG.warning(
                    "set aside %d bytes of a write that a crash cut short: %s, kept in %s",
                    size_bytes,
                    self._path,
                    kept,
                )
        self._torn = TornTail(str(self._path), self.position.seq, size_bytes, kept)

    def append(self, lines: bytes | bytearray, *, after: Position, then: Position) -> None:
        """Write, and wait until it is safe."""
        if not self._held:
            raise StorageError(
                f"{self._path} was closed in the middle of a turn; ask again.",
                {"wal_path": str(self._path), "outcome": "not_written"},
            )
        if self.is_foreign or not self._writable:
            raise self._read_only()
        if self._unmended is not None:
            raise self._unmended
        start = self._reader.offset
        if after != self._reader.position or self._unread_bytes():
            raise FencedError(after.seq, self.position.seq)
        try:
            write_all(self._disk, self._fd, lines)
            if self._durable:
                self._sync()
        except OSError as cause:
            raise self._give_up(start, cause) from cause
        self._reader.skip(len(lines), then)

    def _read_only(self) -> StorageError:
        why = "was written by another program" if self.is_foreign else "may not be written to"
        return StorageError(
            f"{self._path} {why} and is only read here. Create a new Task for further work.",
            {"wal_path": str(self._path), "outcome": "not_written"},
        )

    def _give_up(self, start: int, cause: OSError) -> StorageError:
        outcome = "not_written"
        try:
            self._disk.truncate(self._fd, start)
            if self._durable:
                self._disk.sync(self._fd)
        except OSError:
            outcome = "unknown"
        self.close()
        return failed("written", self._path, cause, outcome)

    def assume(self, size_bytes: int, position: Position) -> None:
        """Note that the file was just created with this content, durably."""
        self._reader.skip(size_bytes, position)
        self._name_is_safe = True

    def remove_if_unfinished(self) -> bool:
        """Within a turn, delete a file that holds no whole decision; its bytes are set aside."""
        try:
            if any(True for _ in self.news()):
                return False
        except DamagedLogError:
            return False
        if self.is_foreign or (self._torn is not None and self._torn.kept_in is None):
            return False
        self._disk.remove(self._path)
        return True

    def rewind(self) -> None:
        """Begin at the start of the file again."""
        self._reader = Reader(self._disk, self._fd)
        self._unmended = None

    def close(self) -> None:
        """Close the file; the lock goes with it."""
        fd, self._fd, self._locked, self._held = self._fd, -1, False, False
        if fd >= 0:
            with suppress(OSError):  # Whatever happens, the descriptor is gone.
                self._disk.close(fd)


def write_all(disk: Disk, fd: int, data: bytes | bytearray) -> None:
    """Write every byte; a system may take fewer at a time than it is given."""
    taken = disk.write(fd, data)
    if taken == len(data):
        return
    rest = memoryview(data)[taken:]
    while rest:
        rest = rest[disk.write(fd, rest) :]


def failed(what: str, path: Path, cause: OSError, outcome: str = "not_written") -> StorageError:
    """Return the error that says what could not be done to which file, and what to do now."""
    advice = (
        "Nothing was changed; try again when the cause is gone."
        if outcome == "not_written"
        else "Whether the change is there is not known; ask again with the same command_id."
    )
    return StorageError(
        f"{path} could not be {what}: {cause.strerror or cause}. {advice}",
        {"wal_path": str(path), "error": str(cause), "errno": cause.errno, "outcome": outcome},
    )
