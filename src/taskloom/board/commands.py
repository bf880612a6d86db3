"""The commands. Each names its Task; the actor is passed beside it."""

from enum import StrEnum
from typing import TypeAlias

from taskloom.board.operations import NewStep, Operation
from taskloom.board.status import StepStatus
from taskloom.board.validation import JsonData
from taskloom.define import define
from taskloom.ids import CommandId, Seq, StepId, TaskId


@define(frozen=True, kw_only=True)
class CreateTask:
    """Create a Task with its whole DAG. The caller chooses its id and the name of its log."""

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
    """Claim a ready step for this run."""

    task_id: TaskId
    step_id: StepId
    command_id: CommandId | None = None


@define(frozen=True, kw_only=True)
class UpdateStep:
    """Set a step's status or result. `UpdateBoard` changes its content."""

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
    """End the Task as completed."""

    task_id: TaskId
    result_summary: str | None = None
    command_id: CommandId | None = None


@define(frozen=True, kw_only=True)
class FailTask:
    """End the Task as failed; open steps fail with it."""

    task_id: TaskId
    reason: str | None = None
    command_id: CommandId | None = None


@define(frozen=True, kw_only=True)
class CancelTask:
    """End the Task as cancelled; open steps are cancelled with it."""

    task_id: TaskId
    reason: str | None = None
    command_id: CommandId | None = None


class RunOutcome(StrEnum):
    """How a worker run ended: the reason of its unfinished step's failure."""

    FINISHED = "worker_finished_without_terminal_step_status"
    CANCELLED = "worker_cancelled"
    TIMEOUT = "worker_timeout"
    FAILED = "worker_failed"


@define(frozen=True, kw_only=True)
class EndRun:
    """Report that the actor's run has ended. The step that it still holds, if any, fails."""

    task_id: TaskId
    outcome: RunOutcome = RunOutcome.FINISHED
    command_id: CommandId | None = None


@define(frozen=True, kw_only=True)
class RenewLease:
    """Renew the lease of the actor's run. Its host sends this while the run is busy."""

    task_id: TaskId
    step_id: StepId
    fence: Seq | None = None
    command_id: CommandId | None = None


@define(frozen=True, kw_only=True)
class ExpireLeases:
    """Return the steps whose lease has ended to the plan. Any process may send this."""

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
"""Every command to an existing Task; `CreateTask` has none yet."""
