"""What may be asked of one Task. Each command names its Task and carries nothing of the actor."""

from enum import StrEnum
from typing import TypeAlias

from taskloom.board.operations import NewStep, Operation
from taskloom.board.status import StepStatus
from taskloom.board.validation import JsonData
from taskloom.define import define
from taskloom.ids import CommandId, Seq, StepId, TaskId


@define(frozen=True, kw_only=True)
class CreateTask:
    """Make a new Task with its whole DAG. The caller chooses both of its names."""

    task_id: TaskId
    wal_name: str
    title: str
    summary: str = ""
    steps: tuple[NewStep, ...]
    command_id: CommandId | None = None


@define(frozen=True, kw_only=True)
class UpdateBoard:
    """Apply operations in order, all or none."""

    task_id: TaskId
    operations: tuple[Operation, ...]
    command_id: CommandId | None = None


@define(frozen=True, kw_only=True)
class ClaimStep:
    """Take a ready step for this run."""

    task_id: TaskId
    step_id: StepId
    command_id: CommandId | None = None


@define(frozen=True, kw_only=True)
class UpdateStep:
    """Write a step's execution state or result. For content there is `UpdateBoard`."""

    task_id: TaskId
    step_id: StepId
    status: StepStatus | None = None
    result_summary: str | None = None
    artifact_ids: tuple[str, ...] | None = None
    result_data: JsonData = None
    """JSON data beside `result_summary`, with status completed; None is none."""
    reason: str | None = None
    fence: Seq | None = None
    """The sequence number of the claim this write belongs to; see `Receipt.fence`."""
    command_id: CommandId | None = None


@define(frozen=True, kw_only=True)
class CompleteTask:
    """End the Task well."""

    task_id: TaskId
    result_summary: str | None = None
    command_id: CommandId | None = None


@define(frozen=True, kw_only=True)
class FailTask:
    """End the Task as given up; open steps fail with it."""

    task_id: TaskId
    reason: str | None = None
    command_id: CommandId | None = None


@define(frozen=True, kw_only=True)
class CancelTask:
    """End the Task as no longer wanted; open steps are cancelled with it."""

    task_id: TaskId
    reason: str | None = None
    command_id: CommandId | None = None


class RunOutcome(StrEnum):
    """How a worker run ended; the reason its unfinished step fails with."""

    FINISHED = "worker_finished_without_terminal_step_status"
    CANCELLED = "worker_cancelled"
    TIMEOUT = "worker_timeout"
    FAILED = "worker_failed"


@define(frozen=True, kw_only=True)
class EndRun:
    """Say that the actor's run has ended. The step it still holds, if any, fails."""

    task_id: TaskId
    outcome: RunOutcome = RunOutcome.FINISHED
    command_id: CommandId | None = None


@define(frozen=True, kw_only=True)
class RenewLease:
    """Say that the actor's run is alive. Sent by its host, so that a long thought loses nothing."""

    task_id: TaskId
    step_id: StepId
    fence: Seq | None = None
    command_id: CommandId | None = None


@define(frozen=True, kw_only=True)
class ExpireLeases:
    """Take back the steps whose lease has ended. Anybody may notice; one writes it."""

    task_id: TaskId
    command_id: CommandId | None = None


Command: TypeAlias = (
    UpdateBoard
    | ClaimStep
    | UpdateStep
    | CompleteTask
    | FailTask
    | CancelTask
    | EndRun
    | RenewLease
    | ExpireLeases
)
"""What may be asked of a Task that is there. `CreateTask` stands apart: it has none yet."""
