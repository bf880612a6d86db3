"""Decides the execution of steps: their status and results, leases, and the end of runs."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from taskloom.board import events as ev
from taskloom.board import validation
from taskloom.board.actor import Actor, Role
from taskloom.board.commands import EndRun, ExpireLeases, RenewLease, RunOutcome, UpdateStep
from taskloom.board.decide.claim import find_step
from taskloom.board.decide.readiness import after_completion, after_return
from taskloom.board.rules import Rules
from taskloom.board.state.step import Step
from taskloom.board.state.task import Task
from taskloom.board.status import HELD, STEP_NEXT, WAITING, StepStatus
from taskloom.errors import Code, RefusedError
from taskloom.ids import Seq

_STATUSES: Final = tuple(status.value for status in StepStatus)
_FINAL: Final = frozenset({StepStatus.COMPLETED, StepStatus.CANCELLED})
_WITH_ARTIFACTS: Final = frozenset({StepStatus.BLOCKED, StepStatus.COMPLETED, StepStatus.FAILED})
"""The statuses whose events have artifact_ids."""


def decide_step(
    task: Task, command: UpdateStep, actor: Actor, now: datetime, rules: Rules
) -> list[ev.Event]:
    """Return the events of the update, or refuse it."""
    step = find_step(task, command.step_id)
    command = _checked(command, rules)
    worker = actor.role is Role.WORKER
    if worker:
        require_holder(step, task, actor, command.fence, now)
    if step.status is StepStatus.CANCELLED or (
        step.status is StepStatus.COMPLETED and command.status is not StepStatus.CANCELLED
    ):
        raise _final(step)
    lease = now + rules.lease if worker else None
    if command.status is None or command.status is step.status:
        return [_note(step, command, lease, worker=worker)]
    return _change(task, step, command, lease, worker=worker)


def decide_renewal(
    task: Task, command: RenewLease, actor: Actor, now: datetime, rules: Rules
) -> list[ev.Event]:
    """Return the renewed lease of the run that holds the step."""
    step = find_step(task, command.step_id)
    require_holder(step, task, actor, command.fence, now)
    renewed = ev.StepUpdated(step.status, step.status, lease_expires_at=now + rules.lease)
    return [ev.Event(renewed, step.step_id)]


def decide_expiry(
    task: Task, _command: ExpireLeases, _actor: Actor, now: datetime, _rules: Rules
) -> list[ev.Event]:
    """Return the end of every lease that is past, and the steps that are ready again."""
    expired = task.index.expired(task.steps, now)
    events: list[ev.Event] = []
    for step in expired:
        agent, run, end = step.claimed_by_agent_id, step.claimed_by_run_id, step.lease_expires_at
        assert agent is not None
        assert run is not None
        assert end is not None
        events.append(ev.Event(ev.StepLeaseExpired(step.status, agent, run, end), step.step_id))
    return events + after_return(task, expired)


def decide_end_of_run(
    task: Task, command: EndRun, actor: Actor, now: datetime, _rules: Rules
) -> list[ev.Event]:
    """Return the failure of the step that the run still holds; nothing if it holds none."""
    outcome = validation.one_of(command.outcome, "$.outcome", [each.value for each in RunOutcome])
    step_id = task.claims.get(actor.run_id)
    step = None if step_id is None else task.steps.get(step_id)
    if step is None or step.status not in HELD or step.claimed_by_run_id != actor.run_id:
        return []
    if _has_expired(step, now):
        return []  # The lease has ended: the step returns to the plan and does not fail.
    failed = ev.StepFailed(
        step.status,
        reason=str(outcome),
        result_summary=step.result_summary or str(outcome),
    )
    return [ev.Event(failed, step.step_id)]


def require_holder(step: Step, task: Task, actor: Actor, fence: Seq | None, now: datetime) -> None:
    """Refuse a worker's write unless its own claim holds the step, and no later one."""
    if fence is not None:
        validation.number(fence, "$.fence", least=-(1 << 62), most=1 << 62)
    held = step.status in HELD and step.claimed_by_run_id == actor.run_id
    if held and (fence is None or fence == step.claim_seq) and not _has_expired(step, now):
        return
    details: dict[str, object] = {"step_id": step.step_id, "status": step.status.value}
    if actor.scope is None or task.claims.get(actor.run_id) != step.step_id:
        raise RefusedError(
            Code.PERMISSION_DENIED,
            f"This run has not claimed step {step.step_id!r}; a worker writes only to the step "
            "its own run claimed.",
            details,
        )
    if step.status in _FINAL:
        raise _final(step)
    raise RefusedError(
        Code.LEASE_LOST,
        f"This run no longer holds step {step.step_id!r} (it is {step.status.value}): its claim "
        "has ended, and its writes are refused. End the run.",
        details,
    )


def _has_expired(step: Step, now: datetime) -> bool:
    return step.lease_expires_at is not None and step.lease_expires_at <= now


def _final(step: Step) -> RefusedError:
    return RefusedError(
        Code.STEP_TERMINAL,
        f"Step {step.step_id!r} is {step.status.value}, and that is final. For further work the "
        "Orchestrator adds a new step.",
        {"step_id": step.step_id, "status": step.status.value},
    )


