"""Dispatch: which worker, may it, and what becomes of its run.

The dispatcher assigns no step: runs claim. It stops runs on request, gives up those that do not
stop in time, and renews the lease of every run that is alive, so that a lease runs out only when
its host has died or lost the log.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from contextlib import contextmanager, suppress
from typing import Any, Final

from taskloom.board import (
    QuerySteps,
    RenewLease,
    RunOutcome,
    StepStatus,
    Task,
    TaskStatus,
    query_steps,
)
from taskloom.errors import Code, Refused, TaskloomError
from taskloom.ids import RunId, TaskId
from taskloom.orchestra.child import Child, Ending
from taskloom.orchestra.happening import Happening, RunEvent
from taskloom.orchestra.lives import Lives
from taskloom.orchestra.order import Order
from taskloom.orchestra.own_context import own_context
from taskloom.orchestra.roster import Roster, Seat
from taskloom.orchestra.settings import Settings

_NAMED_MAX: Final = 5
_OVER_KEPT_MAX: Final = 1_000
"""Runs that have ended and can still be asked about with wait_workers."""


class Dispatcher:
    """The worker runs of one session. Use it from one event loop."""

    def __init__(self, lives: Lives, roster: Roster, settings: Settings) -> None:
        """Begin with nobody at work."""
        self.lives = lives
        self.roster = roster
        self.settings = settings
        self.children: dict[RunId, Child] = {}
        self.noticed: Callable[[TaskId], None] | None = None
        """Told of every Task that workers are sent to."""
        self.is_closed = False
        """Whether no run may start any more."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._told_of_given_up: list[Callable[[], Awaitable[None]]] = []
        self._may_start = asyncio.Event()
        self._may_start.set()

    @property
    def is_paused(self) -> bool:
        """Whether new runs wait; those under way go on."""
        return not self._may_start.is_set()

    def pause(self) -> None:
        """Let new runs wait until `go_on`."""
        self._may_start.clear()

    def go_on(self) -> None:
        """Let new runs start again."""
        self._may_start.set()

    async def until_started(self) -> None:
        """Return when new runs may start.

        Raises:
            Refused: none may any more.
        """
        await self._may_start.wait()
        self._require_open()

    def _require_open(self) -> None:
        if self.is_closed:
            raise Refused(
                Code.WORKER_NOT_AVAILABLE,
                "This session is being closed, so no worker can be started. What the board holds "
                "stays; go on from there in the next session.",
            )

    async def start(self, order: Order, run_id: RunId) -> Child | Ending:
        """Choose a worker and start its run; if no step in scope is ready, say so instead.

        Raises:
            Refused: the dispatch cannot be; no run has started.
        """
        await self.until_started()
        try:
            seat, reason = self.roster.choose(order.worker_pool_id, order.worker_agent_id)
            child = self.make_child(seat, order, run_id, reason)
            seat.child = child  # Before the first await: of two at once, one gets the seat.
            try:
                idle = await self._preflight(child, seat)
                self._require_open()
            except BaseException:
                seat.child = None
                raise
        except TaskloomError as error:
            self.tell_refused(order, run_id, error)
            raise
        if idle:
            seat.child = None
            self.lives.tell(RunEvent.STEP_CLAIM_SKIPPED, child, note=idle)
            return Ending(
                worker_agent_id=seat.agent_id,
                child_run_id=None,
                selection_reason=reason,
                outcome="not_started",
                note=idle,
            )
        self.notice(order.task_id)
        self.add(child)
        self._spawn(self.lives.live(child, seat))
        return child

    def notice(self, task_id: TaskId) -> None:
        """Say that workers are sent to a Task."""
        if self.noticed is not None:
            self.noticed(task_id)

    def make_child(self, seat: Seat, order: Order, run_id: RunId, reason: str) -> Child:
        """Return a run that has not begun."""
        allowed = order.allowed_step_ids
        actor = self.lives.board.worker(
            seat.agent_id,
            run_id=run_id,
            task_id=order.task_id,
            worker_pool_id=seat.pool_id,
            allowed_step_ids=None if allowed is None else frozenset(allowed),
        )
        child = Child(actor, order, reason)
        child.allowed_tools = _narrowed(seat, order)
        return child

    def add(self, child: Child) -> None:
        """Take a run in: it has its time, its lease is renewed, and it can be stopped."""
        self.children[child.run_id] = child
        self.lives.hub.begin(child.run_id)
        timeout_ms = child.order.timeout_ms or self.settings.default_child_timeout_ms
        later = asyncio.get_running_loop().call_later
        child.timers.append(
            later(timeout_ms / 1000, self.stop, child, RunOutcome.TIMEOUT, "its time was up")
        )
        if len(self.children) > 2 * _OVER_KEPT_MAX:
            over = [run_id for run_id, each in self.children.items() if each.is_over]
            for run_id in over[:-_OVER_KEPT_MAX]:
                del self.children[run_id]

    def under_way(self, task_id: TaskId | None = None) -> list[Child]:
        """Return the runs that have not ended, of one Task or of all."""
        return [
            child
            for child in self.children.values()
            if not child.is_over and task_id in (None, child.task_id)
        ]

    def stop(self, child: Child, outcome: RunOutcome, why: str = "") -> None:
        """Ask a run to stop at its next safe point; give it up when it takes too long."""
        if child.is_ending or child.stop_reason is not None:
            return
        child.stop_reason, child.why = outcome, why
        self.lives.tell(RunEvent.CHILD_CANCEL_REQUESTED, child, reason=why or outcome.value)
        delay_s = self.settings.child_cancel_timeout_ms / 1000
        later = asyncio.get_running_loop().call_later
        child.timers.append(later(delay_s, self._give_up, child))
        if child.working is not None:
            # An executor that cannot even be asked is one that does not stop.
            with suppress(Exception):
                child.working.stop()

    def _give_up(self, child: Child) -> None:
        """End a run that did not stop: on the board at once, its task whenever it obeys."""
        if child.is_ending:
            return
        child.is_given_up = True
        self.lives.tell(RunEvent.CHILD_CANCEL_TIMEOUT, child, reason=child.why)
        self._spawn(self._end_given_up(child))
        if child.task is not None:
            child.task.cancel()

    async def _end_given_up(self, child: Child) -> None:
        await self.lives.end(child, None, None)
        for told in list(self._told_of_given_up):
            await told()

    @contextmanager
    def told_of_given_up(self, told: Callable[[], Awaitable[None]]) -> Generator[None]:
        """Have `told` called after the end of every run that did not stop in time."""
        self._told_of_given_up.append(told)
        try:
            yield
        finally:
            self._told_of_given_up.remove(told)

    async def wait(self, children: Iterable[Child], timeout_s: float | None = None) -> None:
        """Return when all of these runs have ended, or the time is up."""
        waiting = [asyncio.ensure_future(each.done.wait()) for each in children]
        if not waiting:
            return
        try:
            await asyncio.wait(waiting, timeout=timeout_s)
        finally:
            for one in waiting:
                one.cancel()

    async def renew(self) -> None:
        """Renew the lease of every run that is alive."""
        for child in self.under_way():
            fence = child.fence
            if child.step_id is None or fence is None or child.is_given_up or child.reporting:
                continue
            renewal = RenewLease(task_id=child.task_id, step_id=child.step_id, fence=fence)
            try:
                await self.lives.board.send(renewal, child.actor)
            except Refused:
                # It is lost, or it is being finished: then it has no fence in a moment.
                if child.fence == fence and not child.is_ending and not child.reporting:
                    self.stop(child, RunOutcome.CANCELLED, "the step is no longer this run's")
            except Exception:  # noqa: BLE001, S112 - one lease must not cost the others theirs
                continue  # The disk may come back before the lease ends.

    async def close(self) -> None:
        """Stop every run, and return when the end of each is written."""
        self.is_closed = True
        self._may_start.set()  # Whoever waits to start is told that nothing will.
        while left := self.under_way():
            for child in left:
                self.stop(child, RunOutcome.CANCELLED, "its host is closing")
            await self.wait(left)
        lingering = [task for task in self._tasks if not task.done()]
        for task in lingering:
            task.cancel()
        if lingering:
            await asyncio.wait(lingering, timeout=1)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, context=own_context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _preflight(self, child: Child, seat: Seat) -> str:
        """Return why there is nothing to do for a run; empty if there is.

        Raises:
            Refused: the Task takes no dispatch, or has no such steps.
        """
        order, actor = child.order, child.actor

        def look(task: Task) -> str:
            child.task_title = task.title
            _check_dispatchable(task)
            _check_steps(task, order)
            ready = QuerySteps(task_id=task.task_id, statuses=(StepStatus.READY,), limit=1)
            return "" if query_steps(task, ready, actor).steps else _why_idle(task, order, seat)

        return await self.lives.board.read(order.task_id, look, actor)

    def tell_refused(self, order: Order, run_id: RunId | None, error: TaskloomError) -> None:
        """Publish that a dispatch could not be."""
        board, hub = self.lives.board, self.lives.hub
        if hub.has_listeners:
            hub.publish(
                Happening(
                    event_type=RunEvent.WORKER_DISPATCH_FAILED.value,
                    session_id=board.session.session_id,
                    at=board.session.clock.now(),
                    task_id=order.task_id,
                    run_id=run_id,
                    payload={"error": error.as_dict()},
                )
            )


