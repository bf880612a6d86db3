"""What of a Task is shown: all of it if there is room, else the steps that matter most.

Its cost follows what is shown, not the size of the DAG.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from taskloom.board import StepStatus, StepView, Task, TaskStatus
from taskloom.board.views import count_steps, view_step
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
"""What is being done first, then what is in the way, then what is next."""

_RANK: Final = {status: at for at, status in enumerate(_URGENT)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWindow:
    """A Task at one moment."""

    task_id: TaskId
    title: str
    status: TaskStatus
    counts: dict[str, int]
    stalled: bool
    completeable: bool
    outcome: str
    """Its result, or its reason."""
    steps: tuple[StepView, ...]
    """In plan order; `hidden` counts the others by status."""
    hidden: dict[str, int]

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.status in (TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED)


def most_urgent(steps: Sequence[StepView], most: int) -> list[StepView]:
    """Return the steps that matter most, in the order they came in."""
    ranked = sorted(range(len(steps)), key=lambda at: (_RANK[steps[at].status], at))
    return [steps[at] for at in sorted(ranked[: max(0, most)])]


def look_at(most: int) -> Callable[[Task], TaskWindow]:
    """Return what looks at a Task, taking no more than so many steps."""

    def look(task: Task) -> TaskWindow:
        steps = _chosen(task, most)
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

    return look


def _chosen(task: Task, most: int) -> tuple[StepView, ...]:
    if len(task.steps) <= most:
        return tuple(view_step(step) for step in task.steps.values())
    chosen: list[str] = []
    for status in _URGENT:
        room = most - len(chosen)
        if room <= 0:
            break
        chosen += islice(task.index.walk(None, (status,), lambda _: True), room)
    steps = sorted((task.steps[step_id] for step_id in chosen), key=lambda step: step.order)
    return tuple(view_step(step) for step in steps)
