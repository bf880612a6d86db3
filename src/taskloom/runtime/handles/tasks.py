"""What boards and Task handles do, for both kinds of callers."""

from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from os import urandom
from typing import Final, NoReturn, cast

from taskloom.board import (
    Actor,
    CreateTask,
    NewStep,
    QuerySteps,
    StepStatus,
    StepView,
    Task,
    TaskCreated,
    TaskLine,
    TaskStatus,
    TaskView,
    decide_create,
)
from taskloom.board.validation import kind, refuse
from taskloom.errors import Code, RefusedError
from taskloom.ids import ID_CHARS_MAX, AgentId, PoolId, RunId, StepId, TaskId
from taskloom.runtime.follow import Record
from taskloom.runtime.handles.access import BoardAccess
from taskloom.runtime.handles.plan import differences, listed
from taskloom.runtime.log_reader import ListTasks

_PAGE: Final = 10_000
_DIFFERENCES_SHOWN: Final = 5


ORCHESTRATOR: Final[AgentId] = "orchestrator"
"""The agent that owns a plan, unless another is named."""


def new_task(
    task_id: TaskId, title: str, steps: Iterable[NewStep], summary: str, log_name: str | None
) -> CreateTask:
    """Return the command that creates a Task.

    Raises:
        RefusedError: `steps` is not a list.
    """
    if not isinstance(steps, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] # callers may send anything
        refuse("$.steps", f"must be a list of steps, not {kind(steps)}.")
    return CreateTask(
        task_id=task_id,
        wal_name=task_id if log_name is None else log_name,
        title=title,
        summary=summary,
        steps=tuple(steps),
    )


def new_run_id(agent_id: AgentId) -> RunId:
    """Return the id of a new run of an agent."""
    return f"{agent_id}-{urandom(8).hex()}"


async def create_task(
    board: BoardAccess, command: CreateTask, actor: Actor, *, log_name: str | None, exist_ok: bool
) -> None:
    """Create a Task whose log has the given name, or the first free one after the Task's id.

    Raises:
        RefusedError: The plan is wrong, the names are taken, or with `exist_ok` the active Task
            was created with another plan.
    """
    named = command
    while True:
        try:
            await board.send(named, actor)
        except RefusedError as refused:
            if exist_ok and _is_active(refused):
                await _require_same_plan(board, command, actor, log_name)
                if await has_ended(board, command.task_id, actor):
                    continue  # It ended meanwhile, and its id is free.
                return
            if log_name is not None or refused.code is not Code.PATH_CONFLICT:
                raise
            name = _free_name(command.task_id, await board.log_names())
            named = replace(command, wal_name=name)
        else:
            return


def _is_active(refused: RefusedError) -> bool:
    """Return whether a creation was refused because a Task of that id is active."""
    return refused.details.get("path") == "$.task_id" and "wal_name" in refused.details


def _free_name(stem: str, taken: frozenset[str]) -> str:
    """Return `release-2`, `release-3`…: the first that no log has."""
    for number in count(2):
        end = f"-{number}"
        name = stem[: ID_CHARS_MAX - len(end)] + end
        if name not in taken:
            return name
    raise AssertionError("there are more numbers than logs")


async def _require_same_plan(
    board: BoardAccess, command: CreateTask, actor: Actor, log_name: str | None
) -> None:
    record = await _first_record(board, command.task_id)
    first = decide_create(command, actor, record.created_at, board.rules)[0]
    assert isinstance(first.payload, TaskCreated)
    assert isinstance(record.payload, TaskCreated)
    created = record.payload.task
    found = list(differences(first.payload.task, created))
    if log_name is not None and first.payload.task.wal_name != created.wal_name:
        path = "$.log_name"
        found.insert(0, (path, f"{path}: the Task's log is named {created.wal_name!r}."))
    if found:
        _refuse_other_plan(command.task_id, found)


async def _first_record(board: BoardAccess, task_id: TaskId) -> Record:
    async with aclosing(board.follow(task_id)) as records:
        return await anext(records)


def _refuse_other_plan(task_id: TaskId, found: list[tuple[str, str]]) -> NoReturn:
    shown = " ".join(sentence for _, sentence in found[:_DIFFERENCES_SHOWN])
    more = len(found) - _DIFFERENCES_SHOWN
    if more > 0:
        shown += f" ({more} more differences.)"
    raise RefusedError(
        Code.VALIDATION_ERROR,
        f"The active Task {task_id!r} was created with another plan. {shown} Change that Task "
        "with `update`, end it, or choose another task_id.",
        {"path": found[0][0], "task_id": task_id, "differences": [each for _, each in found]},
    )


async def list_task_lines(
    board: BoardAccess, status: TaskStatus | Iterable[TaskStatus] | None
) -> list[TaskLine]:
    """Return the Tasks of these statuses, newest first; without any, the active ones."""
    actor = board.orchestrator(ORCHESTRATOR, run_id=ORCHESTRATOR)
    if status is None:
        return await _task_lines(board, actor, None)
    found: list[TaskLine] = []
    wanted = listed(status, "$.status", "statuses")
    for each in dict.fromkeys(wanted):
        found += await _task_lines(board, actor, cast("TaskStatus", each))
    return sorted(found, key=_updated_at, reverse=True) if len(wanted) > 1 else found


async def _task_lines(
    board: BoardAccess, actor: Actor, status: TaskStatus | None
) -> list[TaskLine]:
    found: list[TaskLine] = []
    while True:
        query = ListTasks(status=status, limit=_PAGE, offset=len(found))
        page = await board.list(actor, query)
        found += page.tasks
        if not page.has_more:
            return found


def _updated_at(line: TaskLine) -> datetime:
    return line.updated_at or datetime.min.replace(tzinfo=UTC)


async def list_step_views(
    board: BoardAccess,
    task_id: TaskId,
    actor: Actor,
    status: StepStatus | Iterable[StepStatus] | None,
) -> list[StepView]:
    """Return all steps, or those of these statuses, in plan order."""
    given = None if status is None else listed(status, "$.status", "statuses")
    statuses = cast("Sequence[StepStatus] | None", given)
    found: list[StepView] = []
    while True:
        query = QuerySteps(
            task_id=task_id,
            statuses=statuses,
            include_terminal_steps=statuses is None,
            limit=_PAGE,
            offset=len(found),
        )
        page = await board.query(query, actor)
        found += page.steps
        if not page.has_more:
            return found


async def wait_for_end(board: BoardAccess, task_id: TaskId, actor: Actor) -> TaskView:
    """Return the Task as it is when it has ended."""
    async with await board.watch(task_id) as signal:
        while True:
            seen = signal.reset()
            if await has_ended(board, task_id, actor):
                return await board.get(task_id, actor)
            await signal.wait(seen)


async def has_ended(board: BoardAccess, task_id: TaskId, actor: Actor) -> bool:
    """Return whether the Task has ended."""
    return await board.read(task_id, lambda task: task.is_terminal, actor)


async def pool_of(
    board: BoardAccess, task_id: TaskId, step_id: StepId, actor: Actor
) -> PoolId | None:
    """Return the worker pool of a step; None if there is no such step."""

    def look(task: Task) -> PoolId | None:
        found = task.steps.get(step_id)
        return None if found is None else found.worker_pool_id

    return await board.read(task_id, look, actor)
