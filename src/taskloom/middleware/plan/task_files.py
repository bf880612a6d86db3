"""The files of one task list: read, cached, written.

The cache avoids reading a whole list for every call. The store decides when it is stale.
"""

import re
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from typing import Final

import anyio
from msgspec import Struct

from taskloom.files import (
    Backend,
    CrossLoopLock,
    FileInfo,
    SupportsCreate,
    SupportsLock,
    SupportsVersions,
)
from taskloom.middleware.plan.change_marker import MARKER
from taskloom.middleware.plan.item import PlanItem, decode_item, id_of_path, id_order, is_id
from taskloom.middleware.plan.tasks import Tasks

_HIGHEST_ID: Final = ".highwatermark"
_NUMBER: Final = re.compile(r"\s*([0-9]{1,18})(?![0-9])")
_CONCURRENT_READS: Final = 16
"""An object store answers slowly, but it answers many requests at once."""


class _CachedFile(Struct, frozen=True):
    """The version and content of a task file at the last access; no text if it was unreadable."""

    version: str
    text: str | None


class _Unreadable(Struct, frozen=True):
    reason: str


class TaskFiles:
    """One directory of a backend, and its tasks as of the last read or write."""

    def __init__(self, backend: Backend, base_dir: str) -> None:
        """Read nothing yet."""
        self.tasks = Tasks()
        self.highest_id = 0
        self.unchecked: set[str] = set()
        """Ids that were read or removed, and whose edges have not been checked since."""
        self._backend = backend
        self._directory = base_dir.rstrip("/") or "/"
        self._prefix = base_dir.rstrip("/") + "/"
        self._cached: dict[str, _CachedFile] = {}
        self._lock = CrossLoopLock()

    def lock(self) -> AbstractAsyncContextManager[None]:
        """Return the backend's lock on the directory, or else one for this process alone."""
        if isinstance(self._backend, SupportsLock):
            return self._backend.lock(self._directory)
        return self._lock

    # Reading.

    async def load(self, *, reread: bool = False) -> None:
        """List the directory and read new and changed files; with `reread`, every file."""
        listed = await self._list()
        self.highest_id = max([self.highest_id, await self._read_highest(), *map(int, listed)])
        for id_ in [id_ for id_ in self._cached if id_ not in listed]:
            self._remove(id_)
        versions = {id_: listed[id_].version for id_ in sorted(listed, key=id_order)}
        await self._read(
            {
                id_: version
                for id_, version in versions.items()
                if reread or self._cached_version(id_) != version
            }
        )

    async def recheck(self, ids: Iterable[str]) -> None:
        """Read those of these files again whose version has changed."""
        if not isinstance(self._backend, SupportsVersions):
            return
        versions = await self._versions(ids)
        await self._read(
            {
                id_: version
                for id_, version in versions.items()
                if (self._cached_version(id_) or "") != version  # "" is a missing file.
            }
        )

    async def reread(self, ids: Iterable[str]) -> None:
        """Read these files again."""
        # Versions before contents: a file that changes in between is read once more later.
        await self._read(await self._versions(ids))

    async def directory_version(self) -> str:
        """Return a text that changes with the directory's entries; "" if the backend has none."""
        if isinstance(self._backend, SupportsVersions):
            return await self._backend.version(self._directory)
        return ""

    async def read_marker(self) -> str:
        """Return the content of the change marker; "" if there is none."""
        return await self._read_optional(MARKER)

    def cached_texts(self, ids: Iterable[str]) -> dict[str, str | None]:
        """Return what these files held, None for a missing file; unreadable ones are left out."""
        texts: dict[str, str | None] = {}
        for id_ in ids:
            cached = self._cached.get(id_)
            if cached is None or cached.text is not None:
                texts[id_] = cached.text if cached else None
        return texts

    # Writing.

    async def write(self, id_: str, text: str | None) -> None:
        """Write a task file, or delete it if there is no text."""
        if text is not None:
            await self._backend.write(self._path(id_), text)
            return
        try:
            await self._backend.delete(self._path(id_))
        except FileNotFoundError:
            return

    async def create(self, id_: str, text: str) -> None:
        """Create a task file.

        Raises:
            FileExistsError: another program created it first.
        """
        if isinstance(self._backend, SupportsCreate):
            await self._backend.create(self._path(id_), text)
        else:
            await self._backend.write(self._path(id_), text)

    async def cache(self, id_: str, text: str | None, item: PlanItem | None) -> None:
        """Update the cache after a write."""
        if text is None or item is None:
            self._remove(id_)
            return
        self._cached[id_] = _CachedFile(await self._version(id_), text)
        self.tasks.put(item)

    async def write_marker(self, text: str) -> None:
        """Write the change marker."""
        await self._backend.write(self._prefix + MARKER, text)

    async def write_highest(self, number: int) -> None:
        """Write the highest id ever assigned."""
        await self._backend.write(self._prefix + _HIGHEST_ID, str(number))

    # Helpers of reading.

    def _path(self, id_: str) -> str:
        return f"{self._prefix}{id_}.json"

    async def _list(self) -> dict[str, FileInfo]:
        """Return the task files by id; files with other names are ignored."""
        infos = await self._backend.ls_info(self._directory)
        by_id = {id_of_path(info.path): info for info in infos if not info.is_dir}
        by_id.pop("", None)
        return by_id

    async def _version(self, id_: str) -> str:
        if isinstance(self._backend, SupportsVersions):
            return await self._backend.version(self._path(id_))
        return ""

    async def _versions(self, ids: Iterable[str]) -> dict[str, str]:
        return {id_: await self._version(id_) for id_ in ids if is_id(id_)}

    def _cached_version(self, id_: str) -> str | None:
        cached = self._cached.get(id_)
        return cached.version if cached else None

    async def _read(self, versions: dict[str, str]) -> None:
        """Read the files of these ids into the cache."""
        if not versions:
            return
        contents: dict[str, str | _Unreadable | None] = {}
        ids = iter(versions)

        async def work() -> None:
            for id_ in ids:
                contents[id_] = await self._content(id_)

        async with anyio.create_task_group() as group:
            for _ in range(min(_CONCURRENT_READS, len(versions))):
                group.start_soon(work)
        for id_, version in versions.items():
            self._put(id_, contents[id_], version)
        self.unchecked.update(versions)

    async def _content(self, id_: str) -> str | _Unreadable | None:
        try:
            return await self._backend.read(self._path(id_))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            return _Unreadable(str(error).rstrip("."))

    def _put(self, id_: str, content: str | _Unreadable | None, version: str) -> None:
        if content is None:
            self._remove(id_)
        elif isinstance(content, _Unreadable):
            self._cached[id_] = _CachedFile(version, None)
            self.tasks.put_unreadable(id_, content.reason)
        else:
            self._cached[id_] = _CachedFile(version, content)
            try:
                self.tasks.put(decode_item(content, id_))
            except ValueError as error:
                self.tasks.put_unreadable(id_, str(error))

    def _remove(self, id_: str) -> None:
        removed = self.tasks.items.get(id_)
        if removed is not None:
            # Its neighbours still refer to it.
            self.unchecked.update((*removed.blocks, *removed.blocked_by))
        self.tasks.remove(id_)
        self._cached.pop(id_, None)

    async def _read_highest(self) -> int:
        found = _NUMBER.match(await self._read_optional(_HIGHEST_ID))
        return int(found[1]) if found else 0

    async def _read_optional(self, name: str) -> str:
        try:
            return await self._backend.read(self._prefix + name)
        except FileNotFoundError:
            return ""