def _checked(command: UpdateStep, rules: Rules) -> UpdateStep:
    """Return the command with checked values; the same object if no value changes."""
    status = command.status
    if status is not None:
        status = StepStatus(validation.one_of(status, "$.status", _STATUSES))
        if status is StepStatus.READY:
            validation.refuse("$.status", "cannot be ready: the board alone sets a step ready.")
    artifacts = command.artifact_ids
    if artifacts is not None:
        artifacts = validation.texts(
            artifacts, "$.artifact_ids", most=rules.artifacts_max, most_bytes=rules.title_bytes_max
        )
    data = command.result_data
    if data is not None:
        if status is not StepStatus.COMPLETED:
            validation.refuse("$.result_data", "is for a completed step; set status completed.")
        data = validation.json_data(data, "$.result_data", most_bytes=rules.data_bytes_max)
    most = rules.result_bytes_max
    result, reason = command.result_summary, command.reason
    if result is not None:
        result = validation.text(result, "$.result_summary", most_bytes=most)
    if reason is not None:
        reason = validation.text(reason, "$.reason", most_bytes=most)
    same = result is command.result_summary and reason is command.reason
    if same and data is None and status is command.status and artifacts == command.artifact_ids:
        return command
    return replace(
        command,
        status=status,
        artifact_ids=artifacts,
        result_data=data,
        result_summary=result,
        reason=reason,
    )


def _note(step: Step, command: UpdateStep, lease: datetime | None, *, worker: bool) -> ev.Event:
    if not worker and command.result_summary is None and command.artifact_ids is None:
        validation.refuse(
            "$", "changes nothing: give a new status, a result_summary or artifact_ids."
        )
    note = ev.StepUpdated(step.status, step.status, command.result_summary, _listed(command), lease)
    return ev.Event(note, step.step_id)


def _change(
    task: Task, step: Step, command: UpdateStep, lease: datetime | None, *, worker: bool
) -> list[ev.Event]:
    to = command.status
    assert to is not None
    event = _EVENTS[to](step.status, command, lease)
    legal = to in STEP_NEXT[step.status].get(event.type, frozenset())
    if not legal or _is_internal(step, to, worker=worker):
        raise RefusedError(
            Code.INVALID_TRANSITION,
            f"Step {step.step_id!r} is {step.status.value} and cannot be set to {to.value}. "
            + _advice(step, to, worker=worker),
            {"step_id": step.step_id, "status": step.status.value, "wanted": to.value},
        )
    own = [*_extra_update(step, command, to), ev.Event(event, step.step_id)]
    if to is StepStatus.COMPLETED:
        return own + after_completion(task, step)
    if to is StepStatus.PENDING:
        return own + after_return(task, [step])
    return own


def _extra_update(step: Step, command: UpdateStep, to: StepStatus) -> list[ev.Event]:
    """Return an update for the values that the event of the change has no field for."""
    summary = command.result_summary if to in (StepStatus.PENDING, StepStatus.RUNNING) else None
    artifacts = None if to in _WITH_ARTIFACTS else _listed(command)
    if summary is None and artifacts is None:
        return []
    return [ev.Event(ev.StepUpdated(step.status, step.status, summary, artifacts), step.step_id)]


def _is_internal(step: Step, to: StepStatus, *, worker: bool) -> bool:
    """Return whether the change is legal only for the board itself, or with the whole Task."""
    if worker:
        return to is StepStatus.PENDING
    if to is StepStatus.CANCELLED:
        return step.status not in WAITING
    if to is StepStatus.FAILED:
        return step.status is StepStatus.BLOCKED
    return False


def _advice(step: Step, to: StepStatus, *, worker: bool) -> str:
    if worker:
        return "Set running, blocked, completed, failed or cancelled."
    if to is StepStatus.CANCELLED and step.status in HELD:
        return "A worker holds it: cancel that worker's run."
    if step.status is StepStatus.COMPLETED:
        return "It is completed; change the steps that follow instead."
    if step.status in (StepStatus.BLOCKED, StepStatus.FAILED):
        return "Set it back to pending (a reopen) first."
    if step.status is StepStatus.PENDING:
        return "It waits for its dependencies; fail it, cancel it, or change its dependencies."
    return "See the transition table in the documentation."


def _listed(command: UpdateStep) -> list[str] | None:
    return None if command.artifact_ids is None else list(command.artifact_ids)


def _reopened(before: StepStatus, command: UpdateStep, _lease: datetime | None) -> ev.StepPayload:
    return ev.StepReopened(before, reason=command.reason)


def _claimed(before: StepStatus, _command: UpdateStep, _lease: datetime | None) -> ev.StepPayload:
    # An update never makes a holder; no row of the table has this pair.
    return ev.StepUpdated(before, StepStatus.CLAIMED)


def _started(before: StepStatus, _command: UpdateStep, lease: datetime | None) -> ev.StepPayload:
    return ev.StepStarted(before, lease)


def _blocked(before: StepStatus, command: UpdateStep, _lease: datetime | None) -> ev.StepPayload:
    return ev.StepBlocked(before, command.reason, command.result_summary, _listed(command))


def _completed(before: StepStatus, command: UpdateStep, _lease: datetime | None) -> ev.StepPayload:
    return ev.StepCompleted(before, command.result_summary, _listed(command), command.result_data)


def _failed(before: StepStatus, command: UpdateStep, _lease: datetime | None) -> ev.StepPayload:
    return ev.StepFailed(before, command.reason, command.result_summary, _listed(command))


def _cancelled(before: StepStatus, command: UpdateStep, _lease: datetime | None) -> ev.StepPayload:
    return ev.StepCancelled(before, command.reason, command.result_summary)


_EVENTS: Final[
    Mapping[StepStatus, Callable[[StepStatus, UpdateStep, datetime | None], ev.StepPayload]]
] = {
    StepStatus.PENDING: _reopened,
    StepStatus.CLAIMED: _claimed,
    StepStatus.RUNNING: _started,
    StepStatus.BLOCKED: _blocked,
    StepStatus.COMPLETED: _completed,
    StepStatus.FAILED: _failed,
    StepStatus.CANCELLED: _cancelled,
}
"""The wanted status -> the event that records it."""
