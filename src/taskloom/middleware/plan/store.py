"""One task list for all its users in a process: locked, up to date, changed atomically.

The cache is valid while the change marker is the one seen last, because every change made by
Taskloom, in any process, writes a new marker first. For programs that do not write a marker, the
directory's version shows added, removed and replaced files, and each call checks the versions of
the files it touches.
"""

import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final
from weakref import WeakValueDictionary

from anyio import CancelScope

from taskloom.files import Backend
from taskloom.middleware.plan.change_marker import ChangeMarker, decode_marker, encode_marker
from taskloom.middleware.plan.item import PlanItem, encode_item, id_order, is_id
from taskloom.middleware.plan.task_files import TaskFiles
from taskloom.middleware.plan.tasks import Change, Tasks, repair_edges

_CREATE_ATTEMPTS: Final = 100
"""A backend that reports every new id as taken is broken."""


class PlanStore:
    """One task list. Get it from `store_for`, so that all its users share the cache."""

    def __init__(self, backend: Backend, base_dir: str) -> None:
        """Read nothing yet."""
        self.revision = 0
        """Grows with every change that this process makes or notices."""
        self._files = TaskFiles(backend, base_dir)
        self._marker = ChangeMarker()
        self._marker_text: str | None = None
        """The marker that the cache agrees with; None if the cache may be stale."""
        self._directory_version = ""

    @property
    def tasks(self) -> Tasks:
        """The tasks as of the last access."""
        return self._files.tasks

    @asynccontextmanager
    async def locked(self, *ids: str, check_all: bool = False) -> AsyncGenerator[Tasks]:
        """Hold the lock on the list and give its tasks, up to date.

        Args:
            ids: tasks whose files are checked although neither marker nor directory changed.
            check_all: check every file.

        Raises:
            OSError: the storage failed.
        """
        async with self._files.lock():
            await self._refresh(check_all=check_all)
            await self.recheck(*ids)
            yield self.tasks

    async def recheck(self, *ids: str) -> None:
        """Read those of these tasks again whose files have changed; requires the lock."""
        await self._files.recheck(ids)
        await self._repair_edges()

    async def recheck_all(self) -> None:
        """Read all tasks again whose files have changed; requires the lock."""
        await self._files.load()
        await self._repair_edges()

    async def add(self, make: Callable[[str], PlanItem]) -> PlanItem:
        """Create a task with the next id; requires the lock.

        Raises:
            OSError: the storage failed, and the task does not exist.
        """
        encode_item(make("0"))  # Raises before an id is used up.
        for _ in range(_CREATE_ATTEMPTS):
            number = self._files.highest_id + 1
            if not is_id(str(number)):
                raise OSError(f"No id is left after {number - 1}; use another base_dir.")
            item = make(str(number))
            try:
                with CancelScope(shield=True):
                    await self._create(item, number)
            except FileExistsError:
                # A program without our lock created this file first, and keeps it.
                await self._files.load()
            else:
                return item
        raise OSError("Other programs took every new id; try again.")

    async def commit(self, change: Change) -> None:
        """Write a change, all of it or nothing; requires the lock.

        Raises:
            OSError: the storage failed. The change is rolled back now, or at the next access
                before the list is read.
        """
        if not change.puts and not change.removed:
            return
        new: dict[str, str | None] = {id_: encode_item(item) for id_, item in change.puts.items()}
        new.update(dict.fromkeys(sorted(change.removed, key=id_order)))
        old = self._files.cached_texts(new)
        with CancelScope(shield=True):
            await self._write(old, new)
            with suppress(OSError):  # The change is written; the next access refreshes the cache.
                for id_, text in new.items():
                    await self._files.cache(id_, text, change.puts.get(id_))
                await self._mark_fresh()

    async def _refresh(self, *, check_all: bool) -> None:
        text = await self._files.read_marker()
        marker = decode_marker(text)
        if marker.undo:
            text = await self._roll_back(marker)
        directory_version = await self._files.directory_version()
        if text == self._marker_text:
            check_all = check_all or directory_version != self._directory_version
        else:
            marker = decode_marker(text)
            cache_is_known = self._marker_text is not None
            touched = marker.touched_since(self._marker.token) if cache_is_known else None
            self._marker_text = None
            self._files.highest_id = max(self._files.highest_id, marker.highest)
            if touched is None:
                await self._files.load(reread=True)
            else:
                await self._files.reread(touched)
            self._marker = marker
            self.revision += 1
        if check_all:
            await self._files.load()
        self._marker_text, self._directory_version = text, directory_version

    async def _repair_edges(self) -> None:
        """Complete edges that another program wrote on one side only."""
        unchecked = self._files.unchecked
        if not unchecked:
            return
        self._files.unchecked = set()
        self.revision += 1
        change = Change(repair_edges(self.tasks, unchecked))
        with suppress(OSError):
            await self.commit(change)
        for item in change.puts.values():
            self.tasks.put(item)  # In a read-only list the repair is in memory alone.

    async def _create(self, item: PlanItem, number: int) -> None:
        text = encode_item(item)
        self._files.highest_id = number
        self._marker_text = None
        self._marker = self._marker.next(number, (item.id,))
        await self._files.write_marker(encode_marker(self._marker))
        await self._files.write_highest(number)
        try:
            await self._files.create(item.id, text)
        except FileExistsError:
            raise  # The file belongs to another program and must not be deleted.
        except Exception:
            with suppress(OSError):
                await self._files.write(item.id, None)
            raise
        with suppress(OSError):  # As in `commit`.
            await self._files.cache(item.id, text, item)
            await self._mark_fresh()

    async def _write(self, old: dict[str, str | None], new: dict[str, str | None]) -> None:
        """Write the files; on failure restore their previous contents."""
        several = len(new) > 1
        marker = self._marker.next(self._files.highest_id, tuple(new), old if several else None)
        self._marker_text = None
        try:
            await self._files.write_marker(encode_marker(marker))
            for id_, text in new.items():
                await self._files.write(id_, text)
            if several:
                marker = marker.committed()
                await self._files.write_marker(encode_marker(marker))
        except Exception:
            with suppress(OSError):
                # The undo data is written once more: the write that failed may have been the
                # last one, and may have removed it all the same.
                undo = marker.next(self._files.highest_id, tuple(new), old)
                await self._files.write_marker(encode_marker(undo))
                await self._roll_back(undo)
            raise
        self._marker = marker

    async def _roll_back(self, marker: ChangeMarker) -> str:
        """Restore the files of an unfinished change; return the text of the new marker."""
        for id_, text in marker.undo.items():
            if is_id(id_):
                await self._files.write(id_, text)
        text = encode_marker(marker.next(self._files.highest_id, tuple(marker.undo)))
        await self._files.write_marker(text)
        return text

    async def _mark_fresh(self) -> None:
        """Record that the cache agrees with the files."""
        self._marker_text = encode_marker(self._marker)
        self._directory_version = await self._files.directory_version()
        self.revision += 1


_stores: Final[WeakValueDictionary[tuple[int, str], PlanStore]] = WeakValueDictionary()
_stores_mutex: Final = threading.Lock()


def store_for(backend: Backend, base_dir: str) -> PlanStore:
    """Return this process's store of a list, the same one for every middleware."""
    # A store holds a reference to its backend, so the id is not reused while the store exists.
    key = id(backend), _normalized(base_dir)
    with _stores_mutex:
        store = _stores.get(key)
        if store is None:
            store = _stores[key] = PlanStore(backend, base_dir)
        return store


def _normalized(base_dir: str) -> str:
    """Return a directory in one spelling; the backend decides what an absolute path means."""
    parts = [part for part in base_dir.split("/") if part not in ("", ".")]
    return "/" * base_dir.startswith("/") + "/".join(parts)
