"""What the demo plays: an Orchestrator with a plan, and three workers of which one dies.

Everything happens on the real board with a durable log; only the work itself is make-believe.
The one that dies is not cancelled and tells nobody. It just stops, as a killed process would, and
the board finds out as it always does: the lease runs out, and the next to ask takes the step back.
"""

from collections.abc import Callable
from contextlib import aclosing
from datetime import timedelta
from typing import Final

import anyio

from taskloom.board import (
    TERMINAL_EVENTS,
    Actor,
    ClaimStep,
    CompleteTask,
    CreateTask,
    NewStep,
    QuerySteps,
    Rules,
    StepStatus,
    StepView,
    TaskView,
    UpdateStep,
)
from taskloom.errors import Code, Refused
from taskloom.runtime import Board, Record

TASK_ID: Final = "release"
SESSION_ID: Final = "demo"
WORKERS: Final = ("ada", "bob", "cleo")
RULES: Final = Rules(lease=timedelta(seconds=1))
"""Short, so that nobody waits long for the dead one."""

FATAL_STEP: Final = "server"
"""Whoever claims it first dies in the middle of it."""

_WORK_S: Final = 0.3
_LOOK_S: Final = 0.05
_READY: Final = QuerySteps(task_id=TASK_ID, statuses=(StepStatus.READY,), limit=1)

PLAN: Final = (
    NewStep(step_id="plan", title="Write down what is wanted"),
    NewStep(step_id="schema", title="Design the tables", depends_on_step_ids=("plan",)),
    NewStep(step_id="api", title="Design the interface", depends_on_step_ids=("plan",)),
    NewStep(step_id="storage", title="Write the storage", depends_on_step_ids=("schema",)),
    NewStep(step_id="server", title="Write the server", depends_on_step_ids=("api", "storage")),
    NewStep(step_id="client", title="Write the client", depends_on_step_ids=("api",)),
    NewStep(step_id="page", title="Draw the web page", depends_on_step_ids=("api",)),
    NewStep(step_id="tests", title="Test it all", depends_on_step_ids=("client", "server")),
    NewStep(step_id="guide", title="Write the guide", depends_on_step_ids=("client",)),
    NewStep(step_id="bench", title="Measure it", depends_on_step_ids=("server",)),
    NewStep(step_id="package", title="Build it", depends_on_step_ids=("page", "guide", "tests")),
    NewStep(step_id="publish", title="Publish it", depends_on_step_ids=("bench", "package")),
)


class Tour:
    """One performance."""

    def __init__(self, board: Board, tell: Callable[[str], None]) -> None:
        """Play on this board; `tell` what no event says."""
        self._board = board
        self._tell = tell
        self._orchestrator = board.orchestrator("orchestrator", run_id="orchestrator-1")
        self._has_died = False

    async def play(self, show: Callable[[Record, TaskView], None]) -> None:
        """Show every event as it becomes durable, with the board as it is then."""
        create = CreateTask(task_id=TASK_ID, wal_name=TASK_ID, title="Ship the release", steps=PLAN)
        await self._board.send(create, self._orchestrator)
        async with anyio.create_task_group() as group:
            group.start_soon(self._finish)
            for name in WORKERS:
                group.start_soon(self._work, name)
            async with aclosing(self._board.follow(TASK_ID)) as records:
                async for record in records:
                    show(record, await self.look())
                    if record.event_type in TERMINAL_EVENTS:
                        break
            group.cancel_scope.cancel()

    async def look(self) -> TaskView:
        """Return the live board."""
        return await self._board.get(TASK_ID, self._orchestrator)

    async def _finish(self) -> None:
        """Wait until nothing is left to do, then end the Task."""
        async with aclosing(self._board.follow(TASK_ID)) as records:
            async for _ in records:
                if (await self.look()).completeable:
                    break
        end = CompleteTask(task_id=TASK_ID, result_summary="1.0 is out")
        await self._board.send(end, self._orchestrator)

    async def _work(self, name: str) -> None:
        """Take one step after the other until dead; each is a run of its own."""
        runs = 0
        while True:
            worker = self._board.worker(name, run_id=f"{name}-{runs + 1}", task_id=TASK_ID)
            page = await self._board.query(_READY, worker)
            if not page.steps:
                await anyio.sleep(_LOOK_S)
                continue
            runs += 1
            try:
                if not await self._carry_out(page.steps[0], worker):
                    return
            except Refused as refused:
                if refused.code is Code.LEASE_LOST:
                    self._tell(f"{name} was too slow and lost its step; another has it now.")
                elif refused.code is not Code.STEP_ALREADY_CLAIMED:
                    raise
                # Somebody was quicker: no failure, and there are other steps.

    async def _carry_out(self, step: StepView, worker: Actor) -> bool:
        """Claim a step and do it; tell whether the worker lived to see it done."""
        claim = ClaimStep(task_id=TASK_ID, step_id=step.step_id)
        fence = (await self._board.send(claim, worker)).fence
        start = UpdateStep(
            task_id=TASK_ID, step_id=step.step_id, status=StepStatus.RUNNING, fence=fence
        )
        await self._board.send(start, worker)
        await anyio.sleep(_WORK_S)
        if step.step_id == FATAL_STEP and not self._has_died:
            self._has_died = True
            self._tell(f"{worker.agent_id} dies in the middle of {step.step_id}. Nobody is told.")
            return False
        done = UpdateStep(
            task_id=TASK_ID,
            step_id=step.step_id,
            status=StepStatus.COMPLETED,
            result_summary=f"done by {worker.agent_id}",
            fence=fence,
        )
        await self._board.send(done, worker)
        return True
