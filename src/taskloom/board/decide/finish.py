"""Decides the end of a Task."""

from collections.abc import Callable
from datetime import datetime

from taskloom.board import validation
from taskloom.board.actor import Actor
from taskloom.board.commands import CancelTask, CompleteTask, FailTask
from taskloom.board.events import (
    Event,
    Payload,
    StepCancelled,
    StepFailed,
    TaskCancelled,
    TaskCompleted,
    TaskFailed,
)
from taskloom.board.rules import Rules
from taskloom.board.state.step import Step
from taskloom.board.state.task import Task
from taskloom.board.status import HELD, STEP_OVER, WAITING, StepStatus
from taskloom.errors import Code, RefusedError
from taskloom.ids import StepId
from taskloom.text import join_limited

_NAMED_MAX = 20
"""How many of the hindering steps an error names; the others are counted."""


def decide_complete(
    task: Task, command: CompleteTask, _actor: Actor, _now: datetime, rules: Rules
) -> list[Event]:
    """Return the completion; optional steps that no run has started are cancelled with it."""
    result = validation.optional_text(
        command.result_summary, "$.result_summary", most_bytes=rules.result_bytes_max
    )
    if not task.is_completeable:
        raise _not_completeable(task)
    left = [step for step in task.steps.values() if step.status in WAITING]
    cancelled = [
        Event(StepCancelled(step.status, reason="task_completed"), step.step_id) for step in left
    ]
    end = TaskCompleted(result, [step.step_id for step in left])
    return [*cancelled, Event(end)]


def decide_fail(
    task: Task, command: FailTask, _actor: Actor, _now: datetime, rules: Rules
) -> list[Event]:
    """Return the failure of the Task and of its open steps."""
    reason = _reason(command.reason, rules)
    steps, ids = _close(
        task,
        lambda step: StepFailed(
            step.status, reason="task_failed", result_summary=step.result_summary or "task_failed"
        ),
    )
    return [*steps, Event(TaskFailed(reason, ids))]


def decide_cancel(
    task: Task, command: CancelTask, _actor: Actor, _now: datetime, rules: Rules
) -> list[Event]:
    """Return the cancellation of the Task and of its open steps."""
    reason = _reason(command.reason, rules)
    steps, ids = _close(
        task,
        lambda step: StepCancelled(
            step.status,
            reason="task_cancelled",
            result_summary=step.result_summary or "task_cancelled",
        ),
    )
    return [*steps, Event(TaskCancelled(reason, ids))]


def _close(task: Task, end: Callable[[Step], Payload]) -> tuple[list[Event], list[StepId]]:
    open_steps = [step for step in task.steps.values() if step.status not in STEP_OVER]
    events = [Event(end(step), step.step_id) for step in open_steps]
    return events, [step.step_id for step in open_steps]


def _reason(value: object, rules: Rules) -> str | None:
    return validation.optional_text(value, "$.reason", most_bytes=rules.result_bytes_max)


def _not_completeable(task: Task) -> RefusedError:
    held = [step.step_id for step in task.steps.values() if step.status in HELD]
    open_steps = [
        step.step_id
        for step in task.steps.values()
        if step.required and step.status is not StepStatus.COMPLETED and step.status not in HELD
    ]
    ways: list[str] = []
    if held:
        names = join_limited(held, _NAMED_MAX)
        ways.append(f"still held by workers: {names} (wait for them, or cancel their runs)")
    if open_steps:
        names = join_limited(open_steps, _NAMED_MAX)
        ways.append(f"required and not completed: {names} (finish them, or set required=false)")
    return RefusedError(
        Code.TASK_NOT_COMPLETEABLE,
        f"The Task cannot be completed yet; {'; '.join(ways)}.",
        {
            "held_step_ids": held[:_NAMED_MAX],
            "open_required_step_ids": open_steps[:_NAMED_MAX],
            "held": len(held),
            "open_required": len(open_steps),
        },
    )
