"""Carries out a plan without a model: idle workers claim ready steps until nothing can move.

Steps that fail or are blocked stay so: the caller sees them in the report, changes the plan, and
calls again.
"""

import asyncio
from collections import deque
from itertools import islice
from secrets import token_hex
from typing import Final

from msgspec import Struct

from taskloom.agent import context_without_run
from taskloom.board import Actor, RunOutcome, StepStatus, StepView, Task, TaskStatus
from taskloom.errors import Code, RefusedError
from taskloom.ids import AgentId, PoolId, StepId, TaskId
from taskloom.orchestrator.dispatch_request import DispatchRequest
from taskloom.orchestrator.dispatcher import Dispatcher
from taskloom.orchestrator.worker_run import WorkerRun
from taskloom.orchestrator.worker_runner import shielded
from taskloom.orchestrator.worker_slots import WorkerSlot
from taskloom.runtime import Board, ChangeSignal

_INSTRUCTION: Final = "Carry out the step."

_READ_AHEAD: Final = 64
"""Ready steps that are read from the board at once."""

_IDLE_RUNS_MAX: Final = 3
"""Runs in a row that may claim nothing before their worker gets no further run."""

_CANCEL_WAIT_S: Final = 1.0
"""How long the end waits for a cancelled worker; one that ignores it is abandoned."""

_TAKEN: Final = (
    Code.STEP_ALREADY_CLAIMED,
    Code.STEP_NOT_READY,
    Code.STEP_NOT_FOUND,
    Code.STEP_TERMINAL,
    Code.TASK_TERMINAL,
    Code.TASK_NOT_DISPATCHABLE,
)
"""Why a step that was ready a moment ago cannot be claimed: others changed the board meanwhile."""


class PlanReport(Struct, frozen=True, kw_only=True):
    """How far a plan was carried out when nothing could move any more."""

    task_id: TaskId
    completed: int
    runs: int
    open_steps: dict[str, int]
    """How many steps have each other status."""

    @property
    def is_done(self) -> bool:
        """Whether every step is completed or cancelled."""
        return not any(status != "cancelled" for status in self.open_steps)


