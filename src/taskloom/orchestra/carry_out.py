"""Carrying a plan out without a model to orchestrate it: whoever is free takes what is ready.

    await orchestra.carry_out("release", instruction="Do the step.")

Every run is one like any other. Steps that fail or are blocked stay so: whoever called sees them
in the answer, changes the plan, and calls again.
"""

import asyncio
from collections import deque
from secrets import token_hex
from typing import Final

from msgspec import Struct

from taskloom.board import Actor, QuerySteps, StepStatus, StepView, Task
from taskloom.errors import Code, Refused
from taskloom.ids import PoolId, StepId, TaskId
from taskloom.orchestra.dispatch import Dispatcher
from taskloom.orchestra.order import Order
from taskloom.orchestra.roster import Seat
from taskloom.runtime import Board
from taskloom.runtime.watch import Watch

_AHEAD: Final = 64
"""Ready steps that are asked for at once."""

_IDLE_RUNS_MAX: Final = 3
"""Runs in a row that may leave what is ready alone before their worker is sent no more."""


class CarriedOut(Struct, frozen=True, kw_only=True):
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


class CarryOut:
    """One Task being carried out."""

    def __init__(self, dispatcher: Dispatcher, order: Order) -> None:
        """Take the order that every run is given."""
        roster = dispatcher.roster
        pools = [order.worker_pool_id] if order.worker_pool_id else roster.pool_ids
        self._dispatcher = dispatcher
        self._board: Board = dispatcher.lives.board
        self._order = order
        self._seats = [seat for pool in pools for seat in roster.of_pool(pool)]
        self._serving = list(self._seats)
        self._ready: dict[PoolId, deque[StepId]] = {pool: deque() for pool in pools}
        self._over = asyncio.Event()
        self._runs = 0

    async def run(self) -> CarriedOut:
        """Work until nothing is ready and nobody is at work."""
        async with await self._board.watch(self._order.task_id) as watch:
            workers = [asyncio.ensure_future(self._serve(seat, watch)) for seat in self._seats]
            over = asyncio.ensure_future(self._over.wait())
            try:
                # A worker that was given up may never come back; nobody waits for it.
                await asyncio.wait({over, *workers}, return_when=asyncio.FIRST_EXCEPTION)
                for worker in workers:
                    if worker.done():
                        worker.result()
            finally:
                over.cancel()
                self._over.set()
                for worker in workers:
                    worker.cancel()
                await asyncio.wait(workers, timeout=1)
        return await self._board.read(self._order.task_id, self._count, self._actor(self._seats[0]))

    async def _serve(self, seat: Seat, watch: Watch) -> None:
        """Let one worker do step after step."""
        idle_runs = 0
        while not self._over.is_set():
            if self._dispatcher.is_paused:
                await self._dispatcher.until_started()
            watch.reset()
            step_id = await self._next(seat) if seat.child is None else None
            if step_id is None:
                if not await self._may_go_on(seat):
                    self._over.set()
                else:
                    await watch.wait()
                continue
            claimed = await self._one(seat, step_id)
            watch.wake()
            idle_runs = 0 if claimed else idle_runs + 1
            if idle_runs == _IDLE_RUNS_MAX:
                self._serving.remove(seat)
                return

    async def _next(self, seat: Seat) -> StepId | None:
        ready = self._ready[seat.pool_id]
        if not ready:
            query = QuerySteps(
                task_id=self._order.task_id, statuses=(StepStatus.READY,), limit=_AHEAD
            )
            page = await self._board.query(query, self._actor(seat))
            if not ready:
                ready.extend(step.step_id for step in page.steps)
        return ready.popleft() if ready else None

    async def _one(self, seat: Seat, step_id: StepId) -> bool:
        """Let one run live; tell whether it claimed a step."""
        dispatcher, lives = self._dispatcher, self._dispatcher.lives
        child = dispatcher.make_child(seat, self._order, f"run_{token_hex(8)}", "first_idle")
        seat.child = child
        step: StepView | None = None
        if not seat.worker.executor.claims:
            try:
                step = await lives.claim(child, step_id)
            except Refused as refused:
                seat.child = None
                if refused.code in (Code.STEP_ALREADY_CLAIMED, Code.STEP_NOT_READY):
                    return True  # Another was quicker, and that is no idleness.
                raise
            except BaseException:
                seat.child = None
                raise
        dispatcher.add(child)
        self._runs += 1
        await lives.live(child, seat, step)
        return child.step_id is not None

    async def _may_go_on(self, seat: Seat) -> bool:
        """Tell whether anything may still become ready without the plan being changed."""
        pools = {each.pool_id for each in self._serving}
        if any(each.status == "busy" for each in self._seats):
            return True

        def look(task: Task) -> bool:
            if task.is_terminal:
                return False
            held = task.counts[StepStatus.CLAIMED] + task.counts[StepStatus.RUNNING]
            ready = task.index.walk(pools, (StepStatus.READY,), lambda _: True)
            return held > 0 or next(ready, None) is not None

        return await self._board.read(self._order.task_id, look, self._actor(seat))

    def _actor(self, seat: Seat) -> Actor:
        """Return who looks: a run that claims nothing."""
        return self._dispatcher.make_child(seat, self._order, "run_host", "look").actor

    def _count(self, task: Task) -> CarriedOut:
        counts = {status.value: count for status, count in task.counts.items() if count}
        return CarriedOut(
            task_id=task.task_id,
            completed=counts.pop("completed", 0),
            runs=self._runs,
            open_steps=counts,
        )
