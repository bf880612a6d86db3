"""The operations of an operating system that a log uses, as one interface.

A log touches files through a `Disk` alone, so that tests can let the k-th call fail, cut the
power, or run without a real disk.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from taskloom.atomic_write import make_directory, sync_data, sync_directory, sync_file

READ_WRITE: Final = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
"""Flags of `Disk.open` for reading a file and appending to it."""
READ_ONLY: Final = os.O_RDONLY | os.O_CLOEXEC
CREATE: Final = READ_WRITE | os.O_CREAT | os.O_EXCL

_SAFE: Final = os.O_NOFOLLOW | os.O_NONBLOCK
"""A link may name any file, and opening a pipe would wait for its other end."""


class Entry(NamedTuple):
    """A file in a directory."""

    name: str
    size_bytes: int
    mtime_ns: int


class Disk(Protocol):
    """The operations. Every method may raise `OSError`."""

    def open(self, path: Path, flags: int) -> int:
        """Open a file and return its descriptor."""
        ...

    def close(self, fd: int) -> None:
        """Close a descriptor, which releases its lock."""
        ...

    def write(self, fd: int, data: bytes | bytearray | memoryview) -> int:
        """Append some of `data`; return how many bytes."""
        ...

    def read(self, fd: int, size_bytes: int, offset: int) -> bytes:
        """Return at most `size_bytes` from `offset` on; fewer at the end."""
        ...

    def size(self, fd: int) -> int:
        """Return the length of an open file."""
        ...

    def is_named(self, fd: int, path: Path) -> bool:
        """Return whether the path names the open file, and no other."""
        ...

    def truncate(self, fd: int, size_bytes: int) -> None:
        """Cut the file to a length."""
        ...

    def sync(self, fd: int) -> None:
        """Make the file durable, its data and its metadata."""
        ...

    def sync_data(self, fd: int) -> None:
        """Make the data and the length of the file durable; its times may wait."""
        ...

    def lock(self, fd: int, *, wait: bool) -> bool:
        """Lock the file for this descriptor alone; return whether that succeeded."""
        ...

    def lock_shared(self, fd: int, *, wait: bool) -> bool:
        """Lock the file together with other readers; return whether that succeeded."""
        ...

    def unlock(self, fd: int) -> None:
        """Release the lock."""
        ...

    def sync_directory(self, path: Path) -> None:
        """Make the names in a directory durable."""
        ...

    def make_directory(self, path: Path) -> None:
        """Make a directory and its parents, durably; it may exist already."""
        ...

    def entries(self, path: Path) -> Iterator[Entry]:
        """Yield the files of a directory; none if it does not exist."""
        ...

    def remove(self, path: Path) -> None:
        """Delete a file."""
        ...


class OsDisk:
    """The disk of the operating system. Implements `Disk`."""

    def open(self, path: Path, flags: int) -> int:
        fd = os.open(path, flags | _SAFE, 0o644)
        mode = os.fstat(fd).st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            return fd
        os.close(fd)
        raise OSError(errno.EINVAL, "Not a regular file", str(path))

    def close(self, fd: int) -> None:
        os.close(fd)

    def write(self, fd: int, data: bytes | bytearray | memoryview) -> int:
        return os.write(fd, data)

    def read(self, fd: int, size_bytes: int, offset: int) -> bytes:
        return os.pread(fd, size_bytes, offset)

    def size(self, fd: int) -> int:
        return os.fstat(fd).st_size

    def is_named(self, fd: int, path: Path) -> bool:
        try:
            return os.path.samestat(os.fstat(fd), os.stat(path))
        except FileNotFoundError:
            return False

    def truncate(self, fd: int, size_bytes: int) -> None:
        os.ftruncate(fd, size_bytes)

    def sync(self, fd: int) -> None:
        sync_file(fd)

    def sync_data(self, fd: int) -> None:
        sync_data(fd)

    # flock belongs to the open file and not to the process, so it also keeps apart two threads
    # that have opened the file each for itself.

    def lock(self, fd: int, *, wait: bool) -> bool:
        return _flock(fd, fcntl.LOCK_EX, wait=wait)

    def lock_shared(self, fd: int, *, wait: bool) -> bool:
        return _flock(fd, fcntl.LOCK_SH, wait=wait)

    def unlock(self, fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)

    def sync_directory(self, path: Path) -> None:
        sync_directory(path)

    def make_directory(self, path: Path) -> None:
        make_directory(path)

    def entries(self, path: Path) -> Iterator[Entry]:
        try:
            items = os.scandir(path)
        except FileNotFoundError:
            return
        with items:
            for item in items:
                if item.is_file(follow_symlinks=False):
                    status = item.stat(follow_symlinks=False)
                    yield Entry(item.name, status.st_size, status.st_mtime_ns)

    def remove(self, path: Path) -> None:
        path.unlink()


def _flock(fd: int, how: int, *, wait: bool) -> bool:
    try:
        fcntl.flock(fd, how if wait else how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
