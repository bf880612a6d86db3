"""A task list between its files and its callers: remembered, checked, changed whole or not at all.

A turn holds the list against everybody else, brings the memory up to date and gives it out. What
is remembered is right as long as the marker is the one that was seen: our own changes, in this
process or another, always write a new one. For programs that write without it, the directory's
version tells of added, removed and replaced files, and each call looks at the files it touches.
"""

import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final
from weakref import WeakValueDictionary

from anyio import CancelScope

from taskloom.files import Backend
from taskloom.files.cross_loop_lock import CrossLoopLock
from taskloom.middleware.plan.change_marker import ChangeMarker, decode, encode
from taskloom.middleware.plan.item import PlanItem, is_id, order, to_line
from taskloom.middleware.plan.task_cache import TaskCache
from taskloom.middleware.plan.task_files import TaskFiles
from taskloom.middleware.plan.tasks import Change, Tasks, mended

_TRIES: Final = 100
"""How often others may take the next id before we do; a storage that always says so is broken."""


class PlanStore:
    """One task list. Get it from `store_for`, so that all who use it share it."""

    def __init__(self, backend: Backend, base_dir: str) -> None:
        """Nothing is read yet."""
        self.revision = 0
        """Grows with every change made here."""
        self._shelf = TaskFiles(backend, base_dir)
        self._recall = TaskCache(self._shelf)
        self._gate = CrossLoopLock()
        self._marker = ChangeMarker()
        self._seen: str | None = None
        """The marker's text when the memory was right; None when it may be wrong."""
        self._directory = ""

    @property
    def tasks(self) -> Tasks:
        """The tasks as they were at the last turn."""
        return self._recall.tasks

    @asynccontextmanager
    async def turn(self, *touching: str, everything: bool = False) -> AsyncGenerator[Tasks]:
        """Hold the list, up to date.

        Args:
            touching: ids whose files are looked at even if nothing tells of a change.
            everything: look at all files, as for a caller who shows them all.

        Raises:
            OSError: the storage failed.
        """
        async with self._gate, self._shelf.lock():
            await self._refresh(everything=everything)
            await self.look_at(*touching)
            yield self.tasks

    async def look_at(self, *ids: str) -> None:
        """Look at the files of these tasks, even if nothing tells of a change; within a turn."""
        await self._recall.check(ids)
        await self._mend()

    async def survey(self) -> None:
        """Look at all files after all; only within a turn."""
        await self._recall.load()
        await self._mend()

    async def add(self, make: Callable[[str], PlanItem]) -> PlanItem:
        """Give the next id to a task and keep it; only within a turn.

        Raises:
            OSError: the storage failed, and there is no such task.
        """
        to_line(make("0"))  # What cannot be written is refused before an id is spent on it.
        for _ in range(_TRIES):
            number = self._recall.highest + 1
            if not is_id(str(number)):
                raise OSError(f"There is no id after {number - 1}; begin a list elsewhere.")
            item = make(str(number))
            try:
                with CancelScope(shield=True):
                    await self._create(item, number)
            except FileExistsError:
                # Somebody who does not know our lock was quicker; theirs stays.
                await self._recall.load()
            else:
                return item
        raise OSError("Every new id was taken by somebody else; try again.")

    async def commit(self, change: Change) -> None:
        """Carry out a change, whole or not at all; only within a turn.

        Raises:
            OSError: the storage failed. What was written has been taken back, or will be before
                anybody sees it.
        """
        if not change.puts and not change.removed:
            return
        new: dict[str, str | None] = {id_: to_line(item) for id_, item in change.puts.items()}
        new.update(dict.fromkeys(sorted(change.removed, key=order)))
        old = {id_: self._recall.text(id_) for id_ in new if self._recall.can_restore(id_)}
        with CancelScope(shield=True):
            await self._change(old, new)
            with suppress(OSError):  # It is done, whatever a last look says; who comes next reads.
                for id_, text in new.items():
                    await self._recall.wrote(id_, text, change.puts.get(id_))
                await self._settle()

    # Reading.

    async def _refresh(self, *, everything: bool) -> None:
        text = await self._shelf.marker()
        if decode(text).undo:
            text = await self._take_back(decode(text))
        directory = await self._shelf.directory_version()
        if text == self._seen:
            everything = everything or directory != self._directory
        else:
            marker = decode(text)
            touched = None if self._seen is None else marker.since(self._marker.token)
            self._seen = None
            self._recall.highest = max(self._recall.highest, marker.highest)
            if touched is None:
                await self._recall.load(anew=True)
            else:
                await self._recall.read(touched)
            self._marker = marker
            self.revision += 1
        if everything:
            await self._recall.load()
        self._seen, self._directory = text, directory

    async def _mend(self) -> None:
        """Write both sides of edges that another program wrote on one side only."""
        fresh = self._recall.fresh
        if not fresh:
            return
        self._recall.fresh = set()
        self.revision += 1
        change = Change(mended(self.tasks, fresh))
        with suppress(OSError):
            await self.commit(change)
        for item in change.puts.values():
            self.tasks.put(item)  # Where it cannot be written, it is at least understood.

    # Writing.

    async def _create(self, item: PlanItem, number: int) -> None:
        line = to_line(item)
        self._recall.highest = number
        self._seen = None
        self._marker = self._marker.next(number, (item.id,))
        await self._shelf.put_marker(encode(self._marker))
        await self._shelf.put_highest(number)
        try:
            await self._shelf.create(item.id, line)
        except FileExistsError:
            raise  # It is not ours to take back.
        except Exception:
            with suppress(OSError):
                await self._shelf.put(item.id, None)
            raise
        with suppress(OSError):  # As in `commit`.
            await self._recall.wrote(item.id, line, item)
            await self._settle()

    async def _change(self, old: dict[str, str | None], new: dict[str, str | None]) -> None:
        """Write the files; on failure put back what they were."""
        several = len(new) > 1
        marker = self._marker.next(self._recall.highest, tuple(new), old if several else None)
        self._seen = None
        try:
            await self._shelf.put_marker(encode(marker))
            for id_, text in new.items():
                await self._shelf.put(id_, text)
            if several:
                marker = marker.settled()
                await self._shelf.put_marker(encode(marker))
        except Exception:
            with suppress(OSError):
                # The way back is written down anew: what failed may have been the last step, and
                # may have happened all the same.
                back = marker.next(self._recall.highest, tuple(new), old)
                await self._shelf.put_marker(encode(back))
                await self._take_back(back)
            raise
        self._marker = marker

    async def _take_back(self, marker: ChangeMarker) -> str:
        """Put back what the files of an unfinished change were, and say so in the marker."""
        for id_, text in marker.undo.items():
            if is_id(id_):
                await self._shelf.put(id_, text)
        text = encode(marker.next(self._recall.highest, tuple(marker.undo)))
        await self._shelf.put_marker(text)
        return text

    async def _settle(self) -> None:
        """Remember that the memory is right as of now."""
        self._seen = encode(self._marker)
        self._directory = await self._shelf.directory_version()
        self.revision += 1


_stores: Final[WeakValueDictionary[tuple[int, str], PlanStore]] = WeakValueDictionary()
_stores_mutex: Final = threading.Lock()


def store_for(backend: Backend, base_dir: str) -> PlanStore:
    """Return the one store of a list in this process, however many middlewares use it."""
    # A store keeps its backend, so the id stays its own.
    key = id(backend), _plain(base_dir)
    with _stores_mutex:
        found = _stores.get(key)
        if found is None:
            found = _stores[key] = PlanStore(backend, base_dir)
        return found


def _plain(base_dir: str) -> str:
    """Return a directory in one spelling; whether it is absolute is the backend's affair."""
    parts = [part for part in base_dir.split("/") if part not in ("", ".")]
    return "/" * base_dir.startswith("/") + "/".join(parts)
