"""Decide what an update or a deletion changes. Pure: nothing is written before all is valid."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias, cast

from msgspec import Struct

from taskloom.agent import ToolArgumentsError
from taskloom.middleware.plan.arguments import STATUSES, UpdateArguments
from taskloom.middleware.plan.item import PlanItem, id_order, is_id, unique
from taskloom.middleware.plan.plan_texts import PlanTexts
from taskloom.middleware.plan.tasks import Change, Tasks

_Edit: TypeAlias = Callable[[tuple[str, ...], str], tuple[str, ...]]

_SHOWN_IDS: Final = 20
"""Ids that an error names of a long list."""
_METADATA_DEPTH_MAX: Final = 100
"""JSON that is nested deeper could be written and then fail to decode."""


class PlanRefusedError(ToolArgumentsError):
    """The model made a mistake: nothing has changed, and the message says what to do.

    As a `ToolArgumentsError` it is an error result for the model and never ends a run, whatever
    `on_tool_error` says.
    """


class Update(Struct, frozen=True):
    """The outcome of an update."""

    change: Change
    fields: tuple[str, ...]
    after: PlanItem
    finished: bool = False


def decide_update(
    tasks: Tasks, wanted: UpdateArguments, texts: PlanTexts, *, enforce_order: bool
) -> Update:
    """Return what an update changes.

    Raises:
        PlanRefusedError: the update is not valid.
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
            named = format_ids(blockers)
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
    """Return what a deletion changes: the task's file, and every reference to the task.

    Raises:
        PlanRefusedError: there is no such task.
    """
    if not tasks.has(id_):
        find(tasks, id_, texts)
    item = tasks.items.get(id_)
    # The neighbours of an unreadable task are unknown.
    neighbours = (*item.blocks, *item.blocked_by) if item else tuple(tasks.items)
    changed: dict[str, PlanItem] = {}
    for other in (tasks.items[near_id] for near_id in neighbours if near_id in tasks.items):
        kept = other.replace(
            blocks=_without(other.blocks, id_), blocked_by=_without(other.blocked_by, id_)
        )
        if kept != other:
            changed[other.id] = kept
    return Change(changed, frozenset({id_}))


def find(tasks: Tasks, id_: str, texts: PlanTexts) -> PlanItem:
    """Return a task.

    Raises:
        PlanRefusedError: no task has this id.
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
    some = format_ids(ids[:_SHOWN_IDS]) + (" …" if len(ids) > _SHOWN_IDS else "")
    raise PlanRefusedError(texts.unknown.format(id=id_, ids=some))


def check_status(status: str | None, texts: PlanTexts) -> None:
    """Check that a status exists.

    Raises:
        PlanRefusedError: it does not.
    """
    if status is not None and status not in STATUSES:
        known = ", ".join(STATUSES)
        raise PlanRefusedError(texts.bad_status.format(status=status[:50], statuses=known))


def check_metadata(metadata: dict[str, Any] | None, texts: PlanTexts) -> None:
    """Check that metadata is not nested too deeply.

    Raises:
        PlanRefusedError: it is.
    """
    level: list[Any] = [metadata]
    for _ in range(_METADATA_DEPTH_MAX + 1):
        level = [inner for one in level for inner in _inside(one)]
        if not level:
            return
    raise PlanRefusedError(texts.too_deep.format(levels=_METADATA_DEPTH_MAX))


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).values()
    return value if isinstance(value, list) else ()  # pyright: ignore[reportUnknownVariableType]  # JSON: any values


def format_ids(ids: Iterable[str]) -> str:
    """Return ids as `#1, #2`."""
    return ", ".join(f"#{id_}" for id_ in ids)


def _with_fields(
    item: PlanItem, wanted: UpdateArguments, fields: list[str], texts: PlanTexts
) -> PlanItem:
    """Return the task with its new values; append the names of the given fields to `fields`."""
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
    """Return the tasks whose edges change, both ends of each."""
    _check_ids(tasks, item, wanted, texts)
    changed: dict[str, PlanItem] = {}

    def current(id_: str) -> PlanItem | None:
        return changed.get(id_) or tasks.items.get(id_)

    def edit(blocker: str, blocked: str, change: _Edit) -> None:
        first, second = current(blocker), current(blocked)
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
    for id_ in (*wanted.added_ids, *wanted.removed_ids):
        if not is_id(id_):
            raise PlanRefusedError(texts.bad_id.format(id=id_[:50]))
    for id_ in wanted.added_ids:
        if id_ == item.id:
            raise PlanRefusedError(texts.itself.format(id=id_))
        find(tasks, id_, texts)
    both = {*(wanted.add_blocks or ())} & {*(wanted.remove_blocks or ())}
    both |= {*(wanted.add_blocked_by or ())} & {*(wanted.remove_blocked_by or ())}
    if both:
        raise PlanRefusedError(
            texts.contradiction.format(ids=format_ids(sorted(both, key=id_order)))
        )


def _path(tasks: Tasks, changed: dict[str, PlanItem], start: str, goal: str) -> Sequence[str]:
    """Return a path along `blocks` from one task to another; empty if there is none."""
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
