"""What the tools answer: JSON within a size, and errors that say what to do next."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, cast

import msgspec

from taskloom.agent import ToolError
from taskloom.board import Receipt, StepPage, StepView, Task, TaskPage, TaskView, summarise
from taskloom.board.views import count_steps
from taskloom.errors import Code, TaskloomError
from taskloom.text import clip

_EVENT_IDS_MAX: Final = 20
"""Of a change with more events than these, the ids of the first are told and the rest counted."""

_DEPTH_MAX: Final = 50

_CUTS: Final = ((2_000, 200), (500, 100), (200, 50), (100, 20), (80, 12), (40, 8), (20, 4), (8, 2))
"""How long texts and lists are left, step by step, where an answer is too long."""

encoded: Final = msgspec.json.Encoder(order="deterministic").encode


async def answered(work: Callable[[], Awaitable[Any]], most: int) -> str:
    """Return what a tool came to as JSON text of at most so many bytes.

    Raises:
        ToolError: it was refused or failed; the text is the structured error.
    """
    try:
        return fitting(await work(), most)
    except ToolError:
        raise
    except TaskloomError as error:
        raise ToolError(fitting({"error": _plain(error.as_dict())}, most)) from error
    except Exception as error:
        wrong: dict[str, Any] = {
            "code": Code.INTERNAL_ERROR.value,
            "message": f"Something went wrong that should not have: {type(error).__name__}: "
            f"{error}. No change is half done: read the Task to see where it stands, then try "
            "again, or go on with other steps.",
        }
        raise ToolError(fitting({"error": wrong}, most)) from error


def fitting(value: Any, most: int) -> str:
    """Return the JSON text of an answer; what is too long is shortened, and that is said.

    Tools make answers that fit. This is for what they cannot know: a worker's data, a message
    with somebody's text in it.
    """
    try:
        plain = _trimmed(msgspec.to_builtins(value))
        text = msgspec.json.encode(plain)
    except (TypeError, ValueError, OverflowError, RecursionError):
        plain = _trimmed(plain_data(value))
        text = msgspec.json.encode(plain)
    for chars, items in _CUTS:
        if len(text) <= most:
            break
        cut = _cut(plain, chars, items)
        text = msgspec.json.encode({**cut, "shortened": True} if isinstance(cut, dict) else cut)
    return text.decode("utf-8", "replace")


def plain_data(value: Any, depth: int = 0) -> Any:
    """Return any value as plain JSON data; what is none becomes its text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth < _DEPTH_MAX:
        if isinstance(value, Mapping):
            return {_text(key): plain_data(item, depth + 1) for key, item in _items(value)}  # pyright: ignore[reportUnknownArgumentType]  # any data
        if isinstance(value, list | tuple | set | frozenset):
            return [plain_data(item, depth + 1) for item in cast("list[Any]", value)]
        if isinstance(value, msgspec.Struct):
            return plain_data(msgspec.structs.asdict(value), depth + 1)
    return _text(value)


def _items(value: object) -> list[tuple[Any, Any]]:
    return list(cast("Mapping[Any, Any]", value).items())


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value)


def _text(value: Any) -> str:
    try:
        return str(value).encode("utf-8", "replace").decode()
    except Exception:  # noqa: BLE001 - a worker's data may be anything
        return f"<{type(value).__name__}>"


def _cut(value: Any, chars: int, items: int) -> Any:
    if isinstance(value, str):
        return clip(value, chars)
    if isinstance(value, list):
        given = _list(value)  # pyright: ignore[reportUnknownArgumentType]  # any JSON
        kept = [_cut(item, chars, items) for item in given[:items]]
        left_out = len(given) - len(kept)
        return [*kept, f"… {left_out} more"] if left_out else kept
    if isinstance(value, dict):
        found = list(cast("dict[str, Any]", value).items())
        few = {clip(name, chars): _cut(item, chars, items) for name, item in found[:items]}
        return {**few, "…": f"{len(found) - items} more"} if len(found) > items else few
    return value


def _plain(error: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in error.items() if value not in ({}, None)}


_JSON_FIELDS: Final = frozenset({"data", "result_data", "metadata"})


def _trimmed(value: Any) -> Any:
    """Leave out what says nothing: nulls and empty lists inside objects, but not in data."""
    if isinstance(value, dict):
        given = cast("dict[str, Any]", value).items()
        items = [(n, item if n in _JSON_FIELDS else _trimmed(item)) for n, item in given]
        return {name: item for name, item in items if item is not None and item != []}
    if isinstance(value, list):
        return [_trimmed(item) for item in value]  # pyright: ignore[reportUnknownVariableType]  # JSON: any values
    return value