class PlanRunner:
    """Carries out one Task once."""

    def __init__(self, dispatcher: Dispatcher, task_id: TaskId, instruction: str) -> None:
        """Take the Task, and the instruction that every run gets."""
        slots = dispatcher.slots
        self._dispatcher = dispatcher
        self._board: Board = dispatcher.worker_runner.board
        self._request = DispatchRequest(task_id=task_id, instruction=instruction or _INSTRUCTION)
        self._slots = list(slots)
        self._serving = list(slots)
        self._ready: dict[PoolId, deque[StepId]] = {pool: deque() for pool in slots.pool_ids}
        self._done = asyncio.Event()
        self._readers: dict[AgentId, Actor] = {}
        self._title = ""
        self._runs = 0
        self._active: set[WorkerRun] = set()

    async def run(self) -> PlanReport:
        """Work until no step is ready and no run is active."""
        async with await self._board.watch(self._request.task_id) as watch:
            create_task = asyncio.get_running_loop().create_task
            workers = [
                create_task(self._serve(slot, watch), context=context_without_run())
                for slot in self._slots
            ]
            done = asyncio.ensure_future(self._done.wait())
            try:
                with self._dispatcher.calls_on_abandoned(self._end_if_stuck):
                    await _wait_for_first_error(done, workers)
            finally:
                done.cancel()
                self._done.set()
                await shielded(self._stop(workers))
        reader = self._reader(self._slots[0])
        return await self._board.read(self._request.task_id, self._report, reader)

    async def _stop(self, workers: list[asyncio.Task[None]]) -> None:
        """Stop the runs that are left; one that does not stop is abandoned."""
        for worker in workers:
            worker.cancel()
        active = [run for run in self._active if not run.is_ended]
        for run in active:
            self._dispatcher.stop(run, RunOutcome.CANCELLED, "run_plan was stopped")
        await self._dispatcher.wait(active)
        await asyncio.wait(workers, timeout=_CANCEL_WAIT_S)

    async def _serve(self, slot: WorkerSlot, watch: ChangeSignal) -> None:
        """Give one worker step after step."""
        idle_runs = 0
        while not self._done.is_set():
            if self._dispatcher.is_paused or self._dispatcher.is_closed:
                await self._dispatcher.until_resumed()
            since = watch.reset()
            step_id = await self._next_step(slot) if slot.worker_run is None else None
            if step_id is None:
                if await self._can_continue(slot):
                    await watch.wait(since)
                else:
                    self._done.set()
                continue
            claimed = await self._run_one(slot, step_id)
            watch.wake()
            idle_runs = 0 if claimed else idle_runs + 1
            if idle_runs == _IDLE_RUNS_MAX:
                self._serving.remove(slot)
                return

    async def _next_step(self, slot: WorkerSlot) -> StepId | None:
        ready = self._ready[slot.pool_id]

        def look(task: Task) -> list[StepId]:
            self._title = task.title
            if task.is_terminal or task.status is TaskStatus.BLOCKED:
                return []
            found = task.index.walk((slot.pool_id,), (StepStatus.READY,), lambda _: True)
            return list(islice(found, _READ_AHEAD))

        if not ready:
            found = await self._board.read(self._request.task_id, look, self._reader(slot))
            if not ready:  # Another worker of the pool may have read meanwhile.
                ready.extend(found)
        return ready.popleft() if ready else None

    async def _run_one(self, slot: WorkerSlot, step_id: StepId) -> bool:
        """Carry out one run; return whether it claimed a step, or another run was faster."""
        dispatcher, runner = self._dispatcher, self._dispatcher.worker_runner
        run_id = f"run_{token_hex(8)}"
        step: StepView | None = None
        with dispatcher.reserve(slot, self._request, run_id, "first_idle") as run:
            run.task_title = self._title
            if not slot.worker.executor.claims:
                step = await self._claim(run, step_id)
                if step is None:
                    slot.free(run)
                    self._ready[slot.pool_id].clear()  # The plan has changed: read it again.
                    return True
        dispatcher.admit(run)
        self._runs += 1
        self._active.add(run)
        try:
            await runner.run(run, slot, step)
        finally:
            self._active.discard(run)
        return run.step_id is not None

    async def _claim(self, run: WorkerRun, step_id: StepId) -> StepView | None:
        runner = self._dispatcher.worker_runner
        try:
            return await runner.claim(run, step_id)
        except RefusedError as refused:
            if refused.code not in _TAKEN:
                raise
            return None
        except BaseException:
            # The claim may have been written before the cancellation: no run would hold it.
            await shielded(runner.release_step(run, RunOutcome.CANCELLED, None))
            raise

    async def _can_continue(self, slot: WorkerSlot) -> bool:
        """Return whether a step may still become ready without a change of the plan."""
        pools = {each.pool_id for each in self._serving}
        if any(each.status == "busy" for each in self._slots):
            return True

        def look(task: Task) -> bool:
            if task.is_terminal:
                return False
            if task.counts[StepStatus.CLAIMED] + task.counts[StepStatus.RUNNING]:
                return True
            if task.status is TaskStatus.BLOCKED:
                return False  # No step can be claimed until an Orchestrator reopens the Task.
            ready = task.index.walk(pools, (StepStatus.READY,), lambda _: True)
            return next(ready, None) is not None

        return await self._board.read(self._request.task_id, look, self._reader(slot))

    def _reader(self, slot: WorkerSlot) -> Actor:
        """Return the actor that reads the board for a worker and claims nothing."""
        reader = self._readers.get(slot.agent_id)
        if reader is None:
            reader = self._dispatcher.actor(slot, self._request, "run_host")
            self._readers[slot.agent_id] = reader
        return reader

    async def _end_if_stuck(self) -> None:
        """End when only abandoned workers are left."""
        if not any(slot.status == "busy" for slot in self._slots):
            has_idle = any(slot.status == "idle" for slot in self._serving)
            if not has_idle or not await self._can_continue(self._slots[0]):
                self._done.set()

    def _report(self, task: Task) -> PlanReport:
        counts = {status.value: count for status, count in task.counts.items() if count}
        return PlanReport(
            task_id=task.task_id,
            completed=counts.pop("completed", 0),
            runs=self._runs,
            open_steps=counts,
        )


async def _wait_for_first_error(
    done: asyncio.Task[bool], workers: list[asyncio.Task[None]]
) -> None:
    """Return when `done` or every worker has finished; raise the first worker's exception."""
    pending: set[asyncio.Task[None]] = set(workers)
    while pending and not done.done():
        finished, _ = await asyncio.wait({done, *pending}, return_when=asyncio.FIRST_COMPLETED)
        for worker in pending & finished:
            worker.result()
        pending -= finished
