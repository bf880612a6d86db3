"""A plan in memory, a change to it, and the repair of one-sided edges."""

from collections.abc import Iterable

from msgspec import Struct

from taskloom.middleware.plan.item import PlanItem, id_order, is_id, unique


class Tasks:
    """The tasks of one list by id, in numeric order."""

    def __init__(self) -> None:
        """Start with no tasks."""
        self.items: dict[str, PlanItem] = {}
        self.open: set[str] = set()
        self.unreadable: dict[str, str] = {}
        """Ids of files that exist and cannot be read, each with the reason."""

    def put(self, item: PlanItem) -> None:
        """Add or replace a task."""
        last = next(reversed(self.items), None)
        in_order = item.id in self.items or last is None or id_order(last) < id_order(item.id)
        self.items[item.id] = item
        self.unreadable.pop(item.id, None)
        if item.is_open:
            self.open.add(item.id)
        else:
            self.open.discard(item.id)
        if not in_order:
            self.items = {id_: self.items[id_] for id_ in sorted(self.items, key=id_order)}

    def put_unreadable(self, id_: str, reason: str) -> None:
        """Replace a task by the reason why its file cannot be read."""
        self.remove(id_)
        self.unreadable[id_] = reason

    def remove(self, id_: str) -> None:
        """Remove a task if it is there."""
        self.items.pop(id_, None)
        self.open.discard(id_)
        self.unreadable.pop(id_, None)

    def has(self, id_: str) -> bool:
        """Return whether a file of this id exists, readable or not."""
        return id_ in self.items or id_ in self.unreadable

    def snapshot(self) -> tuple[PlanItem, ...]:
        """Return all tasks as an immutable value."""
        return tuple(self.items.values())

    def open_blockers(self, item: PlanItem) -> list[str]:
        """Return the open blockers of a task; an unreadable task counts as open."""
        found = [id_ for id_ in item.blocked_by if id_ in self.open or id_ in self.unreadable]
        return sorted(found, key=id_order)


class Change(Struct, frozen=True):
    """The tasks that one call writes and removes, all or none of them."""

    puts: dict[str, PlanItem]
    removed: frozenset[str] = frozenset()


def repair_edges(tasks: Tasks, ids: Iterable[str]) -> dict[str, PlanItem]:
    """Return corrected versions of these tasks and their neighbours, where edges are wrong.

    Each edge is stored in two files, and another program may have written only one of them: an
    edge that one side has is added to the other. A reference to a missing task is dropped.
    """
    repaired: dict[str, PlanItem] = {}
    for id_ in ids:
        item = repaired.get(id_) or tasks.items.get(id_)
        if item is None:
            continue
        kept = item.replace(
            blocks=_existing(tasks, item, item.blocks),
            blocked_by=_existing(tasks, item, item.blocked_by),
        )
        if kept != item:
            repaired[id_] = kept
        for other_id in kept.blocks:
            other = repaired.get(other_id) or tasks.items.get(other_id)
            if other is not None and id_ not in other.blocked_by:
                repaired[other_id] = other.replace(blocked_by=(*other.blocked_by, id_))
        for other_id in kept.blocked_by:
            other = repaired.get(other_id) or tasks.items.get(other_id)
            if other is not None and id_ not in other.blocks:
                repaired[other_id] = other.replace(blocks=(*other.blocks, id_))
    return repaired


def _existing(tasks: Tasks, item: PlanItem, ids: tuple[str, ...]) -> tuple[str, ...]:
    return unique(id_ for id_ in ids if id_ != item.id and is_id(id_) and tasks.has(id_))
