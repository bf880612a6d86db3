"""Carrying a plan out without a model to orchestrate it: whoever is free takes what is ready.

    await orchestra.carry_out("release", instruction="Do the step.")

Every run is one like any other. Steps that fail or are blocked stay so: whoever called sees them
in the answer, changes the plan, and calls again.
"""

import asyncio
from collections import deque
from itertools import islice
from secrets import token_hex
from typing import Final

from msgspec import Struct

from taskloom.agent import context_without_run
from taskloom.board import (
    Actor,
    RunOutcome,
    StepStatus,
    StepView,
    Task,
    TaskStatus,
)
from taskloom.errors import Code, RefusedError
from taskloom.ids import AgentId, PoolId, StepId, TaskId
from taskloom.orchestrator.dispatch_request import DispatchRequest
from taskloom.orchestrator.dispatcher import Dispatcher
from taskloom.orchestrator.errors import shielded
from taskloom.orchestrator.worker_run import WorkerRun
from taskloom.orchestrator.worker_slots import WorkerSlot
from taskloom.runtime import Board
from taskloom.runtime.change_signal import ChangeSignal

_AHEAD: Final = 64
"""Ready steps that are asked for at once."""

_IDLE_RUNS_MAX: Final = 3
"""Runs in a row that may leave what is ready alone before their worker is sent no more."""

_LINGER_S: Final = 1.0
"""How long the end waits for a worker that was cancelled; one that ignores it is left behind."""

_TAKEN: Final = (
    Code.STEP_ALREADY_CLAIMED,
    Code.STEP_NOT_READY,
    Code.STEP_NOT_FOUND,
    Code.STEP_TERMINAL,
    Code.TASK_TERMINAL,
    Code.TASK_NOT_DISPATCHABLE,
)
"""Why a step that was ready a moment ago cannot be had: others changed the board meanwhile."""


class PlanReport(Struct, frozen=True, kw_only=True):
    """How far a plan came when nothing could move any more."""

    task_id: TaskId
    completed: int
    runs: int
    open_steps: dict[str, int]
    """How many steps of each other status there are."""

    @property
    def is_done(self) -> bool:
        """Whether every step is completed or cancelled."""
        return not any(status != "cancelled" for status in self.open_steps)


