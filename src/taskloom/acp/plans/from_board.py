"""From what is planned to plan entries: steps of the board. Pure."""

from typing import Any, Final

from taskloom.acp.plans.plan import EntryState, ItemsPlan, PlanEntry
from taskloom.board import StepStatus, StepView, TaskView

TASK_PLAN: Final = "task-"
"""What the ids of the board's plans begin with, so that no other plan's id is theirs."""

STATE: Final[dict[StepStatus, EntryState]] = {
    StepStatus.PENDING: "pending",
    StepStatus.READY: "pending",
    StepStatus.CLAIMED: "in_progress",
    StepStatus.RUNNING: "in_progress",
    StepStatus.BLOCKED: "blocked",
    StepStatus.COMPLETED: "completed",
    StepStatus.FAILED: "failed",
    StepStatus.CANCELLED: "cancelled",
}


def step_entry(step: StepView) -> PlanEntry:
    """Return a step of the board as an entry: its title, and where it stands."""
    details: dict[str, Any] = {"stepId": step.step_id, "state": step.status.value}
    if step.claimed_by_agent_id is not None:
        details["worker"] = step.claimed_by_agent_id
    return PlanEntry(
        text=step.title,
        state=STATE[step.status],
        priority="medium" if step.required else "low",
        note=step.reason or "",
        details=details,
    )


def task_plan(task: TaskView) -> ItemsPlan:
    """Return a Task of the board as a plan: its steps in the order of their creation."""
    entries = tuple(step_entry(step) for step in task.steps)
    return ItemsPlan(TASK_PLAN + task.task_id, entries, task.title)
