"""Dispatch: choose a worker, check the request, start its run, stop it, renew its lease.

The dispatcher assigns no step: runs claim. It renews the lease of every active run, so that a lease
expires only when its host has died or lost the log.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from taskloom.agent import context_without_run
from taskloom.board import (
    Actor,
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
from taskloom.orchestrator.event_bus import RunEvent
from taskloom.orchestrator.pool import Settings
from taskloom.orchestrator.worker_run import RunReport, WorkerRun
from taskloom.orchestrator.worker_runner import WorkerRunner
from taskloom.orchestrator.worker_slots import WorkerSlot, WorkerSlots

_NAMED_MAX: Final = 5
_ENDED_KEPT_MAX: Final = 1_000
"""Ended runs that wait_workers can still report."""

_CANCEL_WAIT_S: Final = 1.0
"""How long closing waits for tasks that were cancelled."""


class Dispatcher:
    """The worker runs of one session. Use it from one event loop."""

    def __init__(self, worker_runner: WorkerRunner, slots: WorkerSlots, settings: Settings) -> None:
        """Start without runs."""
        self.worker_runner = worker_runner
        self.slots = slots
        self.settings = settings
        self.worker_runs: dict[RunId, WorkerRun] = {}
        self.on_dispatch: Callable[[TaskId], None] | None = None
        """Called with the Task of every dispatch."""
        self.is_closed = False
        """Whether no run may start any more."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._on_abandoned: list[Callable[[], Awaitable[None]]] = []
        self._may_start = asyncio.Event()
        self._may_start.set()

    @property
    def is_paused(self) -> bool:
        """Whether new runs wait; active runs continue."""
        return not self._may_start.is_set()

    def pause(self) -> None:
        """Let new runs wait until `resume`."""
        self._may_start.clear()

    def resume(self) -> None:
        """Let new runs start again."""
        self._may_start.set()

    async def until_resumed(self) -> None:
        """Return when new runs may start.

        Raises:
            RefusedError: the session is being closed.
        """
        await self._may_start.wait()
        self._require_open()

    def _require_open(self) -> None:
        if self.is_closed:
            raise RefusedError(
                Code.WORKER_NOT_AVAILABLE,
                "This session is being closed, so no worker can be started. The board keeps its "
                "state; continue from it in the next session.",
            )

    async def start(self, request: DispatchRequest, run_id: RunId) -> WorkerRun | RunReport:
        """Choose a worker and start its run; if no step in scope is ready, report that instead.

        Raises:
            RefusedError: the request cannot be carried out; no run has started.
        """
        await self.until_resumed()
        try:
            slot, reason = self.slots.choose(request.worker_pool_id, request.worker_agent_id)
            with self.reserve(slot, request, run_id, reason) as run:
                why_idle = await self._preflight(run, slot)
                self._require_open()
        except TaskloomError as error:
            self.publish_refused(request, run_id, error)
            raise
        if why_idle:
            slot.free(run)
            self.worker_runner.publish(RunEvent.STEP_CLAIM_SKIPPED, run, note=why_idle)
            return RunReport(
                worker_agent_id=slot.agent_id,
                child_run_id=None,
                selection_reason=reason,
                outcome="not_started",
                note=why_idle,
            )
        self.admit(run)
        self._spawn(self.worker_runner.run(run, slot))
        return run

    @contextmanager
    def reserve(
        self, slot: WorkerSlot, request: DispatchRequest, run_id: RunId, reason: str
    ) -> Generator[WorkerRun]:
        """Occupy a worker with a new run; free it if the block raises.

        Nothing is awaited between choosing a worker and this, so of two dispatches at once only one
        gets it.
        """
        actor = self.actor(slot, request, run_id)
        run = WorkerRun(actor, request, reason, _allowed_tools(slot, request))
        slot.worker_run = run
        try:
            yield run
        except BaseException:
            slot.free(run)
            raise

    def actor(self, slot: WorkerSlot, request: DispatchRequest, run_id: RunId) -> Actor:
        """Return the actor of a worker's run, with the scope of its dispatch."""
        allowed = request.allowed_step_ids
        return self.worker_runner.board.worker(
            slot.agent_id,
            run_id=run_id,
            task_id=request.task_id,
            worker_pool_id=slot.pool_id,
            allowed_step_ids=None if allowed is None else frozenset(allowed),
        )

    def admit(self, run: WorkerRun) -> None:
        """Add a run: its time limit starts, its lease is renewed, and it can be stopped."""
        if self.on_dispatch is not None:
            self.on_dispatch(run.task_id)
        self.worker_runs[run.run_id] = run
        self.worker_runner.event_bus.begin_run(run.run_id)
        timeout_ms = run.request.timeout_ms or self.settings.default_child_timeout_ms
        timed_out = partial(self.stop, run, RunOutcome.TIMEOUT, "its time limit was reached")
        run.call_later(timeout_ms / 1000, timed_out)
        if len(self.worker_runs) > 2 * _ENDED_KEPT_MAX:
            ended = [run_id for run_id, each in self.worker_runs.items() if each.is_ended]
            for run_id in ended[:-_ENDED_KEPT_MAX]:
                del self.worker_runs[run_id]

    def active(self, task_id: TaskId | None = None) -> list[WorkerRun]:
        """Return the runs that have not ended, of one Task or of all."""
        return [
            run
            for run in self.worker_runs.values()
            if not run.is_ended and task_id in (None, run.task_id)
        ]

    def stop(self, run: WorkerRun, outcome: RunOutcome, reason: str = "") -> None:
        """Ask a run to stop at its next safe point; abandon it when that takes too long."""
        if run.request_stop(outcome, reason):
            self.worker_runner.publish(
                RunEvent.CHILD_CANCEL_REQUESTED, run, reason=reason or outcome.value
            )
            run.call_later(
                self.settings.child_cancel_timeout_ms / 1000, partial(self._abandon, run)
            )

    def _abandon(self, run: WorkerRun) -> None:
        """End a run that did not stop: on the board now, its task whenever it finishes."""
        if not run.abandon():
            return
        assert run.stop_request is not None
        self.worker_runner.publish(
            RunEvent.CHILD_CANCEL_TIMEOUT, run, reason=run.stop_request.reason
        )
        self._spawn(self._end_abandoned(run))

    async def _end_abandoned(self, run: WorkerRun) -> None:
        await self.worker_runner.end(run, None, None)
        for callback in list(self._on_abandoned):
            await callback()

    @contextmanager
    def calls_on_abandoned(self, callback: Callable[[], Awaitable[None]]) -> Generator[None]:
        """Await `callback` after the end of every run that is abandoned inside the block."""
        self._on_abandoned.append(callback)
        try:
            yield
        finally:
            self._on_abandoned.remove(callback)

    async def wait(self, runs: Iterable[WorkerRun], timeout_s: float | None = None) -> None:
        """Return when all of these runs have ended, or after the time-out."""
        waiting = [asyncio.ensure_future(run.wait()) for run in runs]
        if not waiting:
            return
        try:
            await asyncio.wait(waiting, timeout=timeout_s)
        finally:
            for each in waiting:
                each.cancel()

    def keep_leases(self) -> None:
        """Renew the leases at a quarter of their length from now on, until `close`."""
        self._spawn(self._keep_leases())

    async def _keep_leases(self) -> None:
        interval_s = self.worker_runner.board.rules.lease.total_seconds() / 4
        while True:
            await asyncio.sleep(interval_s)
            await self.renew_leases()

    async def renew_leases(self) -> None:
        """Renew the lease of every run that holds a step."""
        for run in self.active():
            claim = run.renewable_claim
            if claim is None:
                continue
            step_id, fence = claim
            renewal = RenewLease(task_id=run.task_id, step_id=step_id, fence=fence)
            try:
                await self.worker_runner.board.send(renewal, run.actor)
            except RefusedError:
                # The step is lost, unless the run reported on it meanwhile.
                if run.renewable_claim == claim:
                    self.stop(run, RunOutcome.CANCELLED, "the run lost its step")
            except Exception:  # noqa: BLE001, S112 - one lease must not cost the others theirs
                continue  # The disk may recover before the lease ends.

    async def close(self) -> None:
        """Stop every run, and return when the end of each is written."""
        self.is_closed = True
        self._may_start.set()  # Dispatches that wait to start are refused now.
        while runs := self.active():
            for run in runs:
                self.stop(run, RunOutcome.CANCELLED, "its host is closing")
            await self.wait(runs)
        left = [task for task in self._tasks if not task.done()]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=_CANCEL_WAIT_S)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, context=context_without_run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _preflight(self, run: WorkerRun, slot: WorkerSlot) -> str:
        """Return why there is no step for a run; empty if there is one.

        Raises:
            RefusedError: the Task takes no dispatch, or has no such steps.
        """
        request, actor = run.request, run.actor

        def look(task: Task) -> str:
            run.task_title = task.title
            _check_dispatchable(task)
            _check_steps(task, request)
            ready = QuerySteps(task_id=task.task_id, statuses=(StepStatus.READY,), limit=1)
            return "" if query_steps(task, ready, actor).steps else _why_idle(task, request, slot)

        return await self.worker_runner.board.read(request.task_id, look, actor)

    def publish_refused(
        self, request: DispatchRequest, run_id: RunId | None, error: TaskloomError
    ) -> None:
        """Publish that a request was refused."""
        self.worker_runner.publish_event(
            RunEvent.WORKER_DISPATCH_FAILED,
            task_id=request.task_id,
            run_id=run_id,
            payload={"error": error.as_dict()},
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


def _check_steps(task: Task, request: DispatchRequest) -> None:
    unknown = [one for one in request.allowed_step_ids or () if one not in task.steps]
    if unknown:
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"$.allowed_step_ids names steps that Task {task.task_id!r} does not have: "
            f"{', '.join(unknown[:_NAMED_MAX])}. task_query_steps shows its steps.",
            {"path": "$.allowed_step_ids", "unknown_step_ids": unknown[:50]},
        )


def _allowed_tools(slot: WorkerSlot, request: DispatchRequest) -> frozenset[str]:
    """Return the working tools of a run: the worker's, or fewer."""
    if request.allowed_tools is None:
        return slot.tools
    beyond = [name for name in request.allowed_tools if name not in slot.tools]
    if beyond:
        known = ", ".join(sorted(slot.tools)) or "none"
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"$.allowed_tools names {beyond[0]!r}, which worker {slot.agent_id!r} does not have; a "
            f"dispatch can only narrow its tools. Its tools: {known}.",
            {"path": "$.allowed_tools", "unknown_tools": beyond[:50]},
        )
    return frozenset(request.allowed_tools)


def _why_idle(task: Task, request: DispatchRequest, slot: WorkerSlot) -> str:
    """Return why no step in scope is ready, with what the named steps wait for."""
    named = request.allowed_step_ids
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
