"""What is remembered of a task list's files, and how that is brought up to date."""

from collections.abc import Iterable

from msgspec import Struct

from taskloom.middleware.plan.item import PlanItem, from_line, is_id, order
from taskloom.middleware.plan.task_files import TaskFiles, Unreadable
from taskloom.middleware.plan.tasks import Tasks


class _Known(Struct, frozen=True):
    """A task's file as it was seen last; of one that cannot be read there is no text."""

    version: str
    text: str | None


class TaskCache:
    """The tasks of a list as their files were when they were read or written last."""

    def __init__(self, task_files: TaskFiles) -> None:
        """Nothing is read yet."""
        self.tasks = Tasks()
        self.highest = 0
        self.fresh: set[str] = set()
        """Ids that were read and not yet looked through for edges to mend."""
        self._shelf = task_files
        self._known: dict[str, _Known] = {}

    def text(self, id_: str) -> str | None:
        """Return what a task's file held; None if it was not there, or no text."""
        known = self._known.get(id_)
        return known.text if known else None

    def can_restore(self, id_: str) -> bool:
        """Tell whether what the file held is known, so that it could be put back."""
        return id_ not in self._known or self._known[id_].text is not None

    async def load(self, *, anew: bool = False) -> None:
        """List the directory, and read what is new or changed; or everything, `anew`."""
        listed = await self._shelf.listed()
        self.highest = max([self.highest, await self._shelf.highest(), *map(int, listed)])
        for id_ in [id_ for id_ in self._known if id_ not in listed]:
            self._take(id_, None, "")
        versions = {id_: listed[id_].version for id_ in sorted(listed, key=order)}
        changed = [
            id_
            for id_, version in versions.items()
            if anew or id_ not in self._known or self._known[id_].version != version
        ]
        await self._read(changed, versions)

    async def check(self, ids: Iterable[str]) -> None:
        """Read those of these files again that somebody changed without telling."""
        if not self._shelf.tells_versions:
            return
        versions = {id_: await self._shelf.version(id_) for id_ in ids if is_id(id_)}
        known = {id_: one.version if (one := self._known.get(id_)) else "" for id_ in versions}
        await self._read([id_ for id_ in versions if versions[id_] != known[id_]], versions)

    async def read(self, ids: Iterable[str]) -> None:
        """Read these files again."""
        # Versions before contents: what changes in between will be read once more.
        versions = {id_: await self._shelf.version(id_) for id_ in ids if is_id(id_)}
        await self._read(list(versions), versions)

    async def wrote(self, id_: str, text: str | None, item: PlanItem | None) -> None:
        """Remember a file as it was just written, or removed."""
        if text is None or item is None:
            self._take(id_, None, "")
            return
        self._known[id_] = _Known(await self._shelf.version(id_), text)
        self.tasks.put(item)

    async def _read(self, ids: list[str], versions: dict[str, str]) -> None:
        if not ids:
            return
        found = await self._shelf.read_all(ids)
        for id_ in ids:
            self._take(id_, found[id_], versions[id_])
        self.fresh.update(ids)

    def _take(self, id_: str, found: str | Unreadable | None, version: str) -> None:
        if found is None:
            # Whoever it was connected with must forget it too.
            gone = self.tasks.items.get(id_)
            if gone is not None:
                self.fresh.update((*gone.blocks, *gone.blocked_by))
            self.tasks.remove(id_)
            self._known.pop(id_, None)
            return
        text = found if isinstance(found, str) else None
        self._known[id_] = _Known(version, text)
        reason = ""
        if isinstance(found, Unreadable):
            reason = found.reason
        else:
            try:
                self.tasks.put(from_line(found, id_))
            except ValueError as error:
                reason = str(error)
        if reason:
            self.tasks.remove(id_)
            self.tasks.unreadable[id_] = reason
