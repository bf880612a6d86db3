"""Decides updates: applies the operations in order to an overlay, all of them or none."""

from dataclasses import replace
from datetime import datetime
from typing import NoReturn

from taskloom.board import events as ev
from taskloom.board import operations as op
from taskloom.board import validation
from taskloom.board.actor import Actor
from taskloom.board.commands import UpdateBoard
from taskloom.board.decide.create import cycle_refused
from taskloom.board.decide.readiness import ready_event
from taskloom.board.rules import Rules
from taskloom.board.state.task import Task
from taskloom.board.state.topological_order import insert_edges
from taskloom.board.state.update_draft import Draft, Overlay
from taskloom.board.status import HELD, STEP_NEXT, WAITING, EventType, StepStatus, TaskStatus
from taskloom.errors import Code, RefusedError
from taskloom.ids import StepId
from taskloom.text import join_limited


def decide_update(
    task: Task, command: UpdateBoard, _actor: Actor, _now: datetime, rules: Rules
) -> list[ev.Event]:
    """Return the events of the whole update, or refuse it and name the operation."""
    given = validation.items(command.operations, "$.operations", least=1, most=rules.operations_max)
    # All are parsed before the first is applied: a wrong field is reported before a wrong plan.
    operations = [
        op.parse(
            op.dump(item) if isinstance(item, _TYPED) else item, f"$.operations[{index}]", rules
        )
        for index, item in enumerate(given)
    ]
    update = _Update(task, rules)
    for index, operation in enumerate(operations):
        update.apply(index, operation)
    return update.conclude()


_TYPED = (
    op.UpdateTask,
    op.AddStep,
    op.UpdateStepContent,
    op.DeleteStep,
    op.AddDependency,
    op.RemoveDependency,
    op.CancelStep,
    op.ReopenStep,
)


