"""Where results are saved: names that are safe, and files that are never overwritten.

A model may repeat a call id, two runs may share a directory, and a call id may be an attack.
So a name is made of harmless characters only, a file is made and never replaced, and content
that comes under a name already taken goes under that name with a digest of its own. The same
content under the same name is the same file: a resumed run finds what it saved before.
"""

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Final

from taskloom.files import Backend, Creating, Locking

NAME_MAX: Final = 100
"""With the digest behind it still far below the 255 bytes of a file name."""

_SAFE: Final = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.-]{{0,{NAME_MAX - 1}}}", re.ASCII)
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]+", re.ASCII)


def safe_name(call_id: str) -> str:
    """Return a file name for a call id; no two ids that are not the same have the same."""
    if _SAFE.fullmatch(call_id) and not call_id.endswith("."):
        return call_id
    kept = _UNSAFE.sub("_", call_id)[:40].strip("_-")
    return f"{kept or 'call'}-{_digest(call_id)}"


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def plain_path(path: str) -> tuple[str, ...] | None:
    """Return the parts of a path, or None if it leads upwards."""
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    return None if ".." in parts else parts


class Store:
    """The saved content of one reduction, in one backend or several."""

    def __init__(self, root_dir: str, backends: Sequence[Backend]) -> None:
        """Touch nothing yet."""
        self.root_dir = root_dir.rstrip("/") or "/"
        self._root = plain_path(root_dir) or ()
        self._backends = tuple(backends)
        self._elsewhere: set[tuple[str, ...]] = set()
        self._pending: dict[tuple[int, str], str] = {}

    @property
    def backends(self) -> tuple[Backend, ...]:
        """Every backend that content may be in."""
        return self._backends

    def path(self, phase: str, call_id: str) -> str:
        """Return where the result of a call is saved, unless the name is taken."""
        return f"{self.root_dir.rstrip('/')}/{phase}/{safe_name(call_id)}"

    async def save(self, backend: Backend, path: str, content: str) -> str:
        """Save content under a path, or near it if that is taken; return where it is.

        Raises:
            Exception: whatever the backend raises; then nothing was promised.
        """
        if plain_path(path) in (None, ()):
            raise ValueError(f"`{path}` cannot be a file of the storage.")
        # The digest is needed only where the first name is taken, and costs a pass.
        if await self._put(backend, path, content):
            return self._remember(path)
        near = f"{path}-{_digest(content)}"
        for name in (near, *(f"{near}-{number}" for number in range(2, 10))):
            if await self._put(backend, name, content):
                return self._remember(name)
        raise FileExistsError(f"All names near `{path}` hold something else.")

    async def _put(self, backend: Backend, path: str, content: str) -> bool:
        """Write the file, unless something else has the name; tell whether it is there."""
        key = (id(backend), path)
        if self._pending.get(key, content) != content or await self._elsewhere_too(backend, path):
            return False
        self._pending[key] = content
        try:
            if isinstance(backend, Creating):
                return await _create(backend, path, content)
            async with _held(backend, path.rpartition("/")[0]):
                return await _write_if_free(backend, path, content)
        finally:
            self._pending.pop(key, None)

    async def _elsewhere_too(self, backend: Backend, path: str) -> bool:
        """Tell whether another backend has that path, so that a reader could not choose."""
        for other in self._backends:
            if other is not backend and await other.ls_info(path):
                return True
        return False

    def _remember(self, path: str) -> str:
        parts = plain_path(path) or ()
        if not self._is_inside(parts):
            self._elsewhere.add(parts)
        return path

    def _is_inside(self, parts: tuple[str, ...]) -> bool:
        depth = len(self._root)
        return len(parts) > depth and parts[:depth] == self._root

    def is_saved(self, path: str) -> bool:
        """Tell whether a path is one that content is saved to: nothing else may be read."""
        parts = plain_path(path)
        return parts is not None and (self._is_inside(parts) or parts in self._elsewhere)

    async def read(self, path: str, offset: int = 0, limit: int | None = None) -> str:
        """Return saved content, or a slice of its lines.

        Raises:
            FileNotFoundError: no backend has it.
        """
        for backend in self._backends:
            try:
                return await backend.read(path, offset, limit)
            except FileNotFoundError:
                continue
        raise FileNotFoundError(path)


async def _create(backend: Backend, path: str, content: str) -> bool:
    assert isinstance(backend, Creating)
    try:
        await backend.create(path, content)
    except FileExistsError:
        return await backend.read(path) == content
    return True


async def _write_if_free(backend: Backend, path: str, content: str) -> bool:
    try:
        there = await backend.read(path)
    except FileNotFoundError:
        await backend.write(path, content)
        return True
    return there == content


@asynccontextmanager
async def _held(backend: Backend, folder: str) -> AsyncGenerator[None]:
    if isinstance(backend, Locking):
        async with backend.lock(folder):
            yield
    else:
        yield
