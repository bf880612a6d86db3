"""Returns the steps of runs that ended with their host: after a crash, and when a host closes.

The caller must be the only host of the session. Then the leases of an earlier host's runs need not
expire first, because those runs ended with it.
"""

from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Final

from msgspec import Struct

from taskloom.board import (
    HELD,
    Actor,
    ReopenStep,
    RunOutcome,
    StepStatus,
    Task,
    UpdateBoard,
    UpdateStep,
)
from taskloom.errors import RefusedError
from taskloom.ids import AgentId, PoolId, RunId, StepId, TaskId
from taskloom.orchestrator.worker_run import WorkerRun
from taskloom.runtime import Board

_HOST_ENDED: Final = "the host of the worker run ended"
"""The end of the result of a step that is being released: the next host finds it by this."""


class HeldStep(Struct, frozen=True):
    """A step that a run of an earlier host holds."""

    step_id: StepId
    pool_id: PoolId
    agent_id: AgentId
    run_id: RunId
    result: str | None


async def release_orphaned_steps(
    board: Board, actor: Actor, workers: Collection[AgentId]
) -> list[str]:
    """Release the steps that runs of these workers hold, in every active Task.

    Each such run is ended as failed and its step is reopened; the next call finishes what a crash
    between the two left. Returns the steps as `task_id/step_id`.
    """
    released: list[str] = []
    for line in (await board.list(actor)).tasks:
        if line.status == "unavailable":
            continue
        for held in await board.read(line.task_id, lambda task: find_held(task, workers), actor):
            await fail_held(board, line.task_id, held)
        for step_id in await board.read(line.task_id, _failed_with_host, actor):
            reopen = ReopenStep(step_id=step_id, reason=_HOST_ENDED)
            try:
                await board.send(UpdateBoard(task_id=line.task_id, operations=(reopen,)), actor)
            except RefusedError:
                continue  # It was reopened meanwhile, or the Task has ended.
            released.append(f"{line.task_id}/{step_id}")
    return released


async def reopen_stopped(board: Board, actor: Actor, runs: Iterable[WorkerRun]) -> None:
    """Reopen the steps of runs that were stopped, so that others can take them."""
    for run in runs:
        stop = run.stop_request
        was_stopped = stop is not None and stop.outcome is RunOutcome.CANCELLED
        if run.step_id is None or not was_stopped or run.step_status is not StepStatus.FAILED:
            continue
        reopen = ReopenStep(step_id=run.step_id, reason="its worker was stopped")
        with suppress(RefusedError):  # It was reopened meanwhile, or the Task has ended.
            await board.send(UpdateBoard(task_id=run.task_id, operations=(reopen,)), actor)


async def fail_held(board: Board, task_id: TaskId, held: HeldStep) -> None:
    """End a run of an earlier host: the first half of releasing its step."""
    worker = board.worker(
        held.agent_id, run_id=held.run_id, task_id=task_id, worker_pool_id=held.pool_id
    )
    failed = UpdateStep(
        task_id=task_id,
        step_id=held.step_id,
        status=StepStatus.FAILED,
        reason=RunOutcome.FAILED.value,
        result_summary=f"{held.result}\n{_HOST_ENDED}" if held.result else _HOST_ENDED,
    )
    with suppress(RefusedError):  # Its lease expired this moment: the step is ready again.
        await board.send(failed, worker)


def find_held(task: Task, workers: Collection[AgentId]) -> list[HeldStep]:
    """Return the steps that runs of these workers hold."""
    found: list[HeldStep] = []
    for step_id in task.index.walk(None, tuple(HELD), lambda _: True):
        step = task.steps[step_id]
        agent_id, run_id = step.claimed_by_agent_id, step.claimed_by_run_id
        if agent_id in workers and agent_id is not None and run_id is not None:
            pool_id, result = step.worker_pool_id, step.result_summary
            found.append(HeldStep(step_id, pool_id, agent_id, run_id, result))
    return found


def _failed_with_host(task: Task) -> list[StepId]:
    """Return the steps that `fail_held` failed and that are not reopened yet."""

    def is_released(step_id: StepId) -> bool:
        step = task.steps[step_id]
        result = step.result_summary or ""
        return step.reason == RunOutcome.FAILED.value and result.endswith(_HOST_ENDED)

    return list(task.index.walk(None, (StepStatus.FAILED,), is_released))
