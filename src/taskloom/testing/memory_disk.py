"""A disk in memory that simulates power cuts.

Each file has a durable and a volatile content. Readers see the volatile one, as processes see
the page cache; `sync` makes it durable, and `power_cut` returns a disk with some of the blocks
written since, in any order. Names are separate from files: a new name survives only if its
directory was synced.

`another_process` is a second process's view of the same disk; `kill` ends a process: its locks
are released, its writes stay. Directories are durable at once.
"""

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Condition

from taskloom.log import Entry


@dataclass(slots=True, eq=False)
class _Inode:
    is_directory: bool = False
    seen: bytearray = field(default_factory=bytearray)
    """The content that processes read."""
    durable: bytearray = field(default_factory=bytearray)
    """The content at the last sync."""
    changes: "list[tuple[int, bytes]]" = field(default_factory=list["tuple[int, bytes]"])
    """The changes since then: the offset of the cut, and the data appended there."""
    mtime_ns: int = 0
    writer: int | None = None
    """The descriptor with the exclusive lock."""
    readers: set[int] = field(default_factory=set[int])

    def change(self, at: int, data: bytes) -> None:
        del self.seen[at:]
        self.seen += data
        self.changes.append((at, data))

    def sync(self) -> None:
        for at, data in self.changes:
            del self.durable[at:]
            self.durable += data
        self.changes.clear()

    def versions(self) -> list[bytes]:
        """Return the durable content, and the content after each change since."""
        now = bytearray(self.durable)
        found = [bytes(now)]
        for at, data in self.changes:
            del now[at:]
            now += data
            found.append(bytes(now))
        return found


@dataclass(slots=True)
class _Storage:
    names: dict[Path, _Inode] = field(default_factory=dict[Path, _Inode])
    durable_names: dict[Path, _Inode] = field(default_factory=dict[Path, _Inode])
    changed: Condition = field(default_factory=Condition)
    next_fd: int = 1_000_000
    ticks: int = 1_700_000_000_000_000_000


