"""The only place that changes a Task: one event at a time, live and at replay alike.

(Logs of the reference implementation go through `reference_events`.)

`evolve` never refuses a recorded event. One that cannot follow the ones before it means that the
log has changed since; `ImpossibleEventError` reports that instead of a guess.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Final, NoReturn, Protocol

from taskloom.board import events as ev
from taskloom.board.state.apply_operations import add_steps, apply_operations
from taskloom.board.state.step import Step
from taskloom.board.state.task import Task
from taskloom.board.status import STEP_NEXT, TASK_NEXT, EventType, StepStatus
from taskloom.errors import Code, RefusedError, TaskloomError
from taskloom.ids import Seq, SessionId, StepId


class Recorded(Protocol):
    """An event as a line of a log has it."""

    wal_seq: Seq
    payload: ev.Payload
    step_id: StepId | None
    created_at: datetime


class ImpossibleEventError(TaskloomError):
    """An event cannot follow the ones before it; `cause` says why."""

    def __init__(self, cause: str) -> None:
        """Raise with the code `task_wal_unavailable`."""
        super().__init__(
            Code.TASK_WAL_UNAVAILABLE,
            f"{cause}. Apply the events of one log in their order, each once; the Task may be "
            "half changed.",
        )
        self.cause = cause


def create(event: ev.TaskCreated, at: datetime, seq: Seq, session_id: SessionId) -> Task:
    """Return the Task that the first line of a log creates."""
    from_log = event.task
    task = Task(
        task_id=from_log.task_id,
        wal_name=from_log.wal_name,
        session_id=session_id,
        title=from_log.title,
        summary=from_log.summary,
        created_by_agent_id=from_log.created_by_agent_id,
        created_by_run_id=from_log.created_by_run_id,
        created_at=at,
        updated_at=at,
        seq=seq,
    )
    try:
        add_steps(task, from_log.steps, at)
    except (KeyError, ValueError, RefusedError) as cause:
        raise ImpossibleEventError(
            f"the steps of task_created do not make a DAG: {cause}"
        ) from cause
    return task


def evolve(task: Task, payload: ev.Payload, step_id: StepId | None, at: datetime, seq: Seq) -> None:
    """Apply one event.

    Raises:
        ImpossibleEventError: The event cannot follow. The Task may be half changed.
    """
    on_step = _STEP.get(type(payload))
    if on_step is not None:
        step = task.steps.get(step_id or "")
        if step is None:
            raise ImpossibleEventError(f"{payload.type.value} names the unknown step {step_id!r}")
        on_step(task, step, payload, seq)
        step.updated_at = at
    else:
        on_task = _TASK.get(type(payload))
        if on_task is None:
            raise ImpossibleEventError(f"{payload.type.value} can only start a log")
        next_status = TASK_NEXT[task.status].get(payload.type)
        if next_status is None:
            raise ImpossibleEventError(
                f"{payload.type.value} cannot follow a Task that is {task.status}"
            )
        task.status = next_status
        on_task(task, payload, at)
    task.updated_at = at
    task.seq = seq


def evolve_all(task: Task, lines: Iterable[Recorded]) -> None:
    """Apply the events of a log from the one after `task.seq` on.

    This is `evolve` in a loop, with the work that is the same for every event done once.

    Raises:
        ImpossibleEventError: An event cannot follow; `task.seq` is the last one that could.
    """
    find, handler_of = task.steps.get, _STEP.get
    seq, at = task.seq, task.updated_at
    try:
        for line in lines:
            payload = line.payload
            step = find(line.step_id)  # type: ignore[arg-type] # None finds nothing
            handler = handler_of(type(payload))
            if line.wal_seq != seq + 1:
                _misnumbered(line)
            if step is not None and handler is not None:
                handler(task, step, payload, seq + 1)
                step.updated_at = at = line.created_at
            else:
                evolve(task, payload, line.step_id, line.created_at, seq + 1)
                at = line.created_at
            seq += 1
    finally:
        task.seq, task.updated_at = seq, at


def _misnumbered(line: Recorded) -> NoReturn:
    raise ImpossibleEventError(f"the line is numbered {line.wal_seq}")


# Events of steps. Each handler first moves the step, which checks the table.


def _sources(event: EventType, to: StepStatus) -> frozenset[StepStatus]:
    return frozenset(
        status for status, events in STEP_NEXT.items() if to in events.get(event, frozenset())
    )


def _move(
    task: Task, step: Step, payload: ev.StepPayload, to: StepStatus, sources: frozenset[StepStatus]
) -> None:
    before = step.status
    if before not in sources or payload.previous_status is not before:
        raise ImpossibleEventError(
            f"{payload.type.value} from {payload.previous_status.value} cannot follow: "
            f"step {step.step_id!r} is {before.value}"
        )
    if before is not to:
        index = task.live_index
        if index is not None:
            index.move(step, to)
        step.status = to


_READY_FROM: Final = _sources(EventType.STEP_READY, StepStatus.READY)
_CLAIMED_FROM: Final = _sources(EventType.STEP_CLAIMED, StepStatus.CLAIMED)
_RUNNING_FROM: Final = _sources(EventType.STEP_STARTED, StepStatus.RUNNING)
_BLOCKED_FROM: Final = _sources(EventType.STEP_BLOCKED, StepStatus.BLOCKED)
_COMPLETED_FROM: Final = _sources(EventType.STEP_COMPLETED, StepStatus.COMPLETED)
_FAILED_FROM: Final = _sources(EventType.STEP_FAILED, StepStatus.FAILED)
_CANCELLED_FROM: Final = _sources(EventType.STEP_CANCELLED, StepStatus.CANCELLED)
_REOPENED_FROM: Final = _sources(EventType.STEP_REOPENED, StepStatus.PENDING)
_EXPIRED_FROM: Final = _sources(EventType.STEP_LEASE_EXPIRED, StepStatus.PENDING)
_UPDATED_FROM: Final = {to: _sources(EventType.STEP_UPDATED, to) for to in StepStatus}


def _ready(task: Task, step: Step, event: ev.StepReady, _seq: Seq) -> None:
    if step.unmet:
        raise ImpossibleEventError(f"step {step.step_id!r} cannot be ready: {step.unmet} unmet")
    _move(task, step, event, StepStatus.READY, _READY_FROM)


def _claimed(task: Task, step: Step, event: ev.StepClaimed, seq: Seq) -> None:
    _move(task, step, event, StepStatus.CLAIMED, _CLAIMED_FROM)
    step.claimed_by_agent_id = event.claimed_by_agent_id
    run = step.claimed_by_run_id = event.claimed_by_run_id
    step.claim_seq = seq
    step.attempts += 1
    step.dispatched = (step.title, step.summary)
    step.updated_after_dispatch = False
    task.claims[run] = step.step_id
    _lease(task, step, event.lease_expires_at)


def _started(task: Task, step: Step, event: ev.StepStarted, _seq: Seq) -> None:
    _move(task, step, event, StepStatus.RUNNING, _RUNNING_FROM)
    if event.lease_expires_at is not None:
        _lease(task, step, event.lease_expires_at)


def _updated(task: Task, step: Step, event: ev.StepUpdated, _seq: Seq) -> None:
    _move(task, step, event, event.status, _UPDATED_FROM[event.status])
    if event.result_summary is not None:
        step.result_summary = event.result_summary
    if event.artifact_ids is not None:
        step.artifact_ids = tuple(event.artifact_ids)
    if event.lease_expires_at is not None:
        _lease(task, step, event.lease_expires_at)


def _blocked(task: Task, step: Step, event: ev.StepBlocked, _seq: Seq) -> None:
    _move(task, step, event, StepStatus.BLOCKED, _BLOCKED_FROM)
    _write_result(step, event.result_summary, event.artifact_ids)
    step.reason = event.reason
    _release(step)


def _completed(task: Task, step: Step, event: ev.StepCompleted, _seq: Seq) -> None:
    _move(task, step, event, StepStatus.COMPLETED, _COMPLETED_FROM)
    _write_result(step, event.result_summary, event.artifact_ids)
    step.result_data = event.result_data
    step.reason = None
    _release(step)
    if step.required:
        task.required_open -= 1
    if step.dependents:
        steps = task.steps
        for dependent in step.dependents:
            steps[dependent].unmet -= 1


def _failed(task: Task, step: Step, event: ev.StepFailed, _seq: Seq) -> None:
    _move(task, step, event, StepStatus.FAILED, _FAILED_FROM)
    _write_result(step, event.result_summary, event.artifact_ids)
    step.reason = event.reason
    _release(step)


def _cancelled(task: Task, step: Step, event: ev.StepCancelled, _seq: Seq) -> None:
    _move(task, step, event, StepStatus.CANCELLED, _CANCELLED_FROM)
    _write_result(step, event.result_summary, None)
    step.reason = event.reason
    _release(step)


def _reopened(task: Task, step: Step, event: ev.StepReopened, _seq: Seq) -> None:
    _move(task, step, event, StepStatus.PENDING, _REOPENED_FROM)
    step.reason = event.reason
    _release(step)


def _lease_expired(task: Task, step: Step, event: ev.StepLeaseExpired, _seq: Seq) -> None:
    if step.claimed_by_run_id != event.claimed_by_run_id:
        raise ImpossibleEventError(
            f"run {event.claimed_by_run_id!r} does not hold {step.step_id!r}"
        )
    _move(task, step, event, StepStatus.PENDING, _EXPIRED_FROM)
    _release(step)


def _lease(task: Task, step: Step, end: datetime) -> None:
    before, step.lease_expires_at = step.lease_expires_at, end
    index = task.live_index
    if index is not None and (before is None or end < before):
        index.lease(step, end)  # A later end replaces the entry when that comes first.


def _release(step: Step) -> None:
    if step.claimed_by_run_id is not None:
        step.claimed_by_agent_id = None
        step.claimed_by_run_id = None
        step.lease_expires_at = None


def _write_result(step: Step, summary: str | None, artifacts: list[str] | None) -> None:
    if summary is not None:
        step.result_summary = summary
    if artifacts is not None:
        step.artifact_ids = tuple(artifacts)


# Events of the Task. `evolve` has set the new status by the table already.


def _task_reason(
    task: Task, event: ev.TaskRunning | ev.TaskBlocked | ev.TaskReopened, _at: datetime
) -> None:
    task.reason = event.reason if isinstance(event, ev.TaskBlocked) else None


def _task_updated(task: Task, event: ev.TaskUpdated, at: datetime) -> None:
    try:
        apply_operations(task, event.operations, at)
    except (KeyError, ValueError, RefusedError) as cause:
        raise ImpossibleEventError(
            f"the operations of task_updated do not apply: {cause}"
        ) from cause
    for step_id in event.updated_after_dispatch_step_ids:
        step = task.steps.get(step_id)
        if step is not None:
            step.updated_after_dispatch = True


def _task_completed(task: Task, event: ev.TaskCompleted, _at: datetime) -> None:
    task.result_summary = event.result_summary
    task.reason = None


def _task_ended(task: Task, event: ev.TaskFailed | ev.TaskCancelled, _at: datetime) -> None:
    task.reason = event.reason


_STEP: Final[Mapping[type, Callable[..., None]]] = {
    ev.StepReady: _ready,
    ev.StepClaimed: _claimed,
    ev.StepStarted: _started,
    ev.StepUpdated: _updated,
    ev.StepBlocked: _blocked,
    ev.StepCompleted: _completed,
    ev.StepFailed: _failed,
    ev.StepCancelled: _cancelled,
    ev.StepReopened: _reopened,
    ev.StepLeaseExpired: _lease_expired,
}
_TASK: Final[Mapping[type, Callable[..., None]]] = {
    ev.TaskRunning: _task_reason,
    ev.TaskUpdated: _task_updated,
    ev.TaskBlocked: _task_reason,
    ev.TaskReopened: _task_reason,
    ev.TaskCompleted: _task_completed,
    ev.TaskFailed: _task_ended,
    ev.TaskCancelled: _task_ended,
}
