"""Files in memory: for tests, and for runs whose content need not outlive the process."""

import time
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

from taskloom.files.cross_loop_lock import CrossLoopLock
from taskloom.files.line_ranges import slice_lines
from taskloom.files.protocol import FileInfo
from taskloom.files.text import clean_file, clean_path, to_bytes


class MemoryFiles:
    """A backend without a disk. One object is one storage, for all loops of the process."""

    def __init__(self) -> None:
        """Begin empty."""
        self._files: dict[str, tuple[str, FileInfo]] = {}
        self._entries: defaultdict[str, set[str]] = defaultdict(set)
        self._versions: Counter[str] = Counter()
        self._locks: dict[str, CrossLoopLock] = {}
        self._changes = 0

    async def ls_info(self, path: str) -> list[FileInfo]:
        """List a directory."""
        name = clean_path(path)
        if name in self._files:
            return [self._files[name][1]]
        return [self._info(entry) for entry in sorted(self._entries.get(name, ()))]

    async def read(self, path: str, offset: int = 0, limit: int | None = None) -> str:
        """Return a file's text or a slice of its lines."""
        return slice_lines(self._get(path)[0], offset, limit)

    async def write(self, path: str, content: str) -> None:
        """Make or replace a file."""
        name = self._writable(path)
        self._changes += 1
        size = len(to_bytes(content))
        info = FileInfo(name, False, size, time.time(), str(self._changes))
        self._files[name] = (content, info)
        self._versions[_above(name)] += 1
        for entry in _upward(name):
            self._entries[_above(entry)].add(entry)

    async def create(self, path: str, content: str) -> None:
        """Make a file that must not exist yet."""
        if clean_path(path) in self._files:
            raise FileExistsError(f"`{path}` exists already.")
        await self.write(path, content)

    async def delete(self, path: str) -> None:
        """Remove a file."""
        self._get(path)
        name = clean_path(path)
        del self._files[name]
        self._versions[_above(name)] += 1
        for entry in _upward(name):
            self._entries[_above(entry)].discard(entry)
            if self._entries[_above(entry)]:
                break  # A directory is there as long as something is in it.
            del self._entries[_above(entry)]

    async def version(self, path: str) -> str:
        """Return a text that changes with a file, or with the files of a directory."""
        name = clean_path(path)
        if name in self._files:
            return self._files[name][1].version
        return f"{self._versions[name]}" if name in self._entries else ""

    @asynccontextmanager
    async def lock(self, path: str) -> AsyncGenerator[None]:
        """Hold a directory against other tasks, on any loop."""
        async with self._locks.setdefault(clean_path(path), CrossLoopLock()):
            yield

    def _info(self, name: str) -> FileInfo:
        return self._files[name][1] if name in self._files else FileInfo(name, is_dir=True)

    def _get(self, path: str) -> tuple[str, FileInfo]:
        try:
            return self._files[clean_path(path)]
        except KeyError:
            raise FileNotFoundError(f"There is no file `{path}`.") from None

    def _writable(self, path: str) -> str:
        """Refuse what a disk would refuse: a name that is both a file and a directory."""
        name = clean_file(path)
        if name in self._entries:
            raise IsADirectoryError(f"`{path}` is a directory.")
        if any(above in self._files for above in _upward(_above(name))):
            raise NotADirectoryError(f"`{path}` lies beneath a file.")
        return name


def _above(name: str) -> str:
    return name.rpartition("/")[0]


def _upward(name: str) -> Iterator[str]:
    """Yield a name and the directories it lies in, the innermost first."""
    while name:
        yield name
        name = _above(name)