class PlanRunner:
    """One Task being carried out."""

    def __init__(self, dispatcher: Dispatcher, order: DispatchRequest) -> None:
        """Take the order that every run is given."""
        roster = dispatcher.roster
        pools = [order.worker_pool_id] if order.worker_pool_id else roster.pool_ids
        self._dispatcher = dispatcher
        self._board: Board = dispatcher.worker_runner.board
        self._order = order
        self._seats = [slot for pool in pools for slot in roster.of_pool(pool)]
        self._serving = list(self._seats)
        self._ready: dict[PoolId, deque[StepId]] = {pool: deque() for pool in pools}
        self._over = asyncio.Event()
        self._looks: dict[AgentId, Actor] = {}
        self._runs = 0
        self._children: set[WorkerRun] = set()
        """Runs of this carrying out that are under way."""

    async def run(self) -> PlanReport:
        """Work until nothing is ready and nobody is at work."""
        async with await self._board.watch(self._order.task_id) as watch:
            create_task = asyncio.get_running_loop().create_task
            workers = [
                create_task(self._serve(slot, watch), context=context_without_run())
                for slot in self._seats
            ]
            over = asyncio.ensure_future(self._over.wait())
            try:
                with self._dispatcher.told_of_given_up(self._end_if_stuck):
                    await _first_trouble(over, workers)
            finally:
                over.cancel()
                self._over.set()
                await shielded(self._stop(workers))
        return await self._board.read(self._order.task_id, self._count, self._actor(self._seats[0]))

    async def _stop(self, workers: list[asyncio.Task[None]]) -> None:
        """End the runs that are left; one that does not stop is given up, and its task left."""
        for worker in workers:
            worker.cancel()
        left = [worker_run for worker_run in self._children if not worker_run.is_over]
        for worker_run in left:
            self._dispatcher.stop(worker_run, RunOutcome.CANCELLED, "the carrying out was stopped")
        await self._dispatcher.wait(left)
        await asyncio.wait(workers, timeout=_LINGER_S)

    async def _serve(self, slot: WorkerSlot, watch: ChangeSignal) -> None:
        """Let one worker do step after step."""
        idle_runs = 0
        while not self._over.is_set():
            if self._dispatcher.is_paused or self._dispatcher.is_closed:
                await self._dispatcher.until_started()
            since = watch.reset()
            step_id = await self._next(slot) if slot.worker_run is None else None
            if step_id is None:
                if not await self._may_go_on(slot):
                    self._over.set()
                else:
                    await watch.wait(since)
                continue
            claimed = await self._one(slot, step_id)
            watch.wake()
            idle_runs = 0 if claimed else idle_runs + 1
            if idle_runs == _IDLE_RUNS_MAX:
                self._serving.remove(slot)
                return

    async def _next(self, slot: WorkerSlot) -> StepId | None:
        ready = self._ready[slot.pool_id]

        def look(task: Task) -> list[StepId]:
            if task.is_terminal or task.status is TaskStatus.BLOCKED:
                return []
            found = task.index.walk((slot.pool_id,), (StepStatus.READY,), lambda _: True)
            return list(islice(found, _AHEAD))

        if not ready:
            found = await self._board.read(self._order.task_id, look, self._actor(slot))
            if not ready:
                ready.extend(found)
        return ready.popleft() if ready else None

    async def _one(self, slot: WorkerSlot, step_id: StepId) -> bool:
        """Let one run live; tell whether it claimed a step."""
        dispatcher, worker_runner = self._dispatcher, self._dispatcher.worker_runner
        worker_run = dispatcher.make_worker_run(
            slot, self._order, f"run_{token_hex(8)}", "first_idle"
        )
        slot.worker_run = worker_run
        step: StepView | None = None
        if not slot.worker.executor.claims:
            try:
                step = await worker_runner.claim(worker_run, step_id)
            except RefusedError as refused:
                slot.worker_run = None
                if refused.code not in _TAKEN:
                    raise
                self._ready[slot.pool_id].clear()  # The plan has moved on; look again.
                return True  # Another was quicker, and that is no idleness.
            except BaseException:
                # It may have been claimed all the same: then nobody holds it any more.
                await shielded(worker_runner.let_go(worker_run, RunOutcome.CANCELLED, None))
                slot.worker_run = None
                raise
        dispatcher.add(worker_run)
        self._runs += 1
        self._children.add(worker_run)
        try:
            await worker_runner.live(worker_run, slot, step)
        finally:
            self._children.discard(worker_run)
        return worker_run.step_id is not None

    async def _may_go_on(self, slot: WorkerSlot) -> bool:
        """Tell whether anything may still become ready without the plan being changed."""
        pools = {each.pool_id for each in self._serving}
        if any(each.status == "busy" for each in self._seats):
            return True

        def look(task: Task) -> bool:
            if task.is_terminal:
                return False
            if task.counts[StepStatus.CLAIMED] + task.counts[StepStatus.RUNNING]:
                return True
            if task.status is TaskStatus.BLOCKED:
                return False  # Nobody may claim until an Orchestrator reopens it.
            ready = task.index.walk(pools, (StepStatus.READY,), lambda _: True)
            return next(ready, None) is not None

        return await self._board.read(self._order.task_id, look, self._actor(slot))

    def _actor(self, slot: WorkerSlot) -> Actor:
        """Return who looks: a run that claims nothing."""
        looks = self._looks.get(slot.agent_id)
        if looks is None:
            looks = self._dispatcher.make_worker_run(slot, self._order, "run_host", "look").actor
            self._looks[slot.agent_id] = looks
        return looks

    async def _end_if_stuck(self) -> None:
        """End when nobody is left but workers that were given up and do not come back."""
        if not any(slot.status == "busy" for slot in self._seats):
            at_work = any(slot.status == "idle" for slot in self._serving)
            if not at_work or not await self._may_go_on(self._seats[0]):
                self._over.set()

    def _count(self, task: Task) -> PlanReport:
        counts = {status.value: count for status, count in task.counts.items() if count}
        return PlanReport(
            task_id=task.task_id,
            completed=counts.pop("completed", 0),
            runs=self._runs,
            open_steps=counts,
        )


async def _first_trouble(over: asyncio.Task[bool], workers: list[asyncio.Task[None]]) -> None:
    """Return when it is over or nobody works any more; raise what the first to fail raised."""
    pending: set[asyncio.Task[None]] = set(workers)
    while pending and not over.done():
        done, _ = await asyncio.wait({over, *pending}, return_when=asyncio.FIRST_COMPLETED)
        for worker in pending & done:
            worker.result()
        pending -= done
