"""The few things a log asks of an operating system, in one place.

Everything a log does to a disk goes through a `Disk`, so that tests can let the k-th call fail,
forget what was not synced, or run on a disk that is not there. No policy here.
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
READ_ONLY: Final = os.O_RDONLY | os.O_CLOEXEC
_CAREFUL: Final = os.O_NOFOLLOW | os.O_NONBLOCK
"""A link may lead anywhere, and a pipe would make us wait for its other end."""
CREATE: Final = READ_WRITE | os.O_CREAT | os.O_EXCL


class Entry(NamedTuple):
    """A file in a directory."""

    name: str
    size_bytes: int
    mtime_ns: int


class Disk(Protocol):
    """What a log needs. Every method may raise `OSError`."""

    def open(self, path: Path, flags: int) -> int:
        """Open a file; return its descriptor."""
        ...

    def close(self, fd: int) -> None:
        """Close a descriptor; its lock goes with it."""
        ...

    def write(self, fd: int, data: bytes | bytearray | memoryview) -> int:
        """Append some of `data`; return how much was taken."""
        ...

    def read(self, fd: int, size_bytes: int, offset: int) -> bytes:
        """Return at most `size_bytes` from `offset` on; fewer at the end."""
        ...

    def size(self, fd: int) -> int:
        """Return how long the file is now."""
        ...

    def is_named(self, fd: int, path: Path) -> bool:
        """Tell whether the path still leads to the open file, and to no other."""
        ...

    def truncate(self, fd: int, size_bytes: int) -> None:
        """Cut the file."""
        ...

    def sync(self, fd: int) -> None:
        """Make the file durable, its length and data alike."""
        ...

    def sync_data(self, fd: int) -> None:
        """Make what was appended durable; times and the like may wait."""
        ...

    def lock(self, fd: int, *, wait: bool) -> bool:
        """Take the file for this descriptor alone; tell whether that worked."""
        ...

    def lock_shared(self, fd: int, *, wait: bool) -> bool:
        """Keep writers off the file while reading; tell whether that worked."""
        ...

    def unlock(self, fd: int) -> None:
        """Give the file back."""
        ...

    def sync_directory(self, path: Path) -> None:
        """Make the names in a directory durable."""
        ...

    def make_directory(self, path: Path) -> None:
        """Make a directory and its parents, durably; fine if it is there."""
        ...

    def entries(self, path: Path) -> Iterator[Entry]:
        """Walk the files of a directory; none if it is not there."""
        ...

    def remove(self, path: Path) -> None:
        """Delete a file."""
        ...


class OsDisk:
    """The real one."""

    def open(self, path: Path, flags: int) -> int:
        """Open a file; a new one is readable by everybody whom its directory lets in."""
        fd = os.open(path, flags | _CAREFUL, 0o644)
        mode = os.fstat(fd).st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            return fd
        os.close(fd)
        raise OSError(errno.EINVAL, "Not a regular file", str(path))

    def close(self, fd: int) -> None:
        """Close a descriptor."""
        os.close(fd)

    def write(self, fd: int, data: bytes | bytearray | memoryview) -> int:
        """Append some of `data`."""
        return os.write(fd, data)

    def read(self, fd: int, size_bytes: int, offset: int) -> bytes:
        """Read from `offset` without moving anything."""
        return os.pread(fd, size_bytes, offset)

    def size(self, fd: int) -> int:
        """Ask the file, not the name: the name may have gone."""
        return os.fstat(fd).st_size

    def is_named(self, fd: int, path: Path) -> bool:
        """Compare the file's identity with that of what the path names."""
        try:
            return os.path.samestat(os.fstat(fd), os.stat(path))
        except FileNotFoundError:
            return False

    def truncate(self, fd: int, size_bytes: int) -> None:
        """Cut the file."""
        os.ftruncate(fd, size_bytes)

    def sync(self, fd: int) -> None:
        """Wait for the disk; on macOS for its cache too."""
        sync_file(fd)

    def sync_data(self, fd: int) -> None:
        """Wait for the data alone, where the system can tell the two apart."""
        sync_data(fd)

    def lock(self, fd: int, *, wait: bool) -> bool:
        """Lock the open file, so that threads with handles of their own are kept apart too."""
        return _flock(fd, fcntl.LOCK_EX, wait=wait)

    def lock_shared(self, fd: int, *, wait: bool) -> bool:
        """Lock the open file for reading."""
        return _flock(fd, fcntl.LOCK_SH, wait=wait)

    def unlock(self, fd: int) -> None:
        """Give the file back."""
        fcntl.flock(fd, fcntl.LOCK_UN)

    def sync_directory(self, path: Path) -> None:
        """Sync a directory the way a file is synced."""
        sync_directory(path)

    def make_directory(self, path: Path) -> None:
        """Make what is missing, and sync each parent that got a new name."""
        make_directory(path)

    def entries(self, path: Path) -> Iterator[Entry]:
        """Walk the regular files."""
        try:
            found = os.scandir(path)
        except FileNotFoundError:
            return
        with found:
            for item in found:
                if item.is_file(follow_symlinks=False):
                    stat = item.stat(follow_symlinks=False)
                    yield Entry(item.name, stat.st_size, stat.st_mtime_ns)

    def remove(self, path: Path) -> None:
        """Delete a file."""
        path.unlink()


def _flock(fd: int, how: int, *, wait: bool) -> bool:
    try:
        fcntl.flock(fd, how if wait else how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
