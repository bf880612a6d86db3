"""A disk whose k-th call fails.

Loop k from 1 until `has_failed` stays false: then every call of the program has failed once.
"""

import errno
import os
from collections.abc import Callable, Collection, Iterator
from enum import Enum, auto
from pathlib import Path
from typing import Final, TypeVar

from taskloom.log import Disk, Entry

_T = TypeVar("_T")


class Fault(Enum):
    """A kind of failure."""

    EIO = auto()
    ENOSPC = auto()
    EINTR = auto()
    EACCES = auto()
    EROFS = auto()
    FULL = auto()
    """Half of this write fits, and none of the later ones, until `repair`."""
    SHORT_WRITE = auto()
    """Half of a write is accepted, which is not an error; other calls do not fail."""
    CRASH_BEFORE = auto()
    """The process ends just before the call."""
    CRASH_AFTER = auto()
    """The process ends just after the call."""


_ON_WRITES: Final = (Fault.SHORT_WRITE, Fault.FULL)


class Crashed(BaseException):
    """The process has ended. A `BaseException`, so that no code under test catches it."""


class FaultyDisk:
    """A `taskloom.log.Disk` around another one, with one fault."""

    def __init__(
        self, disk: Disk, fault: Fault, *, at: int, calls: Collection[str] | None = None
    ) -> None:
        """Let call number `at` fail, counted from 1; `calls` are the names of calls to count."""
        self._disk = disk
        self._fault = fault
        self._left = at
        self._names = ("write",) if fault in _ON_WRITES else calls
        self._crashed = False
        self._full = False
        self.has_failed = False
        self.failed_call = ""

    def repair(self) -> None:
        """Remove the fault: no later call fails."""
        self._left = 0
        self._full = False

    def open(self, path: Path, flags: int) -> int:
        return self._call("open", lambda: self._disk.open(path, flags))

    def close(self, fd: int) -> None:
        """Close a descriptor; it is closed even if the call fails, as on Linux."""
        self._call("close", lambda: self._disk.close(fd), runs_anyway=True)

    def write(self, fd: int, data: bytes | bytearray | memoryview) -> int:
        half = memoryview(data)[: len(data) // 2]
        if self._full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self._left == 1 and self._fault in _ON_WRITES:
            self._record_failure("write")
            self._full = self._fault is Fault.FULL
            return self._disk.write(fd, half or data)
        return self._call("write", lambda: self._disk.write(fd, data))

    def read(self, fd: int, size_bytes: int, offset: int) -> bytes:
        return self._call("read", lambda: self._disk.read(fd, size_bytes, offset))

    def size(self, fd: int) -> int:
        return self._call("size", lambda: self._disk.size(fd))

    def is_named(self, fd: int, path: Path) -> bool:
        return self._call("is_named", lambda: self._disk.is_named(fd, path))

    def truncate(self, fd: int, size_bytes: int) -> None:
        self._call("truncate", lambda: self._disk.truncate(fd, size_bytes))

    def sync(self, fd: int) -> None:
        """Make the file durable; after a failure nothing is."""
        self._call("sync", lambda: self._disk.sync(fd))

    def sync_data(self, fd: int) -> None:
        """Make the file durable; after a failure nothing is."""
        self._call("sync_data", lambda: self._disk.sync_data(fd))

    def lock(self, fd: int, *, wait: bool) -> bool:
        return self._call("lock", lambda: self._disk.lock(fd, wait=wait))

    def lock_shared(self, fd: int, *, wait: bool) -> bool:
        return self._call("lock_shared", lambda: self._disk.lock_shared(fd, wait=wait))

    def unlock(self, fd: int) -> None:
        self._call("unlock", lambda: self._disk.unlock(fd), runs_anyway=True)

    def sync_directory(self, path: Path) -> None:
        self._call("sync_directory", lambda: self._disk.sync_directory(path))

    def make_directory(self, path: Path) -> None:
        self._call("make_directory", lambda: self._disk.make_directory(path))

    def entries(self, path: Path) -> Iterator[Entry]:
        return self._call("entries", lambda: self._disk.entries(path))

    def remove(self, path: Path) -> None:
        self._call("remove", lambda: self._disk.remove(path))

    def _record_failure(self, name: str) -> None:
        self._left = 0
        self.has_failed = True
        self.failed_call = name

    def _call(self, name: str, call: Callable[[], _T], *, runs_anyway: bool = False) -> _T:
        if self._crashed:
            raise Crashed
        if self._left == 0 or (self._names is not None and name not in self._names):
            return call()
        self._left -= 1
        if self._left > 0:
            return call()
        self._record_failure(name)
        if self._fault is Fault.CRASH_BEFORE:
            self._crashed = True
            raise Crashed
        if self._fault is Fault.CRASH_AFTER:
            call()
            self._crashed = True
            raise Crashed
        if runs_anyway:
            call()
        number = getattr(errno, self._fault.name)
        raise OSError(number, os.strerror(number))
