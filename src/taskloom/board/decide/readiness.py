"""The events that follow from others: steps become ready, and the Task starts to run."""

from collections.abc import Iterable

from taskloom.board.events import Event, StepReady, TaskRunning
from taskloom.board.state.step import Step
from taskloom.board.state.task import Task
from taskloom.board.status import StepStatus, TaskStatus
from taskloom.ids import StepId


def ready_event(step_id: StepId, depends_on: Iterable[StepId]) -> Event:
    """Return the event of a pending step that becomes ready."""
    return Event(StepReady(StepStatus.PENDING, list(depends_on)), step_id)


def after_completion(task: Task, step: Step) -> list[Event]:
    """Return what follows when `step` completes: dependents that waited for it alone are ready."""
    if not step.dependents or task.status is TaskStatus.BLOCKED:
        return running_if(task, became_ready=False)
    steps = task.steps
    free = [
        dependent
        for dependent in map(steps.__getitem__, step.dependents)
        if dependent.unmet == 1 and dependent.status is StepStatus.PENDING
    ]
    free.sort(key=lambda dependent: dependent.order)
    events = [ready_event(ready.step_id, ready.depends_on_step_ids) for ready in free]
    return events + running_if(task, became_ready=bool(events))


def after_return(task: Task, returned: Iterable[Step]) -> list[Event]:
    """Return what follows when steps return to pending: those that wait for none are ready."""
    if task.status is TaskStatus.BLOCKED:
        return []
    events = [
        ready_event(step.step_id, step.depends_on_step_ids) for step in returned if step.unmet == 0
    ]
    return events + running_if(task, became_ready=bool(events))


def running_if(task: Task, *, became_ready: bool) -> list[Event]:
    """Return the Task's start if it is pending and a step is ready, claimed or running."""
    if task.status is not TaskStatus.PENDING or not became_ready:
        return []
    return [Event(TaskRunning(TaskStatus.PENDING))]
