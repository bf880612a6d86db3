"""The files of one task list in a backend: where they are, and how they are read and written."""

import re
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Final

import anyio
from msgspec import Struct

from taskloom.files import Backend, Creating, FileInfo, Gathering, Locking, Versioning
from taskloom.middleware.plan.change_marker import MARKER
from taskloom.middleware.plan.item import id_of

_HIGHEST: Final = ".highwatermark"
_NUMBER: Final = re.compile(r"\s*([0-9]{1,18})(?![0-9])")
_AT_ONCE: Final = 16
"""Files that are read side by side; object stores answer slowly, but many at once."""


class Unreadable(Struct, frozen=True):
    """A task's file that is there and cannot be read."""

    reason: str


class TaskFiles:
    """One directory of a backend."""

    def __init__(self, backend: Backend, base_dir: str) -> None:
        """Name the directory."""
        self.backend = backend
        self.directory = base_dir.rstrip("/") or "/"
        self._prefix = base_dir.rstrip("/") + "/"

    @asynccontextmanager
    async def lock(self) -> AsyncGenerator[None]:
        """Keep other processes out, if the backend can."""
        if isinstance(self.backend, Locking):
            async with self.backend.lock(self.directory):
                yield
        else:
            yield

    async def listed(self) -> dict[str, FileInfo]:
        """Return the task files by id; files of other names are left alone."""
        found = await self.backend.ls_info(self.directory)
        ids = {id_of(info.path): info for info in found if not info.is_dir}
        ids.pop("", None)
        return ids

    @property
    def tells_versions(self) -> bool:
        """Whether the backend tells cheaply that something may have changed."""
        return isinstance(self.backend, Versioning)

    async def directory_version(self) -> str:
        """Return what changes with the entries of the directory; "" if that is not known."""
        if isinstance(self.backend, Versioning):
            return await self.backend.version(self.directory)
        return ""

    async def version(self, id_: str) -> str:
        """Return what changes with a task's file; "" if that is not known."""
        if isinstance(self.backend, Versioning):
            return await self.backend.version(self._task(id_))
        return ""

    async def read_all(self, ids: Iterable[str]) -> dict[str, str | Unreadable | None]:
        """Return what the task files hold, None where there is none."""
        ids = list(ids)
        if isinstance(self.backend, Gathering):
            texts = await self.backend.read_all([self._task(id_) for id_ in ids])
            return {id_: _content(texts[self._task(id_)]) for id_ in ids}
        found: dict[str, str | Unreadable | None] = {}
        waiting = iter(ids)

        async def work() -> None:
            for id_ in waiting:
                found[id_] = await self._read(id_)

        async with anyio.create_task_group() as group:
            for _ in range(_AT_ONCE):
                group.start_soon(work)
        return found

    async def _read(self, id_: str) -> str | Unreadable | None:
        try:
            return await self.backend.read(self._task(id_))
        except (OSError, ValueError) as error:
            return _content(error)

    async def put(self, id_: str, text: str | None) -> None:
        """Let a task's file hold a text, or not be there."""
        if text is not None:
            await self.backend.write(self._task(id_), text)
            return
        try:
            await self.backend.delete(self._task(id_))
        except FileNotFoundError:
            return

    async def create(self, id_: str, text: str) -> None:
        """Make a task's file.

        Raises:
            FileExistsError: somebody else made it meanwhile.
        """
        if isinstance(self.backend, Creating):
            await self.backend.create(self._task(id_), text)
        else:
            await self.backend.write(self._task(id_), text)

    async def marker(self) -> str:
        """Return the content of the marker; "" if there is none."""
        return await self._optional(MARKER)

    async def put_marker(self, text: str) -> None:
        """Write the marker."""
        await self.backend.write(self._prefix + MARKER, text)

    async def highest(self) -> int:
        """Return the highest id ever given, as far as its file tells."""
        found = _NUMBER.match(await self._optional(_HIGHEST))
        return int(found[1]) if found else 0

    async def put_highest(self, number: int) -> None:
        """Write the highest id ever given."""
        await self.backend.write(self._prefix + _HIGHEST, str(number))

    def _task(self, id_: str) -> str:
        return f"{self._prefix}{id_}.json"

    async def _optional(self, name: str) -> str:
        try:
            return await self.backend.read(self._prefix + name)
        except FileNotFoundError:
            return ""


def _content(found: str | Exception) -> str | Unreadable | None:
    if isinstance(found, FileNotFoundError):
        return None
    return Unreadable(str(found).rstrip(".")) if isinstance(found, Exception) else found
