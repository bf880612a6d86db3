"""Files in memory, for tests and for content that is not needed after the process ends."""

import time
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

from taskloom.files.cross_loop_lock import CrossLoopLock
from taskloom.files.protocol import FileInfo
from taskloom.files.text import normalize_file_path, normalize_path, slice_lines, to_bytes


class MemoryFiles:
    """A backend in memory. One object is one storage, for all event loops of the process."""

    def __init__(self) -> None:
        """Start without files."""
        self._files: dict[str, tuple[str, FileInfo]] = {}
        self._entries: defaultdict[str, set[str]] = defaultdict(set)
        self._versions: Counter[str] = Counter()
        self._locks: dict[str, CrossLoopLock] = {}
        self._changes = 0

    async def ls_info(self, path: str) -> list[FileInfo]:
        """List a directory."""
        name = normalize_path(path)
        if name in self._files:
            return [self._files[name][1]]
        return [self._info(entry) for entry in sorted(self._entries.get(name, ()))]

    async def read(self, path: str, offset: int = 0, limit: int | None = None) -> str:
        """Return a file's text or a slice of its lines."""
        return slice_lines(self._get(path)[0], offset, limit)

    async def write(self, path: str, content: str) -> None:
        """Create or replace a file."""
        name = self._writable(path)
        self._changes += 1
        size = len(to_bytes(content))
        info = FileInfo(name, False, size, time.time(), str(self._changes))
        self._files[name] = (content, info)
        self._versions[_parent(name)] += 1
        for entry in _with_parents(name):
            self._entries[_parent(entry)].add(entry)

    async def create(self, path: str, content: str) -> None:
        """Create a file that must not exist."""
        if normalize_path(path) in self._files:
            raise FileExistsError(f"`{path}` already exists.")
        await self.write(path, content)

    async def delete(self, path: str) -> None:
        """Remove a file."""
        self._get(path)
        name = normalize_path(path)
        del self._files[name]
        self._versions[_parent(name)] += 1
        for entry in _with_parents(name):
            self._entries[_parent(entry)].discard(entry)
            if self._entries[_parent(entry)]:
                break  # A directory exists while it has entries.
            del self._entries[_parent(entry)]

    async def version(self, path: str) -> str:
        """Return the version of a file or directory."""
        name = normalize_path(path)
        if name in self._files:
            return self._files[name][1].version
        return f"{self._versions[name]}" if name in self._entries else ""

    @asynccontextmanager
    async def lock(self, path: str) -> AsyncGenerator[None]:
        """Lock a directory against other tasks, on any event loop."""
        async with self._locks.setdefault(normalize_path(path), CrossLoopLock()):
            yield

    def _info(self, name: str) -> FileInfo:
        return self._files[name][1] if name in self._files else FileInfo(name, is_dir=True)

    def _get(self, path: str) -> tuple[str, FileInfo]:
        try:
            return self._files[normalize_path(path)]
        except KeyError:
            raise FileNotFoundError(f"There is no file `{path}`.") from None

    def _writable(self, path: str) -> str:
        """Return the normalized path; refuse a name that would be both a file and a directory."""
        name = normalize_file_path(path)
        if name in self._entries:
            raise IsADirectoryError(f"`{path}` is a directory.")
        if any(above in self._files for above in _with_parents(_parent(name))):
            raise NotADirectoryError(f"`{path}` is below a file.")
        return name


def _parent(name: str) -> str:
    return name.rpartition("/")[0]


def _with_parents(name: str) -> Iterator[str]:
    """Yield a path and its parent directories, the innermost first."""
    while name:
        yield name
        name = _parent(name)
