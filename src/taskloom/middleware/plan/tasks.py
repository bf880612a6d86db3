"""A plan in memory: its tasks by id, which of them are open, and what could not be read."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from taskloom.middleware.plan.item import PlanItem, is_id, order, unique


class Tasks:
    """The tasks of one list, in the order of their numbers."""

    def __init__(self) -> None:
        """Begin empty."""
        self.items: dict[str, PlanItem] = {}
        self.open: set[str] = set()
        self.unreadable: dict[str, str] = {}
        """Ids of files that are there and hold no task, each with the reason."""

    def put(self, item: PlanItem) -> None:
        """Add a task or replace it."""
        last = next(reversed(self.items), None)
        in_order = item.id in self.items or last is None or order(last) < order(item.id)
        self.items[item.id] = item
        self.unreadable.pop(item.id, None)
        if item.is_open:
            self.open.add(item.id)
        else:
            self.open.discard(item.id)
        if not in_order:
            self.items = {id_: self.items[id_] for id_ in sorted(self.items, key=order)}

    def remove(self, id_: str) -> None:
        """Forget a task; a missing one is no error."""
        self.items.pop(id_, None)
        self.open.discard(id_)
        self.unreadable.pop(id_, None)

    def has(self, id_: str) -> bool:
        """Tell whether there is a file of this id, readable or not."""
        return id_ in self.items or id_ in self.unreadable

    def snapshot(self) -> tuple[PlanItem, ...]:
        """Return all tasks, as they are now."""
        return tuple(self.items.values())

    def open_blockers(self, item: PlanItem) -> list[str]:
        """Return what a task still waits for; a task that cannot be read counts as open."""
        found = [id_ for id_ in item.blocked_by if id_ in self.open or id_ in self.unreadable]
        return sorted(found, key=order)


class Change(Struct, frozen=True):
    """What one call does to a list: it happens whole or not at all."""

    puts: dict[str, PlanItem]
    removed: frozenset[str] = frozenset()


def mended(tasks: Tasks, ids: Iterable[str]) -> dict[str, PlanItem]:
    """Return the tasks, among those given and their neighbours, whose edges must be mended.

    Each edge is written in two files, and another program may have written one of them only: an
    edge that either side knows is an edge. A reference to a task that is gone is dropped.
    """
    found: dict[str, PlanItem] = {}
    for id_ in ids:
        item = found.get(id_) or tasks.items.get(id_)
        if item is None:
            continue
        kept = item.replace(
            blocks=_references(tasks, item, item.blocks),
            blocked_by=_references(tasks, item, item.blocked_by),
        )
        if kept != item:
            found[id_] = kept
        for other in kept.blocks:
            _join(tasks.items, found, id_, other, mine=False)
        for other in kept.blocked_by:
            _join(tasks.items, found, other, id_, mine=True)
    return found


def _references(tasks: Tasks, item: PlanItem, ids: tuple[str, ...]) -> tuple[str, ...]:
    return unique(id_ for id_ in ids if id_ != item.id and is_id(id_) and tasks.has(id_))


def _join(
    items: Mapping[str, PlanItem],
    found: dict[str, PlanItem],
    blocker: str,
    blocked: str,
    *,
    mine: bool,
) -> None:
    """Let the other side of an edge know it too: the blocker if `mine`, else the blocked."""
    other_id, id_ = (blocker, blocked) if mine else (blocked, blocker)
    other = found.get(other_id) or items.get(other_id)
    if other is None:
        return
    if mine and id_ not in other.blocks:
        found[other_id] = other.replace(blocks=(*other.blocks, id_))
    elif not mine and id_ not in other.blocked_by:
        found[other_id] = other.replace(blocked_by=(*other.blocked_by, id_))
