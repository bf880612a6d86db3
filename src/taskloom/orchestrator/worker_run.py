"""One run of a worker: its claim, whether it was asked to stop, and its report."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from msgspec import Struct

from taskloom.board import Actor, RunOutcome, StepStatus
from taskloom.ids import AgentId, RunId, Seq, StepId, TaskId
from taskloom.orchestrator.dispatch_request import DispatchRequest
from taskloom.orchestrator.errors import error_dict
from taskloom.orchestrator.executors.executor import ReceivesMessages, WorkerHandle


class RunReport(Struct, frozen=True, kw_only=True):
    """How a run ended, for its dispatcher. The step's fields are what the board says."""

    worker_agent_id: AgentId
    child_run_id: RunId | None
    selection_reason: str
    claimed_step_id: StepId | None = None
    step_status: StepStatus | None = None
    step_result_summary: str | None = None
    no_step_claimed: bool = True
    worker_result: Any = None
    outcome: str = "completed"
    """`completed`, `failed`, `timeout`, `cancelled`; `not_started` if no step was ready."""
    error: dict[str, Any] | None = None
    note: str = ""
    """Why the run was stopped, or another hint for the dispatcher."""


class RunInfo(Struct, frozen=True, kw_only=True):
    """A worker run as interfaces see it, at one moment."""

    run_id: RunId
    name: AgentId
    """The worker's id."""
    task_id: TaskId
    task_title: str
    step_id: StepId | None
    """The step it claimed."""
    instruction: str
    state: str
    """`running`, `stopping`, or its outcome: `completed`, `failed`, `timeout`, `cancelled`."""
    report: RunReport | None = None
    """How it ended, once it has."""

    @property
    def is_active(self) -> bool:
        """Whether the run has not ended."""
        return self.report is None


class StopRequest(NamedTuple):
    """A request to stop a run."""

    outcome: RunOutcome
    reason: str


