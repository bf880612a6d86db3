"""What an update makes of a list: pure, so that nothing is written before all of it is right."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias, cast

from msgspec import Struct

from taskloom.agent.tools.schema import ToolArgumentsError
from taskloom.middleware.plan.arguments import STATUSES, UpdateArguments
from taskloom.middleware.plan.item import PlanItem, is_id, order, unique
from taskloom.middleware.plan.plan_texts import PlanTexts
from taskloom.middleware.plan.tasks import Change, Tasks

_Edit: TypeAlias = Callable[[tuple[str, ...], str], tuple[str, ...]]

_SHOWN_IDS: Final = 20
"""Of a long list an error names so many ids and then stops."""
_DEEPEST: Final = 100
"""Levels of metadata: what is nested deeper may be written and then be too deep to be read."""


class PlanRefusedError(ToolArgumentsError):
    """A mistake of the model's: nothing has changed, and the message says how to go on.

    As an `ToolArgumentsError` it is a result for the model and never the end of a run, whatever the
    agent was told to do about tools that fail.
    """


class Update(Struct, frozen=True):
    """What comes of an update."""

    change: Change
    fields: tuple[str, ...]
    after: PlanItem
    finished: bool = False


def decide_update(
    tasks: Tasks, wanted: UpdateArguments, texts: PlanTexts, *, enforce_order: bool
) -> Update:
    """Say what an update changes.

    Raises:
        PlanRefusedError: it cannot be done.
    """
    item = find(tasks, wanted.task_id, texts)
    changed = _edges(tasks, item, wanted, texts)
    fields: list[str] = []
    after = _with_fields(changed.get(item.id, item), wanted, fields, texts)
    if after != item:
        changed[item.id] = after
    if enforce_order and wanted.status in ("in_progress", "completed"):
        blockers = tasks.open_blockers(after)
        if blockers:
            named = numbered(blockers)
            raise PlanRefusedError(
                texts.blocked.format(id=item.id, status=wanted.status, blockers=named)
            )
    others_open = tasks.open - {item.id} if wanted.status == "completed" else ()
    return Update(
        Change(changed),
        tuple(fields),
        after,
        wanted.status == "completed" and not others_open,
    )


def decide_delete(tasks: Tasks, id_: str, texts: PlanTexts) -> Change:
    """Say what it changes to remove a task: its file, and every reference to it.

    Raises:
        PlanRefusedError: there is no such task.
    """
    if not tasks.has(id_):
        find(tasks, id_, texts)
    item = tasks.items.get(id_)
    # A task that cannot be read does not tell who knows it.
    near = (*item.blocks, *item.blocked_by) if item else tuple(tasks.items)
    changed: dict[str, PlanItem] = {}
    for other in (tasks.items[near_id] for near_id in near if near_id in tasks.items):
        kept = other.replace(
            blocks=_without(other.blocks, id_), blocked_by=_without(other.blocked_by, id_)
        )
        if kept != other:
            changed[other.id] = kept
    return Change(changed, frozenset({id_}))


def find(tasks: Tasks, id_: str, texts: PlanTexts) -> PlanItem:
    """Return a task.

    Raises:
        PlanRefusedError: there is none of that id.
    """
    if not is_id(id_):
        raise PlanRefusedError(texts.bad_id.format(id=id_[:50]))
    item = tasks.items.get(id_)
    if item is not None:
        return item
    if id_ in tasks.unreadable:
        raise PlanRefusedError(texts.unreadable.format(id=id_, reason=tasks.unreadable[id_]))
    if not tasks.items:
        raise PlanRefusedError(texts.unknown_empty.format(id=id_))
    ids = list(tasks.items)
    some = numbered(ids[:_SHOWN_IDS]) + (" …" if len(ids) > _SHOWN_IDS else "")
    raise PlanRefusedError(texts.unknown.format(id=id_, ids=some))


def check_status(status: str | None, texts: PlanTexts) -> None:
    """Refuse a status that there is not.

    Raises:
        PlanRefusedError: it is none.
    """
    if status is not None and status not in STATUSES:
        known = ", ".join(STATUSES)
        raise PlanRefusedError(texts.bad_status.format(status=status[:50], statuses=known))


def check_metadata(metadata: dict[str, Any] | None, texts: PlanTexts) -> None:
    """Refuse metadata that is nested too deep.

    Raises:
        PlanRefusedError: it is.
    """
    level: list[Any] = [metadata]
    for _ in range(_DEEPEST + 1):
        level = [inner for one in level for inner in _inside(one)]
        if not level:
            return
    raise PlanRefusedError(texts.too_deep.format(levels=_DEEPEST))


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).values()
    return value if isinstance(value, list) else ()  # pyright: ignore[reportUnknownVariableType]  # JSON: any values


def numbered(ids: Iterable[str]) -> str:
    """Return ids as the model reads them."""
    return ", ".join(f"#{id_}" for id_ in ids)


def _with_fields(
    item: PlanItem, wanted: UpdateArguments, fields: list[str], texts: PlanTexts
) -> PlanItem:
    """Return the task with its new values; `fields` is told which were given, in their order."""
    values: dict[str, Any] = {}

    def take(name: str, field: str, value: Any) -> None:
        if value is not None:
            fields.append(field)
            values[name] = value

    for name in ("subject", "description"):
        value = getattr(wanted, name)
        if value is not None and not value.strip():
            raise PlanRefusedError(texts.empty.format(field=name))
        take(name, name, value)
    take("active_form", "activeForm", wanted.active_form)
    take("status", "status", wanted.status)
    fields += ["blocks"] if wanted.add_blocks or wanted.remove_blocks else []
    fields += ["blockedBy"] if wanted.add_blocked_by or wanted.remove_blocked_by else []
    take("owner", "owner", wanted.owner)
    if wanted.metadata is not None:
        merged = {**item.metadata, **wanted.metadata}
        kept = {key: value for key, value in merged.items() if value is not None}
        take("metadata", "metadata", kept)
    return item.replace(**values)


def _edges(
    tasks: Tasks, item: PlanItem, wanted: UpdateArguments, texts: PlanTexts
) -> dict[str, PlanItem]:
    """Return the tasks whose edges change, both sides of each."""
    _check_ids(tasks, item, wanted, texts)
    changed: dict[str, PlanItem] = {}

    def now(id_: str) -> PlanItem | None:
        return changed.get(id_) or tasks.items.get(id_)

    def edit(blocker: str, blocked: str, change: _Edit) -> None:
        first, second = now(blocker), now(blocked)
        if first is not None:
            changed[blocker] = first.replace(blocks=change(first.blocks, blocked))
        if second is not None:
            changed[blocked] = second.replace(blocked_by=change(second.blocked_by, blocker))

    for other in wanted.remove_blocks or ():
        edit(item.id, other, _without)
    for other in wanted.remove_blocked_by or ():
        edit(other, item.id, _without)
    new = [(item.id, other) for other in unique(wanted.add_blocks or ())]
    new += [(other, item.id) for other in unique(wanted.add_blocked_by or ())]
    for blocker, blocked in new:
        edit(blocker, blocked, _with)
    for blocker, blocked in new:
        path = _path(tasks, changed, blocked, blocker)
        if path:
            circle = " → ".join(f"#{id_}" for id_ in (blocker, *path))
            raise PlanRefusedError(texts.cycle.format(path=circle))
    return {id_: after for id_, after in changed.items() if after != tasks.items[id_]}


def _check_ids(tasks: Tasks, item: PlanItem, wanted: UpdateArguments, texts: PlanTexts) -> None:
    for id_ in (*wanted.added, *wanted.taken_away):
        if not is_id(id_):
            raise PlanRefusedError(texts.bad_id.format(id=id_[:50]))
    for id_ in wanted.added:
        if id_ == item.id:
            raise PlanRefusedError(texts.itself.format(id=id_))
        find(tasks, id_, texts)
    both = {*(wanted.add_blocks or ())} & {*(wanted.remove_blocks or ())}
    both |= {*(wanted.add_blocked_by or ())} & {*(wanted.remove_blocked_by or ())}
    if both:
        raise PlanRefusedError(texts.contradiction.format(ids=numbered(sorted(both, key=order))))


def _path(tasks: Tasks, changed: dict[str, PlanItem], start: str, goal: str) -> Sequence[str]:
    """Return a way from one task to another over what they block; empty if there is none."""
    came_from = {start: ""}
    waiting = [start]
    while waiting:
        id_ = waiting.pop()
        if id_ == goal:
            path = [id_]
            while came_from[path[-1]]:
                path.append(came_from[path[-1]])
            return path[::-1]
        item = changed.get(id_) or tasks.items.get(id_)
        for next_id in item.blocks if item else ():
            if next_id not in came_from:
                came_from[next_id] = id_
                waiting.append(next_id)
    return ()


def _without(ids: tuple[str, ...], id_: str) -> tuple[str, ...]:
    return tuple(one for one in ids if one != id_)


def _with(ids: tuple[str, ...], id_: str) -> tuple[str, ...]:
    return ids if id_ in ids else (*ids, id_)
