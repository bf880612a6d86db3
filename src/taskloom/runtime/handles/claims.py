"""What claims do: take a step for a run and report on it, for both kinds of callers."""

from collections.abc import Callable, Iterable
from time import monotonic
from typing import Final

from taskloom.board import (
    Actor,
    Claimable,
    ClaimStep,
    EndRun,
    Receipt,
    RunOutcome,
    StepStatus,
    StepView,
    Task,
    UpdateStep,
    find_claimable,
    view_step,
)
from taskloom.board.validation import JsonData
from taskloom.errors import Code, RefusedError, TaskloomError
from taskloom.ids import PoolId, Seq, StepId, TaskId
from taskloom.runtime.handles.access import BoardAccess
from taskloom.runtime.handles.held_step import HeldStep, StepResult, describe
from taskloom.runtime.handles.plan import listed

_LOST_RACES: Final = frozenset(
    {
        Code.STEP_ALREADY_CLAIMED,
        Code.STEP_NOT_READY,
        Code.STEP_NOT_FOUND,
        Code.TASK_TERMINAL,
        Code.TASK_NOT_DISPATCHABLE,
    }
)
"""Why a step that was ready a moment ago cannot be claimed any more."""


async def claim_step(board: BoardAccess, actor: Actor, step_id: StepId) -> HeldStep:
    """Claim one step for a run of a worker.

    Raises:
        RefusedError: It cannot be claimed.
    """
    assert actor.scope is not None
    task_id, claimed_at_s = actor.scope.task_id, monotonic()
    receipt = await board.send(ClaimStep(task_id=task_id, step_id=step_id), actor)
    assert receipt.step is not None
    assert receipt.fence is not None
    inputs = await _read_inputs(board, receipt.step, actor)
    return HeldStep(task_id, actor, receipt.step, receipt.fence, inputs, claimed_at_s)


async def claim_next_step(board: BoardAccess, actor: Actor, *, wait: bool) -> HeldStep | None:
    """Claim the first ready step of a worker's pool, in plan order.

    With `wait`, return when there is one, or None when none can come.
    """
    assert actor.scope is not None
    look = _look_for(actor.scope.worker_pool_id)
    if not wait:
        held, _ = await _claim_first(board, actor, look)
        return held
    async with await board.watch(actor.scope.task_id) as signal:
        while True:
            seen = signal.reset()
            held, more_may_come = await _claim_first(board, actor, look)
            if held is not None or not more_may_come:
                return held
            await signal.wait(seen)


def _look_for(pool: PoolId) -> Callable[[Task], Claimable]:
    """Return what finds the pool's claimable steps, and looks again only after a change."""
    seen: tuple[str, Seq] | None = None
    found = Claimable((), more_may_come=False)

    def look(task: Task) -> Claimable:
        nonlocal seen, found
        now = (task.event_prefix, task.seq)
        if now != seen:
            seen, found = now, find_claimable(task, pool)
        return found

    return look


async def _claim_first(
    board: BoardAccess, actor: Actor, look: Callable[[Task], Claimable]
) -> tuple[HeldStep | None, bool]:
    """Return the claimed step, and whether more may come if there is none."""
    scope = actor.scope
    assert scope is not None
    while True:
        found = await board.read(scope.task_id, look, actor)
        for step_id in found.ready:
            try:
                return await claim_step(board, actor, step_id), True
            except RefusedError as refused:
                if not _is_lost_race(refused, scope.worker_pool_id):
                    raise
        if not found.ready:
            return None, found.more_may_come


def _is_lost_race(refused: RefusedError, pool: PoolId) -> bool:
    moved = refused.details.get("worker_pool_id", pool) != pool
    return refused.code in _LOST_RACES or (refused.code is Code.PERMISSION_DENIED and moved)


async def _read_inputs(
    board: BoardAccess, step: StepView, actor: Actor
) -> dict[StepId, StepResult]:
    if not step.depends_on_step_ids:
        return {}
    assert actor.scope is not None

    def look(task: Task) -> dict[StepId, StepResult]:
        # They were completed when the step was claimed, and what is completed does not change.
        before = [view_step(task.steps[on]) for on in step.depends_on_step_ids]
        return {
            each.step_id: StepResult(each.result_summary or "", each.result_data, each.artifact_ids)
            for each in before
        }

    return await board.read(actor.scope.task_id, look, actor)


async def report(
    board: BoardAccess,
    held: HeldStep,
    status: StepStatus,
    *,
    text: str | None = None,
    reason: str | None = None,
    data: JsonData = None,
    artifacts: Iterable[str] = (),
) -> Receipt:
    """Write the state or the result of a step that a run holds."""
    update = UpdateStep(
        task_id=held.task_id,
        step_id=held.step.step_id,
        status=status,
        result_summary=text,
        result_data=data,
        artifact_ids=listed(artifacts, "$.artifacts", "artifact ids") or None,
        reason=reason,
        fence=held.fence,
    )
    return await board.send(update, held.actor)


async def end_run(board: BoardAccess, task_id: TaskId, actor: Actor, outcome: RunOutcome) -> None:
    """Fail the step that a run still holds, if any."""
    await board.send(EndRun(task_id=task_id, outcome=outcome), actor)


async def end_unreported(board: BoardAccess, held: HeldStep, error: BaseException | None) -> None:
    """Fail a step whose worker left without a report.

    Raises:
        StorageError: It could not be written. Its lease will run out.
    """
    try:
        if isinstance(error, Exception):
            await report(board, held, StepStatus.FAILED, reason=describe(error))
        else:
            outcome = RunOutcome.FINISHED if error is None else RunOutcome.CANCELLED
            await end_run(board, held.task_id, held.actor, outcome)
    except RefusedError:
        return  # The run holds nothing any more: its lease was lost, or the Task has ended.
    except TaskloomError as unwritten:
        if error is None:
            raise
        error.add_note(f"The step could not be failed: {unwritten}")
