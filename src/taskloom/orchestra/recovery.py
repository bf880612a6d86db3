"""After a crash of the host: its runs are dead, and the steps they held come back.

Whoever calls this must be the only host of the session. The workers' leases may still run for
minutes; nobody needs to wait for them, because the runs that held them ended with their host.
"""

from collections.abc import Collection, Iterable
from contextlib import suppress

from taskloom.board import (
    Actor,
    EndRun,
    ReopenStep,
    RunOutcome,
    StepStatus,
    Task,
    UpdateBoard,
)
from taskloom.board.status import HELD
from taskloom.errors import Refused
from taskloom.ids import AgentId, PoolId, RunId, StepId, TaskId
from taskloom.orchestra.child import Child
from taskloom.runtime import Board

_REASON = "the host of the worker run ended"


async def give_back(board: Board, actor: Actor, workers: Collection[AgentId]) -> list[StepId]:
    """Take back the steps that runs of these workers hold, in every active Task.

    Each such run is ended as failed, which is what it did, and its step is reopened.
    Returns the steps, with their Task: `task/step`.
    """
    given: list[StepId] = []
    for line in (await board.list(actor)).tasks:
        if line.status == "unavailable":
            continue
        for step_id, pool_id, agent_id, run_id in await _held(board, line.task_id, actor, workers):
            worker = board.worker(
                agent_id, run_id=run_id, task_id=line.task_id, worker_pool_id=pool_id
            )
            ended = EndRun(task_id=line.task_id, outcome=RunOutcome.FAILED)
            reopen = UpdateBoard(
                task_id=line.task_id, operations=(ReopenStep(step_id=step_id, reason=_REASON),)
            )
            try:
                await board.send(ended, worker)
                await board.send(reopen, actor)
            except Refused:
                continue  # Its lease ran out this very moment: it has come back by itself.
            given.append(f"{line.task_id}/{step_id}")
    return given


async def reopen_stopped(board: Board, actor: Actor, children: Iterable[Child]) -> None:
    """Let the steps of runs that were stopped be taken again, as if those had never begun."""
    for child in children:
        failed = child.step_status is StepStatus.FAILED
        if child.step_id is None or child.stop_reason is not RunOutcome.CANCELLED or not failed:
            continue
        reopen = ReopenStep(step_id=child.step_id, reason="its worker was called back")
        with suppress(Refused):  # Whoever reopened or ended it meanwhile had a reason.
            await board.send(UpdateBoard(task_id=child.task_id, operations=(reopen,)), actor)


async def _held(
    board: Board, task_id: TaskId, actor: Actor, workers: Collection[AgentId]
) -> list[tuple[StepId, PoolId, AgentId, RunId]]:
    def look(task: Task) -> list[tuple[StepId, PoolId, AgentId, RunId]]:
        found: list[tuple[StepId, PoolId, AgentId, RunId]] = []
        for step_id in task.index.walk(None, tuple(HELD), lambda _: True):
            step = task.steps[step_id]
            agent_id, run_id = step.claimed_by_agent_id, step.claimed_by_run_id
            if agent_id in workers and agent_id is not None and run_id is not None:
                found.append((step_id, step.worker_pool_id, agent_id, run_id))
        return found

    return await board.read(task_id, look, actor)