class MemoryDisk:
    """A `taskloom.log.Disk`: one process's view of a disk in memory."""

    def __init__(self, storage: _Storage | None = None) -> None:
        """Start with an empty disk; see also `another_process` and `power_cut`."""
        self._storage = storage or _Storage()
        self._open: dict[int, tuple[_Inode, bool]] = {}

    # The calls of a log.

    def open(self, path: Path, flags: int) -> int:
        """Open or create a file, or open a directory."""
        with self._storage.changed:
            inode = self._storage.names.get(path)
            if inode is None:
                if not flags & os.O_CREAT:
                    raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
                if path.parent not in self._storage.names:
                    raise FileNotFoundError(errno.ENOENT, "No such directory", str(path))
                inode = self._storage.names[path] = _Inode(mtime_ns=self._tick())
            elif flags & os.O_EXCL:
                raise FileExistsError(errno.EEXIST, "File exists", str(path))
            fd = self._storage.next_fd
            self._storage.next_fd += 1
            self._open[fd] = (inode, bool(flags & os.O_RDWR))
            return fd

    def close(self, fd: int) -> None:
        """Close a descriptor and release its lock."""
        self.unlock(fd)
        del self._open[fd]

    def write(self, fd: int, data: bytes | bytearray | memoryview) -> int:
        """Append all data."""
        inode, writable = self._file(fd)
        if not writable:
            raise OSError(errno.EBADF, "Bad file descriptor")
        inode.change(len(inode.seen), bytes(data))
        inode.mtime_ns = self._tick()
        return len(data)

    def read(self, fd: int, size_bytes: int, offset: int) -> bytes:
        """Read the volatile content."""
        return bytes(self._file(fd)[0].seen[offset : offset + size_bytes])

    def size(self, fd: int) -> int:
        """Return the size of the volatile content."""
        return len(self._file(fd)[0].seen)

    def is_named(self, fd: int, path: Path) -> bool:
        """Return whether the path names the open file."""
        return self._storage.names.get(path) is self._file(fd)[0]

    def truncate(self, fd: int, size_bytes: int) -> None:
        """Truncate the file, not durably."""
        inode, _ = self._file(fd)
        inode.change(size_bytes, b"\0" * max(0, size_bytes - len(inode.seen)))
        inode.mtime_ns = self._tick()

    def sync(self, fd: int) -> None:
        """Make the file durable."""
        self._file(fd)[0].sync()

    def sync_data(self, fd: int) -> None:
        """Make the file durable."""
        self.sync(fd)

    def lock(self, fd: int, *, wait: bool) -> bool:
        """Take the exclusive lock."""
        inode, _ = self._file(fd)

        def is_free() -> bool:
            return inode.writer in (None, fd) and not inode.readers - {fd}

        with self._storage.changed:
            if not is_free() and not wait:
                return False
            self._storage.changed.wait_for(is_free)
            inode.readers.discard(fd)
            inode.writer = fd
            return True

    def lock_shared(self, fd: int, *, wait: bool) -> bool:
        """Take a shared lock."""
        inode, _ = self._file(fd)

        def is_free() -> bool:
            return inode.writer in (None, fd)

        with self._storage.changed:
            if not is_free() and not wait:
                return False
            self._storage.changed.wait_for(is_free)
            inode.writer = None
            inode.readers.add(fd)
            return True

    def unlock(self, fd: int) -> None:
        """Release the lock."""
        inode, _ = self._file(fd)
        with self._storage.changed:
            if inode.writer == fd:
                inode.writer = None
            inode.readers.discard(fd)
            self._storage.changed.notify_all()

    def sync_directory(self, path: Path) -> None:
        """Make the names in a directory durable."""
        durable, names = self._storage.durable_names, self._storage.names
        for name in [name for name in durable if name.parent == path and name not in names]:
            del durable[name]
        durable.update({name: inode for name, inode in names.items() if name.parent == path})

    def make_directory(self, path: Path) -> None:
        """Create a directory and its parents."""
        for each in (*reversed(path.parents), path):
            inode = self._storage.names.setdefault(each, _Inode(is_directory=True))
            self._storage.durable_names.setdefault(each, inode)

    def entries(self, path: Path) -> Iterator[Entry]:
        """Yield the files of a directory."""
        for name, inode in list(self._storage.names.items()):
            if name.parent == path and not inode.is_directory:
                yield Entry(name.name, len(inode.seen), inode.mtime_ns)

    def remove(self, path: Path) -> None:
        """Delete a name, not durably; open descriptors stay valid."""
        if self._storage.names.pop(path, None) is None:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))

    # The calls of a test.

    def another_process(self) -> "MemoryDisk":
        """Return the view of another process, with its own descriptors."""
        return MemoryDisk(self._storage)

    def kill(self) -> None:
        """End this process: close its descriptors and release its locks; its writes stay."""
        for fd in list(self._open):
            self.close(fd)

    def power_cut(self, chance: Random, *, block_bytes: int = 512) -> "MemoryDisk":
        """Return a disk as a power cut may leave this one; this one is not changed.

        Each file gets a random length among those since its last sync, and each block comes from
        a random version since then. Each change of a name survives or not.
        """
        left = _Storage(next_fd=self._storage.next_fd, ticks=self._storage.ticks)
        survivors: dict[_Inode, _Inode] = {}
        before, now = self._storage.durable_names, self._storage.names
        for name in {**before, **now}:
            choices = [names.get(name) for names in (before, now)]
            inode = choices[0] if choices[0] is choices[1] else chance.choice(choices)
            if inode is not None:
                if inode not in survivors:
                    survivors[inode] = _after_power_cut(inode, chance, block_bytes)
                left.names[name] = left.durable_names[name] = survivors[inode]
        return MemoryDisk(left)

    def unsynced(self) -> dict[Path, int]:
        """Return by file the number of changes, also of its name, that a power cut may lose."""
        names, durable = self._storage.names, self._storage.durable_names
        changes = {
            name: len(inode.changes) + (durable.get(name) is not inode)
            for name, inode in names.items()
        }
        changes.update(dict.fromkeys(durable.keys() - names.keys(), 1))
        return {name: number for name, number in changes.items() if number}

    def put(self, path: Path, data: bytes) -> None:
        """Write a whole file durably."""
        self.make_directory(path.parent)
        inode = _Inode(seen=bytearray(data), durable=bytearray(data), mtime_ns=self._tick())
        self._storage.names[path] = self._storage.durable_names[path] = inode

    def content(self, path: Path) -> bytes:
        """Return the volatile content of a file.

        Raises:
            KeyError: there is no such file.
        """
        return bytes(self._storage.names[path].seen)

    def files(self) -> list[Path]:
        """Return the names of all files."""
        return [path for path, inode in self._storage.names.items() if not inode.is_directory]

    def _file(self, fd: int) -> tuple[_Inode, bool]:
        opened = self._open.get(fd)
        if opened is None:
            raise OSError(errno.EBADF, "Bad file descriptor")
        return opened

    def _tick(self) -> int:
        self._storage.ticks += 1
        return self._storage.ticks


def _after_power_cut(inode: _Inode, chance: Random, block_bytes: int) -> _Inode:
    if not inode.changes:
        content = bytes(inode.durable)
    else:
        versions = inode.versions()
        lengths = [len(version) for version in versions]
        lengths += range(min(lengths), max(lengths), block_bytes)
        size = chance.choice(lengths)
        blocks = (
            chance.choice(versions)[at : at + block_bytes].ljust(block_bytes, b"\0")
            for at in range(0, size, block_bytes)
        )
        content = b"".join(blocks)[:size]
    return _Inode(
        is_directory=inode.is_directory,
        seen=bytearray(content),
        durable=bytearray(content),
        mtime_ns=inode.mtime_ns,
    )
