"""Views: snapshots of a Task and its steps, which later changes leave as they are."""

from collections.abc import Iterable
from dataclasses import field
from datetime import datetime
from typing import Final

from taskloom.board.state.step import Step
from taskloom.board.state.task import Task
from taskloom.board.status import STEP_OVER, StepStatus, TaskStatus
from taskloom.board.validation import JsonData, copy_json
from taskloom.define import define
from taskloom.ids import AgentId, EventId, PoolId, RunId, Seq, StepId, TaskId


@define(kw_only=True)
class StepView:
    """One step. Not frozen: it is made for every answer, and freezing costs more than deciding."""

    step_id: StepId
    title: str
    summary: str
    status: StepStatus
    depends_on_step_ids: tuple[StepId, ...]
    required: bool
    worker_pool_id: PoolId
    claimed_by_agent_id: AgentId | None
    claimed_by_run_id: RunId | None
    lease_expires_at: datetime | None
    result_summary: str | None
    reason: str | None
    artifact_ids: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    updated_after_dispatch: bool = False
    dispatched_title: str | None = None
    """The title its last claimer saw, when it has changed since."""
    dispatched_summary: str | None = None
    """The summary its last claimer saw, when it has changed since."""
    result_data: JsonData = None
    """The JSON data of its result."""
    attempts: int = 0
    """How many times it was claimed."""
    metadata: JsonData = None
    """The JSON data it was planned with."""


@define(frozen=True, kw_only=True)
class TaskView:
    """One Task with its steps."""

    task_id: TaskId
    wal_path: str
    title: str
    summary: str
    status: TaskStatus
    root_step_ids: tuple[StepId, ...]
    created_by_agent_id: AgentId
    created_by_run_id: RunId
    created_at: datetime
    updated_at: datetime
    result_summary: str | None
    reason: str | None
    seq: Seq
    stalled: bool
    completeable: bool
    counts: dict[str, int]
    steps: tuple[StepView, ...]

    def step(self, step_id: StepId) -> StepView:
        """Return one of the steps.

        Raises:
            KeyError: It is not among them.
        """
        for step in self.steps:
            if step.step_id == step_id:
                return step
        raise KeyError(step_id)


@define(frozen=True, kw_only=True)
class TaskLine:
    """One Task in a list: the number of its steps by status, without the steps."""

    task_id: TaskId
    wal_path: str
    status: str
    """A Task's status, or `unavailable`."""
    title: str = ""
    updated_at: datetime | None = None
    counts: dict[str, int] = field(default_factory=dict[str, int])
    stalled: bool = False
    completeable: bool = False
    result_summary: str | None = None
    reason: str | None = None
    error: dict[str, object] | None = None


@define(frozen=True, kw_only=True)
class TaskPage:
    """One page of a list of Tasks."""

    tasks: tuple[TaskLine, ...]
    total: int
    has_more: bool


@define(frozen=True, kw_only=True)
class StepPage:
    """One page of a query."""

    steps: tuple[StepView, ...]
    has_more: bool


@define()
class Receipt:
    """The answer to an accepted command, given when its events are durable."""

    task_id: TaskId
    seq: Seq
    """The log's last line after this command."""
    first_seq: Seq
    """The first line that this command wrote; `seq + 1` if it wrote none."""
    event_prefix: str
    status: TaskStatus
    """The Task's."""
    step: StepView | None = None
    """After a claim: the claimed step."""
    fence: Seq | None = None
    """After a claim: the fence for the run's later writes."""

    @property
    def event_ids(self) -> tuple[EventId, ...]:
        """The ids of the events that were written."""
        prefix = self.event_prefix
        return tuple(f"{prefix}-{seq}" for seq in range(self.first_seq, self.seq + 1))


def view_step(step: Step) -> StepView:
    """Return the view of a step."""
    seen = step.dispatched if step.updated_after_dispatch else None
    return StepView(
        step_id=step.step_id,
        title=step.title,
        summary=step.summary,
        status=step.status,
        depends_on_step_ids=step.depends_on_step_ids,
        required=step.required,
        worker_pool_id=step.worker_pool_id,
        claimed_by_agent_id=step.claimed_by_agent_id,
        claimed_by_run_id=step.claimed_by_run_id,
        lease_expires_at=step.lease_expires_at,
        result_summary=step.result_summary,
        reason=step.reason,
        artifact_ids=step.artifact_ids,
        created_at=step.created_at,
        updated_at=step.updated_at,
        updated_after_dispatch=step.updated_after_dispatch,
        dispatched_title=seen[0] if seen else None,
        dispatched_summary=seen[1] if seen else None,
        result_data=step.result_data if step.result_data is None else copy_json(step.result_data),
        attempts=step.attempts,
        metadata=step.metadata if step.metadata is None else copy_json(step.metadata),
    )


def view_task(task: Task, wal_path: str, *, include_terminal_steps: bool = True) -> TaskView:
    """Return the view of a Task."""
    steps: Iterable[Step] = task.steps.values()
    if not include_terminal_steps:
        steps = (step for step in steps if step.status not in STEP_OVER)
    return TaskView(
        task_id=task.task_id,
        wal_path=wal_path,
        title=task.title,
        summary=task.summary,
        status=task.status,
        root_step_ids=tuple(task.root_step_ids),
        created_by_agent_id=task.created_by_agent_id,
        created_by_run_id=task.created_by_run_id,
        created_at=task.created_at,
        updated_at=task.updated_at,
        result_summary=task.result_summary,
        reason=task.reason,
        seq=task.seq,
        stalled=task.is_stalled,
        completeable=task.is_completeable,
        counts=count_steps(task),
        steps=tuple(view_step(step) for step in steps),
    )


def view_line(task: Task, wal_path: str) -> TaskLine:
    """Return the line of a Task in a list."""
    return TaskLine(
        task_id=task.task_id,
        wal_path=wal_path,
        status=task.status.value,
        title=task.title,
        updated_at=task.updated_at,
        counts=count_steps(task),
        stalled=task.is_stalled,
        completeable=task.is_completeable,
        result_summary=task.result_summary,
        reason=task.reason,
    )


def count_steps(task: Task) -> dict[str, int]:
    """Return the number of steps by status, without statuses that no step has."""
    counts = task.counts
    return {name: counts[status] for status, name in _NAMES if counts[status]}


_NAMES: Final = tuple((status, status.value) for status in StepStatus)
