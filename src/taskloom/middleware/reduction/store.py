"""The saved results: safe file names, and files that are never overwritten.

A model may repeat a call id, two runs may share a directory, and a call id may be an attack. So
a name has harmless characters only, a file is created and never replaced, and content whose name
is taken is saved under that name with a digest added. The same content under the same name is
the same file: a resumed run finds what it saved before.
"""

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Final

from taskloom.files import Backend, SupportsCreate, SupportsLock

NAME_MAX: Final = 100
"""With the digest added it is still far below the 255 bytes of a file name."""

_SAFE: Final = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.-]{{0,{NAME_MAX - 1}}}", re.ASCII)
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]+", re.ASCII)


def safe_name(call_id: str) -> str:
    """Return a file name for a call id; different ids have different names."""
    if _SAFE.fullmatch(call_id) and not call_id.endswith("."):
        return call_id
    kept = _UNSAFE.sub("_", call_id)[:40].strip("_-")
    return f"{kept or 'call'}-{_digest(call_id)}"


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def path_parts(path: str) -> tuple[str, ...] | None:
    """Return the parts of a path, or None if it contains `..`."""
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    return None if ".." in parts else parts


class ResultStore:
    """The saved results of one reduction, in one backend or several."""

    def __init__(self, root_dir: str, backends: Sequence[Backend]) -> None:
        """Access no backend yet."""
        self.root_dir = root_dir.rstrip("/") or "/"
        self._root = path_parts(root_dir) or ()
        self._backends = tuple(backends)
        self._outside_root: set[tuple[str, ...]] = set()
        self._pending: dict[tuple[int, str], str] = {}

    @property
    def backends(self) -> tuple[Backend, ...]:
        """Every backend that may have results."""
        return self._backends

    def path(self, phase: str, call_id: str) -> str:
        """Return the path of a call's result, used unless it is taken."""
        return f"{self.root_dir.rstrip('/')}/{phase}/{safe_name(call_id)}"

    async def save(self, backend: Backend, path: str, content: str) -> str:
        """Save content to a path, or to a similar one if that is taken; return the actual path.

        Raises:
            Exception: the backend failed.
        """
        if path_parts(path) in (None, ()):
            raise ValueError(f"`{path}` is not a valid file path.")
        # The digest takes a pass over the content and is needed only if the first name is taken.
        if await self._put(backend, path, content):
            return self._record(path)
        alternative = f"{path}-{_digest(content)}"
        for name in (alternative, *(f"{alternative}-{number}" for number in range(2, 10))):
            if await self._put(backend, name, content):
                return self._record(name)
        raise FileExistsError(f"All alternative names of `{path}` are taken.")

    async def _put(self, backend: Backend, path: str, content: str) -> bool:
        """Write the file unless another content has its name; return whether it is there."""
        key = (id(backend), path)
        if self._pending.get(key, content) != content or await self._is_in_another_backend(
            backend, path
        ):
            return False
        self._pending[key] = content
        try:
            if isinstance(backend, SupportsCreate):
                return await _create(backend, path, content)
            async with _locked(backend, path.rpartition("/")[0]):
                return await _write_if_free(backend, path, content)
        finally:
            self._pending.pop(key, None)

    async def _is_in_another_backend(self, backend: Backend, path: str) -> bool:
        """Return whether another backend has the path, which would make reading ambiguous."""
        for other in self._backends:
            if other is not backend and await other.ls_info(path):
                return True
        return False

    def _record(self, path: str) -> str:
        parts = path_parts(path) or ()
        if not self._is_inside(parts):
            self._outside_root.add(parts)
        return path

    def _is_inside(self, parts: tuple[str, ...]) -> bool:
        depth = len(self._root)
        return len(parts) > depth and parts[:depth] == self._root

    def is_saved(self, path: str) -> bool:
        """Return whether results are saved to a path; the read tool accepts no other path."""
        parts = path_parts(path)
        return parts is not None and (self._is_inside(parts) or parts in self._outside_root)

    async def read(self, path: str, offset: int = 0, limit: int | None = None) -> str:
        """Return a saved result, or a slice of its lines.

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
    assert isinstance(backend, SupportsCreate)
    try:
        await backend.create(path, content)
    except FileExistsError:
        return await backend.read(path) == content
    return True


async def _write_if_free(backend: Backend, path: str, content: str) -> bool:
    try:
        existing = await backend.read(path)
    except FileNotFoundError:
        await backend.write(path, content)
        return True
    return existing == content


@asynccontextmanager
async def _locked(backend: Backend, folder: str) -> AsyncGenerator[None]:
    if isinstance(backend, SupportsLock):
        async with backend.lock(folder):
            yield
    else:
        yield
