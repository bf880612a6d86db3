"""Files in memory: for tests, and for runs whose content need not outlive the process."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from taskloom.files.lines import slice_lines
from taskloom.files.protocol import FileInfo


class MemoryFiles:
    """A backend without a disk. One object is one storage; use it from one event loop."""

    def __init__(self) -> None:
        """Begin empty."""
        self._files: dict[str, tuple[str, FileInfo]] = {}
        self._locks: dict[str, anyio.Lock] = {}
        self._changes = 0

    async def ls_info(self, path: str) -> list[FileInfo]:
        """List a directory."""
        name = _clean(path)
        if name in self._files:
            return [self._files[name][1]]
        prefix = f"{name}/" if name else ""
        found: dict[str, FileInfo] = {}
        for key, (_, info) in self._files.items():
            if not key.startswith(prefix):
                continue
            first, slash, _ = key[len(prefix) :].partition("/")
            if slash:
                found.setdefault(prefix + first, FileInfo(prefix + first, is_dir=True))
            else:
                found[key] = info
        return [found[key] for key in sorted(found)]

    async def read(self, path: str, offset: int = 0, limit: int | None = None) -> str:
        """Return a file's text or a slice of its lines."""
        return slice_lines(self._get(path)[0], offset, limit)

    async def write(self, path: str, content: str) -> None:
        """Make or replace a file."""
        name = _clean(path)
        if not name:
            raise IsADirectoryError(f"`{path}` names no file.")
        self._changes += 1
        size = len(content.encode("utf-8", "surrogatepass"))
        info = FileInfo(name, False, size, time.time(), str(self._changes))
        self._files[name] = (content, info)

    async def create(self, path: str, content: str) -> None:
        """Make a file that must not exist yet."""
        if _clean(path) in self._files:
            raise FileExistsError(f"`{path}` exists already.")
        await self.write(path, content)

    async def delete(self, path: str) -> None:
        """Remove a file."""
        self._get(path)
        del self._files[_clean(path)]

    @asynccontextmanager
    async def lock(self, path: str) -> AsyncGenerator[None]:
        """Hold a directory against other tasks of this loop."""
        async with self._locks.setdefault(_clean(path), anyio.Lock()):
            yield

    def _get(self, path: str) -> tuple[str, FileInfo]:
        try:
            return self._files[_clean(path)]
        except KeyError:
            raise FileNotFoundError(f"There is no file `{path}`.") from None


def _clean(path: str) -> str:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise PermissionError(f"`{path}` leads out of the storage with `..`.")
    return "/".join(parts)
