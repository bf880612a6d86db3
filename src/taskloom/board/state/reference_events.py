"""Applies the events of logs that the reference implementation wrote.

Its snapshots hold more than its events. No transition table is checked: the log is taken as it is.
The Task can be read; nothing is ever appended to such a log.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, cast

from taskloom.board.events import StepSnapshot
from taskloom.board.state.apply_operations import add_steps
from taskloom.board.state.step import Step
from taskloom.board.state.task import Task
from taskloom.board.status import EventType, StepStatus, TaskStatus
from taskloom.ids import Seq, SessionId, StepId

Raw = Mapping[str, object]

_STEP_STATUS: Final = {
    EventType.STEP_READY: StepStatus.READY,
    EventType.STEP_CLAIMED: StepStatus.CLAIMED,
    EventType.STEP_STARTED: StepStatus.RUNNING,
    EventType.STEP_BLOCKED: StepStatus.BLOCKED,
    EventType.STEP_COMPLETED: StepStatus.COMPLETED,
    EventType.STEP_FAILED: StepStatus.FAILED,
    EventType.STEP_CANCELLED: StepStatus.CANCELLED,
    EventType.STEP_REOPENED: StepStatus.PENDING,
    EventType.STEP_LEASE_EXPIRED: StepStatus.PENDING,
}
_TASK_STATUS: Final = {
    EventType.TASK_RUNNING: TaskStatus.RUNNING,
    EventType.TASK_BLOCKED: TaskStatus.BLOCKED,
    EventType.TASK_REOPENED: TaskStatus.PENDING,
    EventType.TASK_COMPLETED: TaskStatus.COMPLETED,
    EventType.TASK_FAILED: TaskStatus.FAILED,
    EventType.TASK_CANCELLED: TaskStatus.CANCELLED,
}


def task_from_snapshot(before: Task | None, raw: Raw, at: datetime, session_id: SessionId) -> Task:
    """Return the Task of a whole snapshot; `before` is the Task that it replaces.

    Raises:
        KeyError, ValueError, TypeError: The snapshot makes no sense.
    """
    task = Task(
        task_id=_text(raw["task_id"]),
        wal_name=_text(raw.get("wal_name")),
        session_id=session_id,
        title=_text(raw.get("title")),
        summary=_text(raw.get("summary")),
        created_by_agent_id=_text(raw.get("created_by_agent_id")),
        created_by_run_id=_text(raw.get("created_by_run_id")),
        created_at=_moment(raw.get("created_at")) or at,
        updated_at=at,
        from_reference_log=True,
    )
    steps = [cast(Raw, step) for step in cast("Sequence[object]", raw["steps"])]
    add_steps(task, [_snapshot(step) for step in steps], at)
    for given in steps:
        _fill(task, task.steps[_text(given["step_id"])], given, before)
    task.status = TaskStatus(_text(raw.get("status")) or TaskStatus.PENDING)
    if before is not None:
        task.claims = before.claims
    return task


def force_step(
    task: Task, step_id: StepId, event: EventType, raw: Raw, at: datetime, seq: Seq
) -> None:
    """Set a step to the status of an event."""
    step = task.steps[step_id]
    to = _STEP_STATUS.get(event) or StepStatus(_text(raw.get("status")) or step.status)
    _move(task, step, to)
    _write(step, raw)
    step.updated_at = at
    if event is EventType.STEP_CLAIMED:
        step.claim_seq = seq
        step.attempts += 1
        step.dispatched = (step.title, step.summary)
        task.claims[_text(step.claimed_by_run_id)] = step_id
    if to is StepStatus.PENDING:
        step.claimed_by_agent_id = step.claimed_by_run_id = None
    if to not in (StepStatus.CLAIMED, StepStatus.RUNNING):
        step.lease_expires_at = None


def force_task(task: Task, event: EventType, raw: Raw) -> None:
    """Set a Task to the status of an event."""
    task.status = _TASK_STATUS[event]
    task.result_summary = cast("str | None", raw.get("result_summary")) or task.result_summary
    if event is not EventType.TASK_RUNNING:
        task.reason = cast("str | None", raw.get("reason"))


def _snapshot(raw: Raw) -> StepSnapshot:
    depends_on = cast("Sequence[str]", raw.get("depends_on_step_ids") or ())
    return StepSnapshot(
        step_id=_text(raw["step_id"]),
        title=_text(raw.get("title")),
        summary=_text(raw.get("summary")),
        depends_on_step_ids=list(dict.fromkeys(depends_on)),
        required=raw.get("required") is not False,
        worker_pool_id=cast("str | None", raw.get("worker_pool_id")),
    )


def _fill(task: Task, step: Step, raw: Raw, before: Task | None) -> None:
    old = before.steps.get(step.step_id) if before is not None else None
    if old is not None:
        step.created_at, step.dispatched = old.created_at, old.dispatched
        step.claim_seq, step.attempts = old.claim_seq, old.attempts
    step.updated_at = _moment(raw.get("updated_at")) or step.updated_at
    extra = raw.get("metadata")
    if isinstance(extra, Mapping):
        step.updated_after_dispatch = bool(cast(Raw, extra).get("updated_after_dispatch"))
    _write(step, raw)
    _move(task, step, StepStatus(_text(raw.get("status")) or StepStatus.PENDING))


def _write(step: Step, raw: Raw) -> None:
    for name in ("claimed_by_agent_id", "claimed_by_run_id", "result_summary", "reason"):
        value = raw.get(name)
        if value is not None:
            setattr(step, name, _text(value))
    if raw.get("artifact_ids") is not None:
        step.artifact_ids = tuple(cast("Sequence[str]", raw["artifact_ids"]))
    if raw.get("lease_expires_at") is not None:
        step.lease_expires_at = _moment(raw["lease_expires_at"])


def _move(task: Task, step: Step, to: StepStatus) -> None:
    was_done = step.status is StepStatus.COMPLETED
    is_done = to is StepStatus.COMPLETED
    if task.live_index is not None:
        task.live_index.move(step, to)
    step.status = to
    change = was_done - is_done
    if step.required:
        task.required_open += change
    for dependent in step.dependents:
        task.steps[dependent].unmet += change


def _text(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a string")
    return value


def _moment(value: object) -> datetime | None:
    if value is None:
        return None
    moment = datetime.fromisoformat(_text(value))
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
