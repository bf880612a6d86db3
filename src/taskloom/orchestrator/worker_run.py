"""One run of a worker: what it holds, whether it was asked to stop, and how it ended."""

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from taskloom.board import Actor, RunOutcome, StepStatus
from taskloom.ids import AgentId, RunId, Seq, StepId, TaskId
from taskloom.orchestrator.dispatch_request import DispatchRequest
from taskloom.orchestrator.executors.executor import WorkerHandle


class RunReport(Struct, frozen=True, kw_only=True):
    """How a run came out, as its dispatcher is told. The board's word on the step stands."""

    worker_agent_id: AgentId
    child_run_id: RunId | None
    selection_reason: str
    claimed_step_id: StepId | None = None
    step_status: StepStatus | None = None
    step_result_summary: str | None = None
    no_step_claimed: bool = True
    worker_result: Any = None
    outcome: str = "completed"
    """`completed`, `failed`, `timeout`, `cancelled`; `not_started` if nothing was ready."""
    error: dict[str, Any] | None = None
    note: str = ""
    """What whoever dispatched should know besides."""


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


class WorkerRun:
    """One run under way, or over."""

    __slots__ = (
        "actor",
        "allowed_tools",
        "done",
        "ending",
        "fence",
        "is_ending",
        "is_given_up",
        "keeps_step",
        "order",
        "release",
        "reporting",
        "selection_reason",
        "step_id",
        "step_result",
        "step_status",
        "stop_reason",
        "task",
        "task_title",
        "timers",
        "why",
        "working",
    )

    def __init__(self, actor: Actor, order: DispatchRequest, selection_reason: str) -> None:
        """Nothing runs yet."""
        self.actor = actor
        self.order = order
        self.selection_reason = selection_reason
        self.task_title = ""
        self.allowed_tools: frozenset[str] | None = None
        self.step_id: StepId | None = None
        """The step it claimed, whatever became of it since."""
        self.step_status: StepStatus | None = None
        self.step_result: str | None = None
        self.fence: Seq | None = None
        self.working: WorkerHandle | None = None
        self.task: asyncio.Task[Any] | None = None
        self.timers: list[asyncio.TimerHandle] = []
        self.stop_reason: RunOutcome | None = None
        """Why it was asked to stop, if it was."""
        self.why = ""
        """The same in the words of whoever asked."""
        self.keeps_step = False
        """Whether its end leaves the step alone: the whole Task is ended, and does that."""
        self.is_given_up = False
        """It did not stop in time; whatever it still does, nobody waits for it."""
        self.reporting = 0
        """Writes under way that end its hold on the step: meanwhile nothing is renewed."""
        self.is_ending = False
        self.release: Callable[[], None] | None = None
        """Frees the worker for the next run, at the moment this one is over."""
        self.ending: RunReport | None = None
        self.done = asyncio.Event()

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
        return self.order.task_id

    @property
    def is_over(self) -> bool:
        """Whether its end is settled."""
        return self.ending is not None

    @property
    def info(self) -> RunInfo:
        """The run as interfaces see it now."""
        state = "running" if self.stop_reason is None else "stopping"
        return RunInfo(
            run_id=self.run_id,
            name=self.agent_id,
            task_id=self.task_id,
            task_title=self.task_title,
            step_id=self.step_id,
            instruction=self.order.instruction,
            state=self.ending.outcome if self.ending is not None else state,
            report=self.ending,
        )

    def drop_timers(self) -> None:
        """Forget what would have happened later."""
        for timer in self.timers:
            timer.cancel()
        self.timers.clear()
