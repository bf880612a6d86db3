"""The events: one class for each type, with the fields of its payload in the log.

A class holds the payload alone. The step, the time and the sequence number are fields of the line
around it, and `evolve` takes them as arguments. The codec decodes lines into these classes, so a
field's name here is its name in the log.
"""

from dataclasses import field
from datetime import datetime
from typing import ClassVar, TypeAlias

from taskloom.board.status import EventType, StepStatus, TaskStatus
from taskloom.board.validation import JsonData
from taskloom.define import define
from taskloom.ids import StepId


@define(kw_only=True)
class StepSnapshot:
    """The content of a step in `task_created`; a missing field has its default."""

    step_id: StepId
    title: str
    summary: str = ""
    depends_on_step_ids: list[str] = field(default_factory=list[str])
    required: bool = True
    worker_pool_id: str | None = None
    metadata: JsonData = None
    """The line has this field only if there is metadata."""


@define(kw_only=True)
class TaskSnapshot:
    """A Task as it was created."""

    task_id: str
    wal_name: str = ""
    title: str = ""
    summary: str = ""
    created_by_agent_id: str = ""
    created_by_run_id: str = ""
    steps: list[StepSnapshot] = field(default_factory=list[StepSnapshot])


@define()
class TaskCreated:
    """The whole DAG, every step pending."""

    type: ClassVar[EventType] = EventType.TASK_CREATED
    task: TaskSnapshot


@define()
class TaskRunning:
    """A step is ready, claimed or running."""

    type: ClassVar[EventType] = EventType.TASK_RUNNING
    previous_status: TaskStatus
    status: TaskStatus = TaskStatus.RUNNING
    reason: str | None = "ready_step_available"


@define()
class TaskUpdated:
    """The operations of one update, as they were sent.

    Content and topology change with this event. Status changes (cancel, reopen, block) have events
    of their own after it.
    """

    type: ClassVar[EventType] = EventType.TASK_UPDATED
    operations: list[dict[str, object]]
    updated_after_dispatch_step_ids: list[str] = field(default_factory=list[str])


@define()
class TaskBlocked:
    """The Orchestrator blocked the Task: no step can be claimed."""

    type: ClassVar[EventType] = EventType.TASK_BLOCKED
    previous_status: TaskStatus
    status: TaskStatus = TaskStatus.BLOCKED
    reason: str | None = None


@define()
class TaskReopened:
    """The Orchestrator lifted the block."""

    type: ClassVar[EventType] = EventType.TASK_REOPENED
    previous_status: TaskStatus
    status: TaskStatus = TaskStatus.PENDING
    reason: str | None = None


@define()
class TaskCompleted:
    """The Task was completed."""

    type: ClassVar[EventType] = EventType.TASK_COMPLETED
    result_summary: str | None = None
    cancelled_optional_step_ids: list[str] = field(default_factory=list[str])


@define()
class TaskFailed:
    """The Task failed."""

    type: ClassVar[EventType] = EventType.TASK_FAILED
    reason: str | None = None
    failed_step_ids: list[str] = field(default_factory=list[str])


@define()
class TaskCancelled:
    """The Task was cancelled."""

    type: ClassVar[EventType] = EventType.TASK_CANCELLED
    reason: str | None = None
    cancelled_step_ids: list[str] = field(default_factory=list[str])


@define()
class StepReady:
    """Every dependency of the step is completed."""

    type: ClassVar[EventType] = EventType.STEP_READY
    previous_status: StepStatus
    depends_on_step_ids: list[str]
    status: StepStatus = StepStatus.READY


@define()
class StepClaimed:
    """A worker run holds the step until the lease ends."""

    type: ClassVar[EventType] = EventType.STEP_CLAIMED
    previous_status: StepStatus
    claimed_by_agent_id: str
    claimed_by_run_id: str
    lease_expires_at: datetime


@define()
class StepStarted:
    """The holder started the step."""

    type: ClassVar[EventType] = EventType.STEP_STARTED
    previous_status: StepStatus
    lease_expires_at: datetime | None = None
    status: StepStatus = StepStatus.RUNNING


@define()
class StepUpdated:
    """An intermediate result, a renewed lease, or a return from ready to pending."""

    type: ClassVar[EventType] = EventType.STEP_UPDATED
    previous_status: StepStatus
    status: StepStatus
    result_summary: str | None = None
    artifact_ids: list[str] | None = None
    lease_expires_at: datetime | None = None


@define()
class StepBlocked:
    """The holder cannot continue; the Orchestrator must act."""

    type: ClassVar[EventType] = EventType.STEP_BLOCKED
    previous_status: StepStatus
    reason: str | None = None
    result_summary: str | None = None
    artifact_ids: list[str] | None = None


@define()
class StepCompleted:
    """The step was completed; that is final."""

    type: ClassVar[EventType] = EventType.STEP_COMPLETED
    previous_status: StepStatus
    result_summary: str | None = None
    artifact_ids: list[str] | None = None
    result_data: JsonData = None
    """The line has this field only if there is data."""


@define()
class StepFailed:
    """The step failed; the Orchestrator may reopen it."""

    type: ClassVar[EventType] = EventType.STEP_FAILED
    previous_status: StepStatus
    reason: str | None = None
    result_summary: str | None = None
    artifact_ids: list[str] | None = None


@define()
class StepCancelled:
    """The step was cancelled; that is final."""

    type: ClassVar[EventType] = EventType.STEP_CANCELLED
    previous_status: StepStatus
    reason: str | None = None
    result_summary: str | None = None


@define()
class StepReopened:
    """A blocked or failed step returned to the plan."""

    type: ClassVar[EventType] = EventType.STEP_REOPENED
    previous_status: StepStatus
    reason: str | None = None
    status: StepStatus = StepStatus.PENDING


@define()
class StepLeaseExpired:
    """The holder did not renew its lease in time."""

    type: ClassVar[EventType] = EventType.STEP_LEASE_EXPIRED
    previous_status: StepStatus
    claimed_by_agent_id: str
    claimed_by_run_id: str
    expired_at: datetime


TaskPayload: TypeAlias = (
    TaskCreated
    | TaskRunning
    | TaskUpdated
    | TaskBlocked
    | TaskReopened
    | TaskCompleted
    | TaskFailed
    | TaskCancelled
)
StepPayload: TypeAlias = (
    StepReady
    | StepClaimed
    | StepStarted
    | StepUpdated
    | StepBlocked
    | StepCompleted
    | StepFailed
    | StepCancelled
    | StepReopened
    | StepLeaseExpired
)
Payload: TypeAlias = TaskPayload | StepPayload
"""What an event carries: one class for each type of event."""

PAYLOADS: tuple[type[Payload], ...] = (
    TaskCreated,
    TaskRunning,
    TaskUpdated,
    TaskBlocked,
    TaskReopened,
    TaskCompleted,
    TaskFailed,
    TaskCancelled,
    StepReady,
    StepClaimed,
    StepStarted,
    StepUpdated,
    StepBlocked,
    StepCompleted,
    StepFailed,
    StepCancelled,
    StepReopened,
    StepLeaseExpired,
)
"""Every payload class, in the order the documentation lists them."""


@define()
class Event:
    """One event as `decide` returns it: the payload, and the step that it changes."""

    payload: Payload
    step_id: StepId | None = None
