"""After a crash of the host: its runs are dead, and the steps they held come back.

Whoever calls this must be the only host of the session. The workers' leases may still run for
minutes; nobody needs to wait for them, because the runs that held them ended with their host.
"""

from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Final

from msgspec import Struct

from taskloom.board import (
    Actor,
    ReopenStep,
    RunOutcome,
    StepStatus,
    Task,
    UpdateBoard,
    UpdateStep,
)
from taskloom.board.status import HELD
from taskloom.errors import RefusedError
from taskloom.ids import AgentId, PoolId, RunId, StepId, TaskId
from taskloom.orchestrator.worker_run import WorkerRun
from taskloom.runtime import Board

_REASON: Final = "the host of the worker run ended"
"""Stands at the end of the result of a step that is taken back: who finds it goes on from there."""


class Held(Struct, frozen=True):
    """A step that a dead run holds."""

    step_id: StepId
    pool_id: PoolId
    agent_id: AgentId
    run_id: RunId
    result: str | None


async def release_orphaned_steps(
    board: Board, actor: Actor, workers: Collection[AgentId]
) -> list[StepId]:
    """Take back the steps that runs of these workers hold, in every active Task.

    Each such run is ended as failed, which is what it did, and its step is reopened; a crash
    between the two is made good by the next call. Returns the steps, with their Task: `task/step`.
    """
    given: list[StepId] = []
    for line in (await board.list(actor)).tasks:
        if line.status == "unavailable":
            continue
        for held in await board.read(line.task_id, lambda task: find_held(task, workers), actor):
            await fail_held(board, line.task_id, held)
        for step_id in await board.read(line.task_id, _marked, actor):
            again = UpdateBoard(
                task_id=line.task_id, operations=(ReopenStep(step_id=step_id, reason=_REASON),)
            )
            try:
                await board.send(again, actor)
            except RefusedError:
                continue  # Somebody else reopened it, or the Task is over.
            given.append(f"{line.task_id}/{step_id}")
    return given


async def reopen_stopped(board: Board, actor: Actor, worker_runs: Iterable[WorkerRun]) -> None:
    """Let the steps of runs that were stopped be taken again, as if those had never begun."""
    for worker_run in worker_runs:
        failed = worker_run.step_status is StepStatus.FAILED
        if (
            worker_run.step_id is None
            or worker_run.stop_reason is not RunOutcome.CANCELLED
            or not failed
        ):
            continue
        reopen = ReopenStep(step_id=worker_run.step_id, reason="its worker was called back")
        with suppress(RefusedError):  # Whoever reopened or ended it meanwhile had a reason.
            await board.send(UpdateBoard(task_id=worker_run.task_id, operations=(reopen,)), actor)


async def fail_held(board: Board, task_id: TaskId, held: Held) -> None:
    """End a dead run: the first half of taking its step back."""
    worker = board.worker(
        held.agent_id, run_id=held.run_id, task_id=task_id, worker_pool_id=held.pool_id
    )
    failed = UpdateStep(
        task_id=task_id,
        step_id=held.step_id,
        status=StepStatus.FAILED,
        reason=RunOutcome.FAILED.value,
        result_summary=f"{held.result}\n{_REASON}" if held.result else _REASON,
    )
    try:
        await board.send(failed, worker)
    except RefusedError:
        return  # Its lease ran out this very moment: it has come back by itself.


def find_held(task: Task, workers: Collection[AgentId]) -> list[Held]:
    """Return the steps that runs of these workers hold."""
    found: list[Held] = []
    for step_id in task.index.walk(None, tuple(HELD), lambda _: True):
        step = task.steps[step_id]
        agent_id, run_id = step.claimed_by_agent_id, step.claimed_by_run_id
        if agent_id in workers and agent_id is not None and run_id is not None:
            pool_id, result = step.worker_pool_id, step.result_summary
            found.append(Held(step_id, pool_id, agent_id, run_id, result))
    return found


def _marked(task: Task) -> list[StepId]:
    """Return the steps that were failed here and wait to be reopened."""

    def is_marked(step_id: StepId) -> bool:
        step = task.steps[step_id]
        return step.reason == RunOutcome.FAILED.value and (step.result_summary or "").endswith(
            _REASON
        )

    return list(task.index.walk(None, (StepStatus.FAILED,), is_marked))
