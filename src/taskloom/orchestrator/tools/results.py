"""The answers of the Task tools: JSON within a size limit, and errors that say what to do next."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, cast

import msgspec

from taskloom.agent import ToolError
from taskloom.board import Receipt, StepPage, StepView, Task, TaskPage, TaskView, count_steps
from taskloom.errors import Code, TaskloomError
from taskloom.orchestrator.prompt.render import render_task
from taskloom.text import clip

_EVENT_IDS_MAX: Final = 20
"""Of a change with more events than these, the answer names the first and counts the rest."""

_DEPTH_MAX: Final = 50

_CUTS: Final = ((2_000, 200), (500, 100), (200, 50), (100, 20), (80, 12), (40, 8), (20, 4), (8, 2))
"""The lengths of texts and lists to which a long answer is cut, step by step."""

encoded: Final = msgspec.json.Encoder(order="deterministic").encode


async def tool_answer(work: Callable[[], Awaitable[Any]], max_bytes: int) -> str:
    """Return the result of a tool as JSON text of at most `max_bytes`.

    Raises:
        ToolError: the tool was refused or failed; the text is the structured error.
    """
    try:
        return fit_json(await work(), max_bytes)
    except ToolError:
        raise
    except TaskloomError as error:
        raise ToolError(fit_json({"error": _without_empty(error.as_dict())}, max_bytes)) from error
    except Exception as error:
        wrong: dict[str, Any] = {
            "code": Code.INTERNAL_ERROR.value,
            "message": f"Unexpected error: {type(error).__name__}: {error}. No change is half "
            "done: read the Task to see its state, then try again, or continue with other steps.",
        }
        raise ToolError(fit_json({"error": wrong}, max_bytes)) from error


def fit_json(value: Any, max_bytes: int) -> str:
    """Return the JSON text of an answer; one that is too long is shortened and says so.

    Tools make answers that fit. This is for what they cannot know in advance: a worker's data, or
    text of others in an error.
    """
    try:
        plain = _trimmed(msgspec.to_builtins(value))
        text = msgspec.json.encode(plain)
    except (TypeError, ValueError, OverflowError, RecursionError):
        plain = _trimmed(plain_data(value))
        text = msgspec.json.encode(plain)
    for chars, items in _CUTS:
        if len(text) <= max_bytes:
            break
        cut = _cut(plain, chars, items)
        text = msgspec.json.encode({**cut, "shortened": True} if isinstance(cut, dict) else cut)
    return text.decode("utf-8", "replace")


def plain_data(value: Any, depth: int = 0) -> Any:
    """Return any value as plain JSON data; what is not JSON becomes its text."""
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


def _without_empty(error: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in error.items() if value not in ({}, None)}


_JSON_FIELDS: Final = frozenset({"data", "result_data", "metadata"})


def _trimmed(value: Any) -> Any:
    """Leave out nulls and empty lists inside objects, but not in data."""
    if isinstance(value, dict):
        given = cast("dict[str, Any]", value).items()
        items = [(n, item if n in _JSON_FIELDS else _trimmed(item)) for n, item in given]
        return {name: item for name, item in items if item is not None and item != []}
    if isinstance(value, list):
        return [_trimmed(item) for item in value]  # pyright: ignore[reportUnknownVariableType]  # JSON: any values
    return value


def receipt_result(receipt: Receipt) -> dict[str, Any]:
    """Return the events that a change wrote, the first of them by id."""
    count = receipt.seq - receipt.first_seq + 1
    first = range(receipt.first_seq, receipt.first_seq + min(count, _EVENT_IDS_MAX))
    shown: dict[str, Any] = {"event_ids": [f"{receipt.event_prefix}-{seq}" for seq in first]}
    if count > _EVENT_IDS_MAX:
        shown["event_count"] = count
    return shown


def step_result(step: StepView, *, brief: bool = False) -> dict[str, Any]:
    """Return a step for a model."""
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


def task_result(view: TaskView, max_bytes: int) -> dict[str, Any] | None:
    """Return a Task with its steps for a model; None if that would be too long."""
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
        shown = step_result(step)
        size += len(encoded(shown))
        if size > max_bytes:
            return None
        steps.append(shown)
    return {"task": {**task, "steps": steps}}


def summary_result(task: Task, max_bytes: int) -> dict[str, Any]:
    """Return the summary of a Task for a model."""
    return {
        "task": {
            "task_id": task.task_id,
            "status": task.status.value,
            "counts": count_steps(task),
            "stalled": task.is_stalled or None,
            "completeable": task.is_completeable or None,
        },
        "board": render_task(task, max_bytes // 2),
    }


def steps_result(page: StepPage, max_bytes: int, offset: int) -> dict[str, Any]:
    """Return a page of steps; it ends early where the answer would become too long."""
    size = 0
    steps: list[dict[str, Any]] = []
    for step in page.steps:
        shown = step_result(step)
        size += len(encoded(shown))
        if size > max_bytes and steps:
            break
        if size > max_bytes:
            shown = step_result(step, brief=True)
        steps.append(shown)
    answer: dict[str, Any] = {"steps": steps or None, "count": len(steps)}
    if page.has_more or len(steps) < len(page.steps):
        answer["has_more"] = True
        answer["next_offset"] = offset + len(steps)
    return answer


def tasks_result(page: TaskPage, max_bytes: int, offset: int) -> dict[str, Any]:
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
        if size > max_bytes and tasks:
            break
        tasks.append(shown)
    answer: dict[str, Any] = {"tasks": tasks or None, "total": page.total}
    if page.has_more or len(tasks) < len(page.tasks):
        answer["has_more"] = True
        answer["next_offset"] = offset + len(tasks)
    return answer


def take_fitting(
    values: Iterable[dict[str, Any]], max_bytes: int
) -> tuple[list[dict[str, Any]], int]:
    """Return as many values as fit, at least one, and how many are left over."""
    every = list(values)
    size = 500  # For the fields around them.
    for index, value in enumerate(every):
        size += len(fit_json(value, max_bytes)) + 1
        if size > max_bytes and index:
            return every[:index], len(every) - index
    return every, 0
