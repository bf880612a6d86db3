"""Dispatch: which worker, may it, and what becomes of its run.

The dispatcher assigns no step: runs claim. It stops runs on request, gives up those that do not
stop in time, and renews the lease of every run that is alive, so that a lease runs out only when
its host has died or lost the log.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from contextlib import contextmanager, suppress
from typing import Any, Final

from taskloom.agent import context_without_run
from taskloom.board import (
    QuerySteps,
    RenewLease,
    RunOutcome,
    StepStatus,
    Task,
    TaskStatus,
    query_steps,
)
from taskloom.errors import Code, RefusedError, TaskloomError
from taskloom.ids import RunId, TaskId
from taskloom.orchestrator.dispatch_request import DispatchRequest
from taskloom.orchestrator.event_bus import RunEvent, SessionEvent
from taskloom.orchestrator.settings import Settings
from taskloom.orchestrator.worker_run import RunReport, WorkerRun
from taskloom.orchestrator.worker_runner import WorkerRunner
from taskloom.orchestrator.worker_slots import WorkerSlot, WorkerSlots

_NAMED_MAX: Final = 5
_OVER_KEPT_MAX: Final = 1_000
"""Runs that have ended and can still be asked about with wait_workers."""


class Dispatcher:
    """The worker runs of one session. Use it from one event loop."""

    def __init__(
        self, worker_runner: WorkerRunner, roster: WorkerSlots, settings: Settings
    ) -> None:
        """Begin with nobody at work."""
        self.worker_runner = worker_runner
        self.roster = roster
        self.settings = settings
        self.worker_runs: dict[RunId, WorkerRun] = {}
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
            RefusedError: none may any more.
        """
        await self._may_start.wait()
        self._require_open()

    def _require_open(self) -> None:
        if self.is_closed:
            raise RefusedError(
                Code.WORKER_NOT_AVAILABLE,
                "This session is being closed, so no worker can be started. What the board holds "
                "stays; go on from there in the next session.",
            )

    async def start(self, order: DispatchRequest, run_id: RunId) -> WorkerRun | RunReport:
        """Choose a worker and start its run; if no step in scope is ready, say so instead.

        Raises:
            RefusedError: the dispatch cannot be; no run has started.
        """
        await self.until_started()
        try:
            slot, reason = self.roster.choose(order.worker_pool_id, order.worker_agent_id)
            worker_run = self.make_worker_run(slot, order, run_id, reason)
            slot.worker_run = (
                worker_run  # Before the first await: of two at once, one gets the seat.
            )
            try:
                idle = await self._preflight(worker_run, slot)
                self._require_open()
            except BaseException:
                slot.worker_run = None
                raise
        except TaskloomError as error:
            self.tell_refused(order, run_id, error)
            raise
        if idle:
            slot.worker_run = None
            self.worker_runner.tell(RunEvent.STEP_CLAIM_SKIPPED, worker_run, note=idle)
            return RunReport(
                worker_agent_id=slot.agent_id,
                child_run_id=None,
                selection_reason=reason,
                outcome="not_started",
                note=idle,
            )
        self.notice(order.task_id)
        self.add(worker_run)
        self._spawn(self.worker_runner.live(worker_run, slot))
        return worker_run

    def notice(self, task_id: TaskId) -> None:
        """Say that workers are sent to a Task."""
        if self.noticed is not None:
            self.noticed(task_id)

    def make_worker_run(
        self, slot: WorkerSlot, order: DispatchRequest, run_id: RunId, reason: str
    ) -> WorkerRun:
        """Return a run that has not begun."""
        allowed = order.allowed_step_ids
        actor = self.worker_runner.board.worker(
            slot.agent_id,
            run_id=run_id,
            task_id=order.task_id,
            worker_pool_id=slot.pool_id,
            allowed_step_ids=None if allowed is None else frozenset(allowed),
        )
        worker_run = WorkerRun(actor, order, reason)
        worker_run.allowed_tools = _narrowed(slot, order)
        return worker_run

    def add(self, worker_run: WorkerRun) -> None:
        """Take a run in: it has its time, its lease is renewed, and it can be stopped."""
        self.worker_runs[worker_run.run_id] = worker_run
        self.worker_runner.event_bus.begin_run(worker_run.run_id)
        timeout_ms = worker_run.order.timeout_ms or self.settings.default_child_timeout_ms
        later = asyncio.get_running_loop().call_later
        worker_run.timers.append(
            later(timeout_ms / 1000, self.stop, worker_run, RunOutcome.TIMEOUT, "its time was up")
        )
        if len(self.worker_runs) > 2 * _OVER_KEPT_MAX:
            over = [run_id for run_id, each in self.worker_runs.items() if each.is_over]
            for run_id in over[:-_OVER_KEPT_MAX]:
                del self.worker_runs[run_id]

    def under_way(self, task_id: TaskId | None = None) -> list[WorkerRun]:
        """Return the runs that have not ended, of one Task or of all."""
        return [
            worker_run
            for worker_run in self.worker_runs.values()
            if not worker_run.is_over and task_id in (None, worker_run.task_id)
        ]

    def stop(self, worker_run: WorkerRun, outcome: RunOutcome, why: str = "") -> None:
        """Ask a run to stop at its next safe point; give it up when it takes too long."""
        if worker_run.is_ending or worker_run.stop_reason is not None:
            return
        worker_run.stop_reason, worker_run.why = outcome, why
        self.worker_runner.tell(
            RunEvent.CHILD_CANCEL_REQUESTED, worker_run, reason=why or outcome.value
        )
        delay_s = self.settings.child_cancel_timeout_ms / 1000
        later = asyncio.get_running_loop().call_later
        worker_run.timers.append(later(delay_s, self._give_up, worker_run))
        if worker_run.working is not None:
            # An executor that cannot even be asked is one that does not stop.
            with suppress(Exception):
                worker_run.working.stop()

    def _give_up(self, worker_run: WorkerRun) -> None:
        """End a run that did not stop: on the board at once, its task whenever it obeys."""
        if worker_run.is_ending:
            return
        worker_run.is_given_up = True
        self.worker_runner.tell(RunEvent.CHILD_CANCEL_TIMEOUT, worker_run, reason=worker_run.why)
        self._spawn(self._end_given_up(worker_run))
        if worker_run.task is not None:
            worker_run.task.cancel()

    async def _end_given_up(self, worker_run: WorkerRun) -> None:
        await self.worker_runner.end(worker_run, None, None)
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

    async def wait(self, worker_runs: Iterable[WorkerRun], timeout_s: float | None = None) -> None:
        """Return when all of these runs have ended, or the time is up."""
        waiting = [asyncio.ensure_future(each.done.wait()) for each in worker_runs]
        if not waiting:
            return
        try:
            await asyncio.wait(waiting, timeout=timeout_s)
        finally:
            for one in waiting:
                one.cancel()

    async def renew(self) -> None:
        """Renew the lease of every run that is alive."""
        for worker_run in self.under_way():
            fence = worker_run.fence
            if (
                worker_run.step_id is None
                or fence is None
                or worker_run.is_given_up
                or worker_run.reporting
            ):
                continue
            renewal = RenewLease(
                task_id=worker_run.task_id, step_id=worker_run.step_id, fence=fence
            )
            try:
                await self.worker_runner.board.send(renewal, worker_run.actor)
            except RefusedError:
                # It is lost, or it is being finished: then it has no fence in a moment.
                if (
                    worker_run.fence == fence
                    and not worker_run.is_ending
                    and not worker_run.reporting
                ):
                    self.stop(worker_run, RunOutcome.CANCELLED, "the step is no longer this run's")
            except Exception:  # noqa: BLE001, S112 - one lease must not cost the others theirs
                continue  # The disk may come back before the lease ends.

    async def close(self) -> None:
        """Stop every run, and return when the end of each is written."""
        self.is_closed = True
        self._may_start.set()  # Whoever waits to start is told that nothing will.
        while left := self.under_way():
            for worker_run in left:
                self.stop(worker_run, RunOutcome.CANCELLED, "its host is closing")
            await self.wait(left)
        lingering = [task for task in self._tasks if not task.done()]
        for task in lingering:
            task.cancel()
        if lingering:
            await asyncio.wait(lingering, timeout=1)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, context=context_without_run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _preflight(self, worker_run: WorkerRun, slot: WorkerSlot) -> str:
        """Return why there is nothing to do for a run; empty if there is.

        Raises:
            RefusedError: the Task takes no dispatch, or has no such steps.
        """
        order, actor = worker_run.order, worker_run.actor

        def look(task: Task) -> str:
            worker_run.task_title = task.title
            _check_dispatchable(task)
            _check_steps(task, order)
            ready = QuerySteps(task_id=task.task_id, statuses=(StepStatus.READY,), limit=1)
            return "" if query_steps(task, ready, actor).steps else _why_idle(task, order, slot)

        return await self.worker_runner.board.read(order.task_id, look, actor)

    def tell_refused(
        self, order: DispatchRequest, run_id: RunId | None, error: TaskloomError
    ) -> None:
        """Publish that a dispatch could not be."""
        board, event_bus = self.worker_runner.board, self.worker_runner.event_bus
        if event_bus.has_listeners:
            event_bus.publish(
                SessionEvent(
                    event_type=RunEvent.WORKER_DISPATCH_FAILED.value,
                    session_id=board.session_id,
                    at=board.clock.now(),
                    task_id=order.task_id,
                    run_id=run_id,
                    payload={"error": error.as_dict()},
                )
            )