def receipt_of(receipt: Receipt) -> dict[str, Any]:
    """Return the events that a change wrote, the first of them by id."""
    count = receipt.seq - receipt.first_seq + 1
    first = range(receipt.first_seq, receipt.first_seq + min(count, _EVENT_IDS_MAX))
    shown: dict[str, Any] = {"event_ids": [f"{receipt.event_prefix}-{seq}" for seq in first]}
    if count > _EVENT_IDS_MAX:
        shown["event_count"] = count
    return shown


def step_of(step: StepView, *, brief: bool = False) -> dict[str, Any]:
    """Return a step as a model is shown it."""
    shown: dict[str, Any] = {
        "step_id": step.step_id,
        "title": step.title,
        "status": step.status.value,
        "depends_on_step_ids": list(step.depends_on_step_ids),
        "worker_pool_id": step.worker_pool_id,
        "claimed_by_agent_id": step.claimed_by_agent_id,
        "claimed_by_run_id": step.claimed_by_run_id,
        "lease_expires_at": step.lease_expires_at,
        "reason": step.reason,
    }
    if not step.required:
        shown["required"] = False
    if step.updated_after_dispatch:
        shown["updated_after_dispatch"] = True
    if not brief:
        shown["summary"] = step.summary or None
        shown["result_summary"] = step.result_summary
        shown["result_data"] = step.result_data
        shown["artifact_ids"] = list(step.artifact_ids)
        shown["metadata"] = step.metadata
    return shown


def task_of(view: TaskView, most: int) -> dict[str, Any] | None:
    """Return a Task with its steps as a model is shown it; None if that would be too long."""
    task: dict[str, Any] = {
        "task_id": view.task_id,
        "wal_path": view.wal_path,
        "title": view.title,
        "summary": view.summary or None,
        "status": view.status.value,
        "counts": view.counts,
        "root_step_ids": list(view.root_step_ids),
        "stalled": view.stalled or None,
        "completeable": view.completeable or None,
        "reason": view.reason,
        "result_summary": view.result_summary,
        "created_at": view.created_at,
        "updated_at": view.updated_at,
    }
    size = len(encoded(task))
    steps: list[dict[str, Any]] = []
    for step in view.steps:
        shown = step_of(step)
        size += len(encoded(shown))
        if size > most:
            return None
        steps.append(shown)
    return {"task": {**task, "steps": steps}}


def gist_of(task: Task, most: int) -> dict[str, Any]:
    """Return a Task in a few lines, and how to ask for the rest."""
    return {
        "task": {
            "task_id": task.task_id,
            "status": task.status.value,
            "counts": count_steps(task),
            "stalled": task.is_stalled or None,
            "completeable": task.is_completeable or None,
        },
        "board": summarise(task, budget_bytes=most // 2).text,
    }


def steps_of(page: StepPage, most: int, offset: int) -> dict[str, Any]:
    """Return a page of steps; it ends early where the answer would become too long."""
    size = 0
    steps: list[dict[str, Any]] = []
    for step in page.steps:
        shown = step_of(step)
        size += len(encoded(shown))
        if size > most and steps:
            break
        if size > most:
            shown = step_of(step, brief=True)
        steps.append(shown)
    answer: dict[str, Any] = {"steps": steps or None, "count": len(steps)}
    if page.has_more or len(steps) < len(page.steps):
        answer["has_more"] = True
        answer["next_offset"] = offset + len(steps)
    return answer


def tasks_of(page: TaskPage, most: int, offset: int) -> dict[str, Any]:
    """Return a page of Tasks."""
    size = 0
    tasks: list[Any] = []
    for line in page.tasks:
        shown = _trimmed(msgspec.to_builtins(line))
        shown["title"] = clip(line.title, 200)
        for name in ("reason", "result_summary"):
            if name in shown:
                shown[name] = clip(shown[name], 500)
        size += len(encoded(shown))
        if size > most and tasks:
            break
        tasks.append(shown)
    answer: dict[str, Any] = {"tasks": tasks or None, "total": page.total}
    if page.has_more or len(tasks) < len(page.tasks):
        answer["has_more"] = True
        answer["next_offset"] = offset + len(tasks)
    return answer


def within(most: int, values: Iterable[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """Return as many as fit into so many bytes, at least one, and how many are left over."""
    every = list(values)
    size = 500  # Room for what stands around them.
    for place, value in enumerate(every):
        size += len(fitting(value, most)) + 1
        if size > most and place:
            return every[:place], len(every) - place
    return every, 0