class _Update:
    """One update while it is being checked."""

    def __init__(self, task: Task, rules: Rules) -> None:
        self._task = task
        self._rules = rules
        self._overlay = Overlay(task)
        self._status = task.status
        self._raw: list[dict[str, object]] = []
        self._caused: list[ev.Event] = []
        self._after_dispatch: dict[StepId, None] = {}

    def apply(self, index: int, operation: op.Operation) -> None:
        match operation:
            case op.UpdateTask():
                self._update_task(index, operation)
            case op.AddStep():
                operation = self._add(index, operation)
            case op.UpdateStepContent():
                self._update_step(index, operation)
            case op.DeleteStep():
                self._delete(index, operation)
            case op.AddDependency() | op.RemoveDependency():
                self._dependency(index, operation)
            case op.CancelStep():
                self._cancel(index, operation)
            case op.ReopenStep():
                self._reopen(index, operation)
        self._raw.append(op.dump(operation))

    def conclude(self) -> list[ev.Event]:
        self._check_whole()
        updated = ev.TaskUpdated(self._raw, list(self._after_dispatch))
        events = [ev.Event(updated), *self._caused, *self._promotions()]
        if self._status is TaskStatus.PENDING and self._overlay.alive():
            events.append(ev.Event(ev.TaskRunning(TaskStatus.PENDING)))
        return events

    # One method for each kind of operation.

    def _update_task(self, index: int, operation: op.UpdateTask) -> None:
        wanted = operation.status
        if wanted is None:
            return
        before = self._status
        if wanted is TaskStatus.BLOCKED and before is not TaskStatus.BLOCKED:
            event: ev.Payload = ev.TaskBlocked(before, reason=operation.reason)
        elif wanted is TaskStatus.PENDING and before is TaskStatus.BLOCKED:
            event = ev.TaskReopened(before, reason=operation.reason)
        else:
            _refuse(
                index,
                Code.INVALID_TRANSITION,
                f"the Task is {before.value}; it cannot be set to {wanted.value}. Set blocked on "
                "a pending or running Task, pending on a blocked one.",
                status=before.value,
            )
        self._caused.append(ev.Event(event))
        self._status = wanted

    def _add(self, index: int, operation: op.AddStep) -> op.AddStep:
        new = operation.step
        if self._overlay.has(new.step_id):
            path = f"$.operations[{index}].step.step_id"
            validation.refuse(path, f"repeats {new.step_id!r}; step ids are unique.", index=index)
        if self._overlay.size >= self._rules.steps_max:
            validation.refuse(
                f"$.operations[{index}]",
                f"is one step too many: a Task holds at most {self._rules.steps_max}.",
                index=index,
            )
        if new.worker_pool_id is None:
            new = replace(new, worker_pool_id=self._rules.default_worker_pool)
        self._overlay.add(new, index)
        return replace(operation, step=new)

    def _update_step(self, index: int, operation: op.UpdateStepContent) -> None:
        draft = self._draft(index, operation.step_id)
        new = operation.fields
        structural = (new.depends_on_step_ids, new.required, new.worker_pool_id, new.metadata)
        if any(value is not None for value in structural):
            self._require_open(index, draft)
        if new.depends_on_step_ids is not None:
            self._overlay.set_dependencies(draft, new.depends_on_step_ids, index)
        self._note_dispatched(draft)

    def _dependency(self, index: int, operation: op.AddDependency | op.RemoveDependency) -> None:
        draft = self._draft(index, operation.step_id)
        self._require_open(index, draft)
        on, there = operation.depends_on_step_id, draft.depends_on_step_ids
        if isinstance(operation, op.AddDependency):
            wanted = tuple(dict.fromkeys((*there, on)))
        elif on in there:
            wanted = tuple(other for other in there if other != on)
        else:
            validation.refuse(
                f"$.operations[{index}].depends_on_step_id",
                f"names {on!r}, but step {draft.step_id!r} does not depend on it.",
                index=index,
            )
        self._overlay.set_dependencies(draft, wanted, index)
        self._note_dispatched(draft)

    def _delete(self, index: int, operation: op.DeleteStep) -> None:
        draft = self._draft(index, operation.step_id)
        if draft.status not in _DELETABLE:
            _refuse(
                index,
                Code.INVALID_TRANSITION,
                f"step {draft.step_id!r} is {draft.status.value}; only pending, ready and "
                "cancelled steps can be deleted. Leave it, and change what depends on it.",
                step_id=draft.step_id,
                status=draft.status.value,
            )
        dependents = sorted(self._overlay.dependents(draft.step_id))
        if dependents:
            _refuse(
                index,
                Code.STEP_HAS_DEPENDENTS,
                f"step {draft.step_id!r} is a dependency of {join_limited(dependents)}. Change "
                "their dependencies first; the same update can do it.",
                step_id=draft.step_id,
                dependents=dependents[:50],
            )
        self._overlay.delete(draft.step_id)
        self._caused = [event for event in self._caused if event.step_id != draft.step_id]
        self._after_dispatch.pop(draft.step_id, None)

    def _cancel(self, index: int, operation: op.CancelStep) -> None:
        draft = self._draft(index, operation.step_id)
        if draft.status not in WAITING:
            _refuse(
                index,
                Code.INVALID_TRANSITION,
                f"step {draft.step_id!r} is {draft.status.value}; only pending and ready steps "
                f"can be cancelled. {_INSTEAD_OF_CANCEL[draft.status]}",
                step_id=draft.step_id,
                status=draft.status.value,
            )
        event = ev.StepCancelled(draft.status, reason=operation.reason)
        self._cause(draft, event, StepStatus.CANCELLED)

    def _reopen(self, index: int, operation: op.ReopenStep) -> None:
        draft = self._draft(index, operation.step_id)
        if EventType.STEP_REOPENED not in STEP_NEXT[draft.status]:
            final = draft.status in (StepStatus.COMPLETED, StepStatus.CANCELLED)
            _refuse(
                index,
                Code.STEP_TERMINAL if final else Code.INVALID_TRANSITION,
                f"step {draft.step_id!r} is {draft.status.value}; only blocked and failed steps "
                + (
                    "can be reopened. Add a new step for the work." if final else "can be reopened."
                ),
                step_id=draft.step_id,
                status=draft.status.value,
            )
        event = ev.StepReopened(draft.status, reason=operation.reason)
        self._cause(draft, event, StepStatus.PENDING)

    # Shared by the operations.

    def _draft(self, index: int, step_id: StepId) -> Draft:
        if not self._overlay.has(step_id):
            _refuse(
                index,
                Code.STEP_NOT_FOUND,
                f"there is no step {step_id!r} at this point of the update.",
                step_id=step_id,
            )
        return self._overlay.draft(step_id)

    def _require_open(self, index: int, draft: Draft) -> None:
        if draft.status is StepStatus.COMPLETED:
            _refuse(
                index,
                Code.STEP_TERMINAL,
                f"step {draft.step_id!r} is completed; only its title and summary can still "
                "change. Add a new step for further work.",
                step_id=draft.step_id,
            )

    def _note_dispatched(self, draft: Draft) -> None:
        if draft.status in HELD:
            self._after_dispatch[draft.step_id] = None

    def _cause(self, draft: Draft, payload: ev.Payload, status: StepStatus) -> None:
        self._caused.append(ev.Event(payload, draft.step_id))
        draft.status = status

    # The result as a whole.

    def _check_whole(self) -> None:
        overlay = self._overlay
        if overlay.size == 0:
            validation.refuse("$.operations", "would leave the Task without any step.")
        for draft in overlay.drafts():
            for on in draft.depends_on_step_ids:
                if not overlay.has(on):
                    _refuse(
                        max(draft.edges_by, 0),
                        Code.STEP_NOT_FOUND,
                        f"step {draft.step_id!r} would depend on {on!r}, which is not a step "
                        "of this Task.",
                        step_id=on,
                    )
        cycle = insert_edges(overlay, overlay.new_edges())
        if cycle is not None:
            closed_by = max(overlay.draft(step_id).edges_by for step_id in cycle)
            refused = cycle_refused(cycle, f"$.operations[{closed_by}]")
            details = {name: value for name, value in refused.details.items() if name != "path"}
            _refuse(closed_by, refused.code, refused.message, **details)

    def _promotions(self) -> list[ev.Event]:
        events: list[ev.Event] = []
        blocked = self._status is TaskStatus.BLOCKED
        for draft in self._overlay.drafts():
            unmet = self._overlay.unmet(draft) if draft.status in WAITING else 0
            if draft.status is StepStatus.READY and unmet:
                self._queue(events, draft, StepStatus.PENDING)
            elif draft.status is StepStatus.PENDING and not unmet and not blocked:
                self._queue(events, draft, StepStatus.READY)
        reopened = self._task.status is TaskStatus.BLOCKED and not blocked
        return events + (self._held_back() if reopened else [])

    def _queue(self, events: list[ev.Event], draft: Draft, to: StepStatus) -> None:
        if to is StepStatus.READY:
            events.append(ready_event(draft.step_id, draft.depends_on_step_ids))
        else:
            events.append(ev.Event(ev.StepUpdated(draft.status, to), draft.step_id))
        draft.status = to

    def _held_back(self) -> list[ev.Event]:
        """Return the promotions that the block has held back."""
        drafted = {draft.step_id for draft in self._overlay.drafts()}
        pending = self._task.index.walk(None, {StepStatus.PENDING}, self._overlay.has)
        events: list[ev.Event] = []
        for step_id in pending:
            step = self._task.steps[step_id]
            if step_id not in drafted and step.unmet == 0:
                events.append(ready_event(step_id, step.depends_on_step_ids))
                self._overlay.draft(step_id).status = StepStatus.READY
        return events


_DELETABLE = frozenset({StepStatus.PENDING, StepStatus.READY, StepStatus.CANCELLED})

_INSTEAD_OF_CANCEL = {
    StepStatus.CLAIMED: "A worker holds it: cancel that worker's run.",
    StepStatus.RUNNING: "A worker holds it: cancel that worker's run.",
    StepStatus.BLOCKED: "Reopen it first, then cancel it; one update can do both.",
    StepStatus.FAILED: "Reopen it first, then cancel it; one update can do both.",
    StepStatus.COMPLETED: "It is completed; change the steps that follow instead.",
    StepStatus.CANCELLED: "It is cancelled already.",
}


def _refuse(index: int, code: Code, why: str, **details: object) -> NoReturn:
    path = f"$.operations[{index}]"
    raise RefusedError(code, f"{path}: {why}", {"path": path, "index": index, **details})
