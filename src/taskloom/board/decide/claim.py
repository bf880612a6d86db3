"""Decides claims: one run wins a step, and every other is refused with the reason."""

from datetime import datetime

from taskloom.board import validation
from taskloom.board.actor import Actor, Role
from taskloom.board.commands import ClaimStep
from taskloom.board.events import Event, StepClaimed
from taskloom.board.rules import Rules
from taskloom.board.state.step import Step
from taskloom.board.state.task import Task
from taskloom.board.status import HELD, StepStatus, TaskStatus
from taskloom.errors import Code, RefusedError


def decide_claim(
    task: Task, command: ClaimStep, actor: Actor, now: datetime, rules: Rules
) -> list[Event]:
    """Return the claim, or refuse. A refused claim does not fail the worker's run."""
    if actor.role is not Role.WORKER:
        raise RefusedError(
            Code.PERMISSION_DENIED,
            "Only a worker run claims steps. The Orchestrator dispatches a worker, or writes the "
            "result of a ready step that it did itself.",
            {"role": actor.role.value},
        )
    step = find_step(task, command.step_id)
    _check_scope(step, actor)
    claimed = task.claims.get(actor.run_id)
    if claimed is not None:
        raise RefusedError(
            Code.STEP_ALREADY_CLAIMED_BY_RUN,
            f"This run has claimed step {claimed!r}; a run claims one step. Finish "
            "that one and end the run.",
            {"step_id": claimed},
        )
    if task.status is TaskStatus.BLOCKED:
        raise RefusedError(
            Code.TASK_NOT_DISPATCHABLE,
            "The Task is blocked: no step can be claimed until the Orchestrator reopens it. End "
            "this run.",
            {"task_id": task.task_id, "reason": task.reason},
        )
    if step.status is not StepStatus.READY:
        raise _not_ready(task, step)
    claim = StepClaimed(StepStatus.READY, actor.agent_id, actor.run_id, now + rules.lease)
    return [Event(claim, step.step_id)]


def find_step(task: Task, step_id: object) -> Step:
    """Return the step; refuse an unknown id."""
    name = validation.safe_id(step_id, "$.step_id") if not isinstance(step_id, str) else step_id
    step = task.steps.get(name)
    if step is None:
        raise RefusedError(
            Code.STEP_NOT_FOUND,
            f"Task {task.task_id!r} has no step {validation.shown(name)!r}. Query its steps to see "
            "them.",
            {"task_id": task.task_id, "step_id": validation.shown(name)},
        )
    return step


def _check_scope(step: Step, actor: Actor) -> None:
    scope = actor.scope
    if (
        scope is None
        or step.worker_pool_id != scope.worker_pool_id
        or not scope.allows(step.step_id)
    ):
        raise RefusedError(
            Code.PERMISSION_DENIED,
            f"Step {step.step_id!r} is outside what this run was dispatched for. Query the ready "
            "steps to see which ones you may claim.",
            {"step_id": step.step_id, "worker_pool_id": step.worker_pool_id},
        )


def _not_ready(task: Task, step: Step) -> RefusedError:
    details: dict[str, object] = {"step_id": step.step_id, "status": step.status.value}
    if step.status in HELD:
        return RefusedError(
            Code.STEP_ALREADY_CLAIMED,
            f"Step {step.step_id!r} is held by another run. Query the ready steps and claim "
            "another one; if there is none, end the run.",
            {**details, "claimed_by_agent_id": step.claimed_by_agent_id},
        )
    unmet = [
        on for on in step.depends_on_step_ids if task.steps[on].status is not StepStatus.COMPLETED
    ][:20]
    waits = f" and waits for {', '.join(unmet)}" if unmet else ""
    return RefusedError(
        Code.STEP_NOT_READY,
        f"Step {step.step_id!r} is {step.status.value}{waits}. Claim a ready one.",
        {**details, "unmet_step_ids": unmet},
    )
