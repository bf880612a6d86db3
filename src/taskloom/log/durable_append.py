"""One write-ahead log in one JSONL file.

Rule 1: a handle appends only while it holds the file's lock, behind everything that is there.
Rule 2: it releases the lock only after its writes are durable, so a reader that holds the lock,
        exclusive or shared, reads nothing that could still be taken back.
Rule 3: any error while writing closes the handle. What was written is cut off again while the
        lock is still held; if even that fails, the error says that the outcome is unknown.
Rule 4: a failed sync is never tried again as if it could still succeed: the system may have
        dropped the very pages it was asked to keep. The file is opened and read again instead.
"""

import logging
from collections.abc import Iterator
from contextlib import suppress
from errno import EACCES, EPERM, EROFS
from pathlib import Path

from taskloom.errors import DamagedLogError, FencedError, StorageError
from taskloom.log.disk import READ_ONLY, READ_WRITE, Disk
from taskloom.log.protocol import Position, TornTail
from taskloom.log.quarantine import quarantine_tail, write_all
from taskloom.log.reader import Reader

_LOG = logging.getLogger("taskloom")


class JsonlWal:
    """One handle on one file. Implements `Wal`."""

    def __init__(
        self,
        disk: Disk,
        path: Path,
        torn_dir: Path,
        *,
        durable: bool = True,
        read_only: bool = False,
        fd: int | None = None,
    ) -> None:
        """Open the file, or take the open file `fd`.

        A file that may not be written is opened for reading. With `read_only` every file is,
        and the handle stays on the file that it opened, even if that is deleted or replaced.

        Raises:
            StorageError: It cannot be opened at all.
        """
        self._disk = disk
        self._path = path
        self._torn_dir = torn_dir
        self._durable = durable
        self._read_only = read_only
        self._torn: TornTail | None = None
        self._repair_failure: StorageError | None = None
        """Why a torn tail is still in the file."""
        self._name_is_durable = False
        """Whether the directory entry of the file is known to survive a power cut."""
        self._locked = False
        self._locked_alone = False
        self._fd = -1
        self._writable = True
        if fd is None:
            self._open()
        else:
            self._fd = fd
            self._reader = Reader(disk, fd)

    def _open(self) -> None:
        try:
            if self._read_only:
                self._writable, self._fd = False, self._disk.open(self._path, READ_ONLY)
            else:
                self._open_writable()
        except OSError as cause:
            raise failed("opened", self._path, cause) from cause
        self._reader = Reader(self._disk, self._fd)

    def _open_writable(self) -> None:
        try:
            self._writable, self._fd = True, self._disk.open(self._path, READ_WRITE)
        except OSError as cause:
            if cause.errno not in (EACCES, EPERM, EROFS):
                raise
            self._writable, self._fd = False, self._disk.open(self._path, READ_ONLY)

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
        """The last torn write that this handle found."""
        return self._torn

    @property
    def is_reference_log(self) -> bool:
        """Whether the reference implementation wrote the file."""
        return self._reader.is_reference_log

    @property
    def is_writable(self) -> bool:
        """Whether the file is ours, open for writing, and without a torn tail."""
        return self._writable and not self.is_reference_log and self._repair_failure is None

    def acquire(self, *, wait: bool, shared: bool = False) -> bool:
        """Lock the file; open it again if an error closed it, or if its path names another one."""
        if self._fd < 0:
            self._open()
        lock = self._disk.lock_shared if shared else self._disk.lock
        try:
            self._locked = lock(self._fd, wait=wait)
        except OSError as cause:
            raise failed("locked", self._path, cause) from cause
        if self._locked and not self._read_only and not self.is_named():
            self.close()
            self._open()
            return self.acquire(wait=wait, shared=shared)
        self._locked_alone = self._locked and not shared
        return self._locked

    def is_named(self) -> bool:
        """Return whether the path names the open file: it may have been deleted or replaced.

        Raises:
            StorageError: That cannot be read.
        """
        try:
            return self._disk.is_named(self._fd, self._path)
        except OSError as cause:
            self.close()
            raise failed("read", self._path, cause) from cause

    def release(self) -> None:
        """Unlock the file."""
        if self._locked:
            self._locked = self._locked_alone = False
            try:
                self._disk.unlock(self._fd)
            except OSError:
                self.close()  # That releases the lock for certain.

    def unread_bytes(self) -> int:
        """Return how much longer the file is than what was read of it."""
        if not self._locked and not self._read_only and not self.is_named():
            return 1  # At least: the path names another file, which `acquire` will open.
        return self._unread_bytes()

    def _unread_bytes(self) -> int:
        try:
            return self._disk.size(self._fd) - self._reader.offset
        except OSError as cause:
            raise failed("read", self._path, cause) from cause

    def read_new(self) -> Iterator[bytes]:
        """Yield what was appended since; within the exclusive lock, quarantine a torn tail."""
        unread = self._unread_bytes()
        reader = self._reader
        if unread == 0:
            return
        if unread < 0:
            size = reader.offset + unread
            raise DamagedLogError(reader.position.seq, f"the file was cut to {size} bytes")
        if self._locked_alone and self._writable and self._durable:
            self._sync_others()
        try:
            yield from reader.chunks(reader.offset + unread)
        except OSError as cause:
            raise failed("read", self._path, cause) from cause
        if reader.torn_bytes:
            self._handle_torn(reader.torn_bytes)

    def _sync_others(self) -> None:
        """Make durable what others wrote: a writer may have been killed before its sync."""
        try:
            self._sync()
        except OSError as cause:
            self.close()
            raise failed("read", self._path, cause) from cause

    def _sync(self) -> None:
        """Sync what was appended, and once the directory, which holds the file's name."""
        self._disk.sync_data(self._fd)
        if not self._name_is_durable:
            self._disk.sync_directory(self._path.parent)
            self._name_is_durable = True

    def _handle_torn(self, size_bytes: int) -> None:
        kept = None
        if self._locked_alone and self._writable and not self.is_reference_log:
            at = self._reader.offset
            try:
                kept = quarantine_tail(
                    self._disk, self._fd, self._path, self._torn_dir, at, durable=self._durable
                )
            except OSError as cause:
                # The log can still be read, but nothing may be appended behind a torn tail.
                self._repair_failure = failed("repaired", self._path, cause)
            else:
                self._repair_failure = None
                _LOG.warning(
                    "removed %d bytes of a write that a crash cut short from %s; a copy is in %s",
                    size_bytes,
                    self._path,
                    kept,
                )
        self._torn = TornTail(str(self._path), self.position.seq, size_bytes, kept)

    def append(self, lines: bytes | bytearray, *, after: Position, then: Position) -> None:
        """Write the lines and sync them."""
        if not self._locked_alone:
            raise StorageError(
                f"{self._path} was closed while it was locked. Nothing was changed; try again.",
                {"wal_path": str(self._path), "outcome": "not_written"},
            )
        if self.is_reference_log or not self._writable:
            raise self._read_only_error()
        if self._repair_failure is not None:
            raise self._repair_failure
        start = self._reader.offset
        if after != self._reader.position or self._unread_bytes():
            raise FencedError(after.seq, self.position.seq)
        try:
            write_all(self._disk, self._fd, lines)
            if self._durable:
                self._sync()
        except OSError as cause:
            raise self._undo_append(start, cause) from cause
        self._reader.skip(len(lines), then)

    def _read_only_error(self) -> StorageError:
        is_reference = self.is_reference_log
        why = "was written by another program" if is_reference else "may not be written to"
        return StorageError(
            f"{self._path} {why} and is only read here. Create a new Task for further work.",
            {"wal_path": str(self._path), "outcome": "not_written"},
        )

    def _undo_append(self, start: int, cause: OSError) -> StorageError:
        outcome = "not_written"
        try:
            self._disk.truncate(self._fd, start)
            if self._durable:
                self._disk.sync(self._fd)
        except OSError:
            outcome = "unknown"
        self.close()
        return failed("written", self._path, cause, outcome)

    def assume_created(self, size_bytes: int, position: Position) -> None:
        """Note that the file was just created with this content, durably."""
        self._reader.skip(size_bytes, position)
        self._name_is_durable = True

    def remove_if_unfinished(self) -> bool:
        """Within the lock, delete a file without a whole transaction; its bytes are quarantined."""
        try:
            if any(True for _ in self.read_new()):
                return False
        except DamagedLogError:
            return False
        if self.is_reference_log or (self._torn is not None and self._torn.kept_in is None):
            return False
        self._disk.remove(self._path)
        return True

    def rewind(self) -> None:
        """Read from the start of the file again."""
        self._reader = Reader(self._disk, self._fd)
        self._repair_failure = None

    def close(self) -> None:
        """Close the file, which releases the lock."""
        fd, self._fd, self._locked, self._locked_alone = self._fd, -1, False, False
        if fd >= 0:
            with suppress(OSError):  # Even a failed close frees the descriptor.
                self._disk.close(fd)


def failed(what: str, path: Path, cause: OSError, outcome: str = "not_written") -> StorageError:
    """Return the error that says what failed for which file, and what to do now."""
    advice = (
        "Nothing was changed; try again when the cause is fixed."
        if outcome == "not_written"
        else "Whether the change was written is unknown; send it again with the same command_id."
    )
    return StorageError(
        f"{path} could not be {what}: {cause.strerror or cause}. {advice}",
        {"wal_path": str(path), "error": str(cause), "errno": cause.errno, "outcome": outcome},
    )
