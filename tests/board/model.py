"""The board once more, slow and obvious, written from the spec and from nothing else.

There is no event here, no count, no index and no overlay: a command works on a copy of the whole
Task, and `settle` then says what follows by itself, by looking at every step.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from taskloom.board import (
    Actor,
    CancelTask,
    ClaimStep,
    Command,
    CompleteTask,
    CreateTask,
    EndRun,
    ExpireLeases,
    FailTask,
    RenewLease,
    UpdateBoard,
    UpdateStep,
)

HELD = ("claimed", "running")
ENDED = ("completed", "failed", "cancelled")
OPERATIONS = [
    "update_task",
    "add_step",
    "update_step",
    "delete_step",
    "add_dependency",
    "remove_dependency",
    "cancel_step",
    "reopen_step",
]
BY_WORKER = {
    "claimed": ("running", "blocked", "completed", "failed", "cancelled"),
    "running": ("blocked", "completed", "failed", "cancelled"),
}
BY_ORCHESTRATOR = {
    "pending": ("failed", "cancelled"),
    "ready": ("completed", "failed", "cancelled"),
    "claimed": ("running", "blocked", "completed", "failed"),
    "running": ("blocked", "completed", "failed"),
    "blocked": ("pending",),
    "failed": ("pending",),
}


class ModelRefusedError(Exception):  # it is the answer
    """The command is refused with this code."""


@dataclass
class MStep:
    """A step; what can be worked out is not kept."""

    title: str
    summary: str = ""
    on: tuple[str, ...] = ()
    required: bool = True
    pool: str = "default"
    status: str = "pending"
    agent: str | None = None
    run: str | None = None
    lease: datetime | None = None
    fence: int = 0
    result: str | None = None
    reason: str | None = None
    artifacts: tuple[str, ...] = ()
    data: object = None
    attempts: int = 0
    metadata: object = None
    changed_after_dispatch: bool = False

    def release(self) -> None:
        self.agent = self.run = self.lease = None


@dataclass
class MTask:
    """A Task; `claims` is what each run claimed."""

    title: str
    status: str = "pending"
    summary: str = ""
    result: str | None = None
    reason: str | None = None
    steps: dict[str, MStep] = field(default_factory=dict[str, MStep])
    claims: dict[str, str] = field(default_factory=dict[str, str])


class Model:
    """One Task. `ask` answers with the code of the refusal, or None for yes."""

    def __init__(self, command: CreateTask, lease: timedelta) -> None:
        self.lease = lease
        self.task = MTask(command.title)
        for new in command.steps:
            on, pool = tuple(new.depends_on_step_ids), new.worker_pool_id or "default"
            self.task.steps[new.step_id] = MStep(new.title, new.summary, on, new.required, pool)
        self.settle()

    def ask(self, command: Command, actor: Actor, now: datetime, fence: int) -> str | None:
        """`fence` is what a claim will be known by, if this is one and it is accepted."""
        before = self._copy()
        try:
            self._ask(command, actor, now, fence)
        except ModelRefusedError as no:
            self.task = before
            return str(no)
        self.settle()
        return None

    def _copy(self) -> MTask:
        steps = {name: copy(step) for name, step in self.task.steps.items()}
        return replace(self.task, steps=steps, claims=dict(self.task.claims))

    def settle(self) -> None:
        """What follows by itself from what the steps are."""
        task = self.task
        if task.status in ENDED:
            return
        for step in task.steps.values():
            if step.status == "ready" and not self.met(step):
                step.status = "pending"
            if step.status == "pending" and self.met(step) and task.status != "blocked":
                step.status = "ready"
        alive = any(step.status in ("ready", *HELD) for step in task.steps.values())
        if task.status == "pending" and alive:
            task.status, task.reason = "running", None

    def met(self, step: MStep) -> bool:
        return all(self.task.steps[on].status == "completed" for on in step.on)

    def _ask(self, command: Command, actor: Actor, now: datetime, fence: int) -> None:
        task = self.task
        if isinstance(command, ExpireLeases):
            return self._expire(now)
        self._permit(command, actor)
        if task.status in ENDED:
            if isinstance(command, EndRun):
                return None
            raise ModelRefusedError("task_terminal")
        match command:
            case UpdateBoard():
                return self._update(command.operations)
            case ClaimStep():
                return self._claim(command, actor, now, fence)
            case UpdateStep():
                return self._write(command, actor, now)
            case RenewLease():
                step = self._step(command.step_id)
                self._hold(step, command.step_id, actor, command.fence, now)
                step.lease = now + self.lease
            case EndRun():
                self._end_run(command, actor, now)
            case CompleteTask() | FailTask() | CancelTask():
                self._end(command)
        return None

    def _permit(self, command: Command, actor: Actor) -> None:
        if actor.role not in ("orchestrator", "worker"):
            raise ModelRefusedError("tool_not_available")
        if actor.role == "worker":
            planning = (UpdateBoard, CompleteTask, FailTask, CancelTask)
            seen = actor.scope is not None and actor.scope.task_id == command.task_id
            if isinstance(command, planning) or not seen:
                raise ModelRefusedError("permission_denied")

    def _expire(self, now: datetime) -> None:
        for step in self.task.steps.values():
            if step.lease is not None and step.lease <= now:
                step.status = "pending"
                step.release()

    def _step(self, step_id: str) -> MStep:
        if step_id not in self.task.steps:
            raise ModelRefusedError("step_not_found")
        return self.task.steps[step_id]

    def _claim(self, command: ClaimStep, actor: Actor, now: datetime, fence: int) -> None:
        if actor.role != "worker":
            raise ModelRefusedError("permission_denied")
        step, scope = self._step(command.step_id), actor.scope
        assert scope is not None
        only = scope.allowed_step_ids
        if step.pool != scope.worker_pool_id or (only and command.step_id not in only):
            raise ModelRefusedError("permission_denied")
        if actor.run_id in self.task.claims:
            raise ModelRefusedError("step_already_claimed_by_run")
        if self.task.status == "blocked":
            raise ModelRefusedError("task_not_dispatchable")
        if step.status in HELD:
            raise ModelRefusedError("step_already_claimed")
        if step.status != "ready":
            raise ModelRefusedError("step_not_ready")
        step.status, step.agent, step.run = "claimed", actor.agent_id, actor.run_id
        step.lease, step.fence, step.changed_after_dispatch = now + self.lease, fence, False
        step.attempts += 1
        self.task.claims[actor.run_id] = command.step_id

    def _hold(
        self, step: MStep, step_id: str, actor: Actor, fence: int | None, now: datetime
    ) -> None:
        if self.task.claims.get(actor.run_id) != step_id:
            raise ModelRefusedError("permission_denied")
        mine = step.run == actor.run_id and fence in (None, step.fence)
        if mine and step.lease is not None and now < step.lease:
            return
        raise ModelRefusedError(
            "step_terminal" if step.status in ("completed", "cancelled") else "lease_lost"
        )

    def _write(self, command: UpdateStep, actor: Actor, now: datetime) -> None:
        step, wanted = self._step(command.step_id), command.status
        worker = actor.role == "worker"
        if wanted == "ready" or (command.result_data is not None and wanted != "completed"):
            raise ModelRefusedError("validation_error")
        if worker:
            self._hold(step, command.step_id, actor, command.fence, now)
        elif (step.status, wanted) == ("completed", "cancelled"):
            raise ModelRefusedError("invalid_transition")
        elif step.status in ("completed", "cancelled"):
            raise ModelRefusedError("step_terminal")
        if wanted is not None and wanted != step.status:
            self._move(step, wanted.value, command.reason, BY_WORKER if worker else BY_ORCHESTRATOR)
        elif not worker and command.result_summary is None and command.artifact_ids is None:
            raise ModelRefusedError("validation_error")
        if worker and step.status in HELD:
            step.lease = now + self.lease
        if command.result_summary is not None:
            step.result = command.result_summary
        if command.artifact_ids is not None:
            step.artifacts = tuple(command.artifact_ids)
        step.data = command.result_data or step.data

    def _move(
        self, step: MStep, wanted: str, reason: str | None, table: Mapping[str, Sequence[str]]
    ) -> None:
        if wanted not in table[step.status]:
            raise ModelRefusedError("invalid_transition")
        step.status = wanted
        if wanted != "running":
            step.release()
            step.reason = None if wanted == "completed" else reason

    def _end_run(self, command: EndRun, actor: Actor, now: datetime) -> None:
        for step in self.task.steps.values():
            if step.run == actor.run_id and step.lease is not None and now < step.lease:
                step.status, step.reason = "failed", command.outcome.value
                step.result = step.result or step.reason
                step.release()

    def _end(self, command: CompleteTask | FailTask | CancelTask) -> None:
        task, steps = self.task, list(self.task.steps.values())
        if isinstance(command, CompleteTask):
            needed = [step for step in steps if step.required and step.status != "completed"]
            if needed or any(step.status in HELD for step in steps):
                raise ModelRefusedError("task_not_completeable")
            task.status, task.result, task.reason = "completed", command.result_summary, None
            close, status, result = ("pending", "ready"), "cancelled", None
        else:
            task.status = status = "failed" if isinstance(command, FailTask) else "cancelled"
            task.reason, result = command.reason, f"task_{status}"
            close = ("pending", "ready", "blocked", *HELD)
        for step in steps:
            if step.status in close:
                step.status, step.reason = status, f"task_{task.status}"
                step.result = step.result or result
                step.release()

    def _update(self, operations: Sequence[Any]) -> None:
        if not operations or any(each["op"] not in OPERATIONS for each in operations):
            raise ModelRefusedError("validation_error")
        for each in operations:
            getattr(self, f"_{each['op']}")(each)
        steps = self.task.steps
        if not steps:
            raise ModelRefusedError("validation_error")
        if any(on not in steps for step in steps.values() for on in step.on):
            raise ModelRefusedError("step_not_found")
        done: set[str] = set()
        while free := {name for name in steps if name not in done and set(steps[name].on) <= done}:
            done |= free
        if len(done) < len(steps):
            raise ModelRefusedError("dependency_cycle")

    def _update_task(self, op: Mapping[str, Any]) -> None:
        task, wanted = self.task, op.get("status")
        task.title, task.summary = op.get("title", task.title), op.get("summary", task.summary)
        if wanted is None:
            return
        if (wanted == "blocked") == (task.status == "blocked"):
            raise ModelRefusedError("invalid_transition")
        task.status = wanted
        task.reason = op.get("reason") if wanted == "blocked" else None

    def _add_step(self, op: Mapping[str, Any]) -> None:
        new = op["step"]
        if new["step_id"] in self.task.steps:
            raise ModelRefusedError("validation_error")
        self.task.steps[new["step_id"]] = MStep(
            new["title"],
            on=tuple(dict.fromkeys(new.get("depends_on_step_ids", ()))),
            required=new.get("required", True),
            pool=new.get("worker_pool_id", "default"),
            metadata=new.get("metadata"),
        )

    def _update_step(self, op: Mapping[str, Any]) -> None:
        step, new = self._step(op["step_id"]), op["fields"]
        if step.status == "completed" and set(new) - {"title", "summary"}:
            raise ModelRefusedError("step_terminal")
        step.title, step.summary = new.get("title", step.title), new.get("summary", step.summary)
        step.required = new.get("required", step.required)
        step.pool = new.get("worker_pool_id", step.pool)
        step.metadata = new.get("metadata", step.metadata)
        step.on = tuple(dict.fromkeys(new.get("depends_on_step_ids", step.on)))
        step.changed_after_dispatch |= step.status in HELD

    def _add_dependency(self, op: Mapping[str, Any]) -> None:
        step, on = self._step(op["step_id"]), op["depends_on_step_id"]
        if step.status == "completed":
            raise ModelRefusedError("step_terminal")
        step.on = step.on if on in step.on else (*step.on, on)
        step.changed_after_dispatch |= step.status in HELD

    def _remove_dependency(self, op: Mapping[str, Any]) -> None:
        step, on = self._step(op["step_id"]), op["depends_on_step_id"]
        if step.status == "completed":
            raise ModelRefusedError("step_terminal")
        if on not in step.on:
            raise ModelRefusedError("validation_error")
        step.on = tuple(other for other in step.on if other != on)
        step.changed_after_dispatch |= step.status in HELD

    def _delete_step(self, op: Mapping[str, Any]) -> None:
        if self._step(op["step_id"]).status not in ("pending", "ready", "cancelled"):
            raise ModelRefusedError("invalid_transition")
        if any(op["step_id"] in step.on for step in self.task.steps.values()):
            raise ModelRefusedError("step_has_dependents")
        del self.task.steps[op["step_id"]]

    def _cancel_step(self, op: Mapping[str, Any]) -> None:
        step = self._step(op["step_id"])
        if step.status not in ("pending", "ready"):
            raise ModelRefusedError("invalid_transition")
        step.status, step.reason = "cancelled", op.get("reason")

    def _reopen_step(self, op: Mapping[str, Any]) -> None:
        step = self._step(op["step_id"])
        if step.status in ("completed", "cancelled"):
            raise ModelRefusedError("step_terminal")
        if step.status not in ("blocked", "failed"):
            raise ModelRefusedError("invalid_transition")
        step.status, step.reason = "pending", op.get("reason")