def _check_dispatchable(task: Task) -> None:
    if task.is_terminal:
        raise Refused(
            Code.TASK_NOT_DISPATCHABLE,
            f"Task {task.task_id!r} is {task.status.value}, and that is final: no worker can be "
            "dispatched to it. Create a new Task for further work.",
            {"task_id": task.task_id, "status": task.status.value},
        )
    if task.status is TaskStatus.BLOCKED:
        raise Refused(
            Code.TASK_NOT_DISPATCHABLE,
            f"Task {task.task_id!r} is blocked. Reopen it first: task_update with update_task and "
            "status pending.",
            {"task_id": task.task_id, "status": task.status.value, "reason": task.reason},
        )


def _check_steps(task: Task, order: Order) -> None:
    unknown = [one for one in order.allowed_step_ids or () if one not in task.steps]
    if unknown:
        raise Refused(
            Code.VALIDATION_ERROR,
            f"$.allowed_step_ids names steps that Task {task.task_id!r} does not have: "
            f"{', '.join(unknown[:_NAMED_MAX])}. task_query_steps shows which there are.",
            {"path": "$.allowed_step_ids", "unknown_step_ids": unknown[:50]},
        )


def _narrowed(seat: Seat, order: Order) -> frozenset[str]:
    """Return the working tools of a run: the worker's, or fewer."""
    if order.allowed_tools is None:
        return seat.tools
    beyond = [name for name in order.allowed_tools if name not in seat.tools]
    if beyond:
        known = ", ".join(sorted(seat.tools)) or "none"
        raise Refused(
            Code.VALIDATION_ERROR,
            f"$.allowed_tools names {beyond[0]!r}, which worker {seat.agent_id!r} does not have; a "
            f"dispatch can only narrow its tools. They are: {known}.",
            {"path": "$.allowed_tools", "unknown_tools": beyond[:50]},
        )
    return frozenset(order.allowed_tools)


def _why_idle(task: Task, order: Order, seat: Seat) -> str:
    """Say why no step in scope is ready, with the steps that are in the way."""
    named = order.allowed_step_ids
    if named is None:
        return (
            f"No step of pool {seat.pool_id!r} is ready, so no worker was started. "
            "task_query_steps shows what the open steps wait for."
        )
    parts: list[str] = []
    for step_id in named[:_NAMED_MAX]:
        step = task.steps[step_id]
        if step.worker_pool_id != seat.pool_id:
            parts.append(f"{step_id} belongs to pool {step.worker_pool_id}")
            continue
        unmet = [
            on
            for on in step.depends_on_step_ids
            if task.steps[on].status is not StepStatus.COMPLETED
        ]
        waits = f", waits for {', '.join(unmet[:_NAMED_MAX])}" if unmet else ""
        parts.append(f"{step_id} is {step.status.value}{waits}")
    return f"No step in scope is ready, so no worker was started: {'; '.join(parts)}."
