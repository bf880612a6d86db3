"""The part of a Task that fits the screen: all of it, or the most urgent steps.

The cost follows what is shown, not the size of the DAG.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from taskloom.board import StepStatus, StepView, Task, TaskStatus, count_steps, view_step
from taskloom.ids import TaskId

_URGENT: Final = (
    StepStatus.RUNNING,
    StepStatus.CLAIMED,
    StepStatus.BLOCKED,
    StepStatus.FAILED,
    StepStatus.READY,
    StepStatus.PENDING,
    StepStatus.COMPLETED,
    StepStatus.CANCELLED,
)
"""Running steps first, then those that block the plan, then the next ones."""

_RANK: Final = {status: at for at, status in enumerate(_URGENT)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWindow:
    """A Task at one moment, with some of its steps."""

    task_id: TaskId
    title: str
    status: TaskStatus
    counts: dict[str, int]
    stalled: bool
    completeable: bool
    outcome: str
    """Its result, or else its reason."""
    steps: tuple[StepView, ...]
    """In plan order; `hidden` counts the others by status."""
    hidden: dict[str, int]

    @property
    def has_ended(self) -> bool:
        """Whether it is completed, failed or cancelled."""
        return self.status in (TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED)


def most_urgent(steps: Sequence[StepView], limit: int) -> list[StepView]:
    """Return the most urgent steps, in their own order."""
    ranked = sorted(range(len(steps)), key=lambda at: (_RANK[steps[at].status], at))
    return [steps[at] for at in sorted(ranked[: max(0, limit)])]


def window_reader(limit: int) -> Callable[[Task], TaskWindow]:
    """Return a function that takes the window of a Task, with at most `limit` steps."""

    def read(task: Task) -> TaskWindow:
        steps = _urgent_steps(task, limit)
        counts = count_steps(task)
        hidden = dict(counts)
        for step in steps:
            hidden[step.status.value] -= 1
        return TaskWindow(
            task_id=task.task_id,
            title=task.title,
            status=task.status,
            counts=counts,
            stalled=task.is_stalled,
            completeable=task.is_completeable,
            outcome=task.result_summary or task.reason or "",
            steps=steps,
            hidden={status: count for status, count in hidden.items() if count},
        )

    return read


def _urgent_steps(task: Task, limit: int) -> tuple[StepView, ...]:
    if len(task.steps) <= limit:
        return tuple(view_step(step) for step in task.steps.values())
    chosen: list[str] = []
    for status in _URGENT:
        left = limit - len(chosen)
        if left <= 0:
            break
        chosen += islice(task.index.walk(None, (status,), lambda _: True), left)
    steps = sorted((task.steps[step_id] for step_id in chosen), key=lambda step: step.order)
    return tuple(view_step(step) for step in steps)