def _check_dispatchable(task: Task) -> None:
    if task.is_terminal:
        raise RefusedError(
            Code.TASK_NOT_DISPATCHABLE,
            f"Task {task.task_id!r} is {task.status.value}, and that is final: no worker can be "
            "dispatched to it. Create a new Task for further work.",
            {"task_id": task.task_id, "status": task.status.value},
        )
    if task.status is TaskStatus.BLOCKED:
        raise RefusedError(
            Code.TASK_NOT_DISPATCHABLE,
            f"Task {task.task_id!r} is blocked. Reopen it first: task_update with update_task and "
            "status pending.",
            {"task_id": task.task_id, "status": task.status.value, "reason": task.reason},
        )


def _check_steps(task: Task, order: DispatchRequest) -> None:
    unknown = [one for one in order.allowed_step_ids or () if one not in task.steps]
    if unknown:
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"$.allowed_step_ids names steps that Task {task.task_id!r} does not have: "
            f"{', '.join(unknown[:_NAMED_MAX])}. task_query_steps shows which there are.",
            {"path": "$.allowed_step_ids", "unknown_step_ids": unknown[:50]},
        )


def _narrowed(slot: WorkerSlot, order: DispatchRequest) -> frozenset[str]:
    """Return the working tools of a run: the worker's, or fewer."""
    if order.allowed_tools is None:
        return slot.tools
    beyond = [name for name in order.allowed_tools if name not in slot.tools]
    if beyond:
        known = ", ".join(sorted(slot.tools)) or "none"
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"$.allowed_tools names {beyond[0]!r}, which worker {slot.agent_id!r} does not have; a "
            f"dispatch can only narrow its tools. They are: {known}.",
            {"path": "$.allowed_tools", "unknown_tools": beyond[:50]},
        )
    return frozenset(order.allowed_tools)


def _why_idle(task: Task, order: DispatchRequest, slot: WorkerSlot) -> str:
    """Say why no step in scope is ready, with the steps that are in the way."""
    named = order.allowed_step_ids
    if named is None:
        return (
            f"No step of pool {slot.pool_id!r} is ready, so no worker was started. "
            "task_query_steps shows what the open steps wait for."
        )
    parts: list[str] = []
    for step_id in named[:_NAMED_MAX]:
        step = task.steps[step_id]
        if step.worker_pool_id != slot.pool_id:
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
