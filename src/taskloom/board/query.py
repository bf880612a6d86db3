"""Queries of one Task's steps, a page at a time, in order of creation."""

from collections.abc import Callable, Collection, Iterator, Set
from itertools import islice
from typing import Final

from taskloom.board import validation
from taskloom.board.actor import Actor, Role, Scope
from taskloom.board.state.task import Task
from taskloom.board.status import HELD, STEP_OVER, StepStatus
from taskloom.board.views import StepPage, view_step
from taskloom.define import define
from taskloom.ids import AgentId, PoolId, StepId, TaskId

PAGE: Final = 50
WORKER_PAGE: Final = 5
"""A worker chooses one step; a longer list only fills its context."""

_PAGE_MAX: Final = 10_000
_OPEN: Final = frozenset(StepStatus) - STEP_OVER


@define(frozen=True, kw_only=True)
class QuerySteps:
    """Which steps to return; a filter that is not set matches every step."""

    task_id: TaskId
    statuses: Collection[StepStatus] | None = None
    worker_pool_id: PoolId | None = None
    claimed_by_agent_id: AgentId | None = None
    include_terminal_steps: bool = False
    limit: int | None = None
    offset: int = 0


def query_steps(task: Task, query: QuerySteps, actor: Actor) -> StepPage:
    """Return a page of the steps that the query names and the actor may see."""
    scope = actor.scope if actor.role is Role.WORKER else None
    limit = _limit(query, worker=scope is not None)
    offset = validation.number(query.offset, "$.offset", least=0, most=1 << 40)
    validation.flag(query.include_terminal_steps, "$.include_terminal_steps")
    statuses = _statuses(query)
    if query.claimed_by_agent_id is not None:
        statuses = statuses & HELD  # Other steps have no claimer.
    pools, keep = _pools(query, scope), _filter(task, query, scope)
    if scope is not None and scope.allowed_step_ids is not None:
        found = _walk_allowed(task, scope.allowed_step_ids, pools, statuses, keep)
    else:
        found = task.index.walk(pools, statuses, keep)
    page = list(islice(found, offset, offset + limit + 1))
    return StepPage(
        steps=tuple(view_step(task.steps[step_id]) for step_id in page[:limit]),
        has_more=len(page) > limit,
    )


def _walk_allowed(
    task: Task,
    allowed: Collection[StepId],
    pools: Collection[PoolId] | None,
    statuses: Collection[StepStatus],
    keep: Callable[[StepId], bool],
) -> Iterator[StepId]:
    """Yield the allowed steps alone, in order of creation: they are few, the plan may be big."""
    there = [task.steps[step_id] for step_id in allowed if step_id in task.steps]
    there.sort(key=lambda step: step.order)
    return (
        step.step_id
        for step in there
        if step.status in statuses
        and (pools is None or step.worker_pool_id in pools)
        and keep(step.step_id)
    )


def _limit(query: QuerySteps, *, worker: bool) -> int:
    if query.limit is None:
        return WORKER_PAGE if worker else PAGE
    return validation.number(query.limit, "$.limit", least=1, most=_PAGE_MAX)


def _statuses(query: QuerySteps) -> frozenset[StepStatus]:
    if query.statuses is None:
        return frozenset(StepStatus) if query.include_terminal_steps else _OPEN
    asked = list(query.statuses) if isinstance(query.statuses, Set) else query.statuses
    given = validation.items(asked, "$.statuses", most=len(StepStatus) * 10, least=1)
    known = [status.value for status in StepStatus]
    return frozenset(
        StepStatus(validation.one_of(status, f"$.statuses[{at}]", known))
        for at, status in enumerate(given)
    )


def _pools(query: QuerySteps, scope: Scope | None) -> Collection[PoolId] | None:
    asked = query.worker_pool_id
    if asked is not None:
        asked = validation.safe_id(asked, "$.worker_pool_id")
    if scope is None:
        return None if asked is None else (asked,)
    # A worker that asks for another pool gets an empty page, which says nothing of that pool.
    return (scope.worker_pool_id,) if asked in (None, scope.worker_pool_id) else ()


def _filter(task: Task, query: QuerySteps, scope: Scope | None) -> Callable[[StepId], bool]:
    holder = query.claimed_by_agent_id
    allowed = scope.allowed_step_ids if scope is not None else None

    def keep(step_id: StepId) -> bool:
        if allowed is not None and step_id not in allowed:
            return False
        return holder is None or task.steps[step_id].claimed_by_agent_id == holder

    return keep
