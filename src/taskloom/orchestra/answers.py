"""What the tools answer: JSON within a size, and errors that say what to do next."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

import msgspec

from taskloom.agent import ToolError
from taskloom.board import Receipt, StepPage, StepView, Task, TaskPage, TaskView, summarise
from taskloom.board.views import count_steps
from taskloom.errors import Code, TaskloomError

_EVENT_IDS_MAX: Final = 20
"""Of a change with more events than these, the ids of the first are told and the rest counted."""

_encode: Final = msgspec.json.Encoder(order="deterministic").encode


async def answered(work: Callable[[], Awaitable[Any]]) -> str:
    """Return what a tool came to as JSON text.

    Raises:
        ToolError: it was refused or failed; the text is the structured error.
    """
    try:
        return to_json(await work())
    except TaskloomError as error:
        raise ToolError(to_json({"error": _plain(error.as_dict())})) from error
    except (ToolError, RecursionError):
        raise
    except Exception as error:
        wrong: dict[str, Any] = {
            "code": Code.INTERNAL_ERROR.value,
            "message": f"Something went wrong that should not have: {type(error).__name__}: "
            f"{error}. The board is as it was; try again, or go on with other steps.",
            "details": {},
        }
        raise ToolError(to_json({"error": wrong})) from error


def to_json(value: Any) -> str:
    """Return the JSON text of an answer; empty values are left out of objects."""
    return msgspec.json.encode(_trimmed(msgspec.to_builtins(value))).decode("utf-8", "replace")


def _plain(error: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in error.items() if value not in ({}, None)}


def _trimmed(value: Any) -> Any:
    """Leave out what says nothing: nulls and empty lists inside objects."""
    if isinstance(value, dict):
        items = [(n, _trimmed(item)) for n, item in cast("dict[str, Any]", value).items()]
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
        shown["artifact_ids"] = list(step.artifact_ids)
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
    size = len(_encode(task))
    steps: list[dict[str, Any]] = []
    for step in view.steps:
        shown = step_of(step)
        size += len(_encode(shown))
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
        size += len(_encode(shown))
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
        shown["title"] = clipped(line.title, 200)
        for name in ("reason", "result_summary"):
            if name in shown:
                shown[name] = clipped(shown[name], 500)
        size += len(_encode(shown))
        if size > most and tasks:
            break
        tasks.append(shown)
    answer: dict[str, Any] = {"tasks": tasks or None, "total": page.total}
    if page.has_more or len(tasks) < len(page.tasks):
        answer["has_more"] = True
        answer["next_offset"] = offset + len(tasks)
    return answer


def clipped(text: str, most: int) -> str:
    """Return the beginning of a text."""
    return text if len(text) <= most else text[: most - 1] + "…"
