"""The steps that a worker of a pool can claim now, and whether more may become ready."""

from itertools import islice
from typing import NamedTuple

from taskloom.board.state.task import Task
from taskloom.board.status import ALIVE, HELD, StepStatus, TaskStatus
from taskloom.ids import PoolId, StepId


class Claimable(NamedTuple):
    """The ready steps of a pool, and what may still become one."""

    ready: tuple[StepId, ...]
    """The first of them, in plan order."""
    more_may_come: bool
    """Whether a step of the pool can become ready without a change of the plan."""


def find_claimable(task: Task, pool: PoolId, limit: int = 16) -> Claimable:
    """Return what a worker of the pool can claim.

    A step that another worker holds counts as one that may come: its lease may run out, and
    its completion may make others ready. A blocked or failed step does not: only a reopen,
    which is a change of the plan, brings it back. The same goes for a blocked Task.
    """
    if task.is_terminal or task.status is TaskStatus.BLOCKED:
        return Claimable((), more_may_come=False)
    ready = task.index.walk((pool,), {StepStatus.READY}, _any_step)
    found = tuple(islice(ready, limit))
    return Claimable(found, more_may_come=bool(found) or _more_may_come(task, pool))


def _more_may_come(task: Task, pool: PoolId) -> bool:
    index = task.index
    if not any(task.counts[status] for status in ALIVE):
        return False  # No step can change any more.
    if next(index.walk((pool,), HELD, _any_step), None) is not None:
        return True
    # Only steps of other pools can change: now the graph decides.
    completable: dict[StepId, bool] = {}
    pending = index.walk((pool,), {StepStatus.PENDING}, _any_step)
    return any(_is_completable(task, step_id, completable) for step_id in pending)


def _is_completable(task: Task, wanted: StepId, known: dict[StepId, bool]) -> bool:
    """Return whether a step can complete with this plan; remember the answer for all below it."""
    stack = [wanted]
    while stack:
        step = task.steps[stack[-1]]
        if step.status is not StepStatus.PENDING:
            known[step.step_id] = step.status in ALIVE or step.status is StepStatus.COMPLETED
        if step.step_id in known:
            stack.pop()
            continue
        unknown = [on for on in step.depends_on_step_ids if on not in known]
        if not unknown:
            known[step.step_id] = all(known[on] for on in step.depends_on_step_ids)
        stack += unknown
    return known[wanted]


def _any_step(_step_id: StepId) -> bool:
    return True