class WorkerRun:
    """One run, from its dispatch to its report.

    The dispatcher stops it and waits for it; the worker runner carries it out and writes its end;
    the Task tools claim and report through it.
    """

    def __init__(
        self,
        actor: Actor,
        request: DispatchRequest,
        selection_reason: str,
        allowed_tools: frozenset[str],
    ) -> None:
        """Describe a run that has not started."""
        self.actor = actor
        self.request = request
        self.selection_reason = selection_reason
        self.allowed_tools = allowed_tools
        self.task_title = ""
        self.step_id: StepId | None = None
        """The step it claimed, whatever happened to it since."""
        self.step_status: StepStatus | None = None
        self.step_result: str | None = None
        self.fence: Seq | None = None
        """The fence of its claim, while it holds the step."""
        self.stop_request: StopRequest | None = None
        """The first request to stop it."""
        self.leaves_step = False
        """Whether its end does not fail the step, because the end of the whole Task does."""
        self.is_abandoned = False
        """Whether it did not stop in time: its end is written, its task may still run."""
        self.report: RunReport | None = None
        self._reports_under_way = 0
        self._is_ending = False
        self._handle: WorkerHandle | None = None
        self._task: asyncio.Task[Any] | None = None
        self._timers: list[asyncio.TimerHandle] = []
        self._ended = asyncio.Event()

    @property
    def run_id(self) -> RunId:
        """The run's id."""
        return self.actor.run_id

    @property
    def agent_id(self) -> AgentId:
        """The worker's id."""
        return self.actor.agent_id

    @property
    def task_id(self) -> TaskId:
        """The one Task it sees."""
        return self.request.task_id

    @property
    def is_ended(self) -> bool:
        """Whether its end is written."""
        return self.report is not None

    @property
    def info(self) -> RunInfo:
        """The run as interfaces see it now."""
        state = "running" if self.stop_request is None else "stopping"
        return RunInfo(
            run_id=self.run_id,
            name=self.agent_id,
            task_id=self.task_id,
            task_title=self.task_title,
            step_id=self.step_id,
            instruction=self.request.instruction,
            state=state if self.report is None else self.report.outcome,
            report=self.report,
        )

    # Its claim.

    def set_claim(self, step_id: StepId, fence: Seq | None) -> None:
        """Keep the step it claimed and the fence that its writes must carry."""
        self.step_id, self.fence = step_id, fence

    def set_step(self, step_id: StepId, status: StepStatus, result: str | None) -> None:
        """Keep the step's state as the board has it."""
        self.step_id, self.step_status, self.step_result = step_id, status, result

    def end_claim(self) -> None:
        """Drop the fence: the run holds no step, and no lease is renewed."""
        self.fence = None

    @property
    def renewable_claim(self) -> tuple[StepId, Seq] | None:
        """The step and fence whose lease is to be renewed, if any.

        While the run writes a report that ends its claim nothing is renewed, so a refused renewal
        always means that the step is lost.
        """
        if self.is_ended or self._is_ending or self.is_abandoned or self._reports_under_way:
            return None
        if self.step_id is None or self.fence is None:
            return None
        return self.step_id, self.fence

    @contextmanager
    def reporting(self) -> Generator[None]:
        """Renew no lease inside the block, which writes a report that may end the claim."""
        self._reports_under_way += 1
        try:
            yield
        finally:
            self._reports_under_way -= 1

    # Its execution.

    def start(self, task: "asyncio.Task[Any]") -> None:
        """Keep the task that carries the run out."""
        self._task = task

    def attach(self, handle: WorkerHandle) -> None:
        """Keep the executor's handle; a request to stop that came earlier reaches it now."""
        self._handle = handle
        if self.stop_request is not None:
            handle.stop()

    def call_later(self, delay_s: float, call: Callable[[], None]) -> None:
        """Call something after a delay, unless the run has ended before."""
        later = asyncio.get_running_loop().call_later
        self._timers.append(later(delay_s, call))

    def request_stop(self, outcome: RunOutcome, reason: str) -> bool:
        """Ask the run to stop; False if it was asked before or is ending."""
        if self._is_ending or self.stop_request is not None:
            return False
        self.stop_request = StopRequest(outcome, reason)
        if self._handle is not None:
            # The run is cancelled later if its executor cannot even take the request.
            with suppress(Exception):
                self._handle.stop()
        return True

    def cancel(self) -> None:
        """Cancel the task of the run where it is, unless it is ending."""
        if self._task is not None and not self._is_ending:
            self._task.cancel()

    def abandon(self) -> bool:
        """Cancel the run without waiting for it; False if it is ending."""
        if self._is_ending:
            return False
        self.is_abandoned = True
        self.cancel()
        return True

    async def message(self, text: str) -> bool:
        """Deliver a person's message; False if the run does not take messages or has ended."""
        handle = self._handle
        if self._is_ending or not isinstance(handle, ReceivesMessages):
            return False
        return await handle.message(text)

    # Its end.

    def begin_end(self) -> bool:
        """Start to end the run; False if that has begun. Time limits no longer apply."""
        if self._is_ending:
            return False
        self._is_ending = True
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        return True

    def make_report(
        self,
        outcome: str,
        failure: BaseException | None,
        result: Any = None,
        error: dict[str, Any] | None = None,
    ) -> RunReport:
        """Return the report of the run; `error` goes before the failure."""
        if error is None and failure is not None:
            error = error_dict(failure)
        return RunReport(
            worker_agent_id=self.agent_id,
            child_run_id=self.run_id,
            selection_reason=self.selection_reason,
            claimed_step_id=self.step_id,
            step_status=self.step_status,
            step_result_summary=self.step_result,
            no_step_claimed=self.step_id is None,
            worker_result=result,
            outcome=outcome,
            error=error,
            note=self.stop_request.reason if self.stop_request is not None else "",
        )

    def finish(self, report: RunReport) -> None:
        """Keep the report; the run has ended, and `wait` returns once `notify` is called."""
        self.report = report
        self.end_claim()

    def notify(self) -> None:
        """Let every `wait` return."""
        self._ended.set()

    async def wait(self) -> RunReport:
        """Return the report when the run has ended."""
        await self._ended.wait()
        assert self.report is not None
        return self.report
