"""Compares a Task at two moments: its own fields, and its steps one by one."""

from dataclasses import dataclass, fields
from typing import Final

from taskloom.board import StepView, TaskView
from taskloom.ids import Seq, StepId, TaskId

_TASK_FIELDS: Final = ("title", "summary", "status", "result_summary", "reason")
_IGNORED: Final = frozenset({"step_id", "created_at", "updated_at", "attempts"})
"""The time of a change, and the number of claims, are not changes."""


@dataclass(frozen=True, slots=True)
class Change:
    """One field, before and after."""

    field: str
    before: object
    after: object


@dataclass(frozen=True, slots=True)
class StepChange:
    """One step that exists at both moments and differs."""

    step_id: StepId
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All differences."""

    task_id: TaskId
    before_seq: Seq
    after_seq: Seq
    task: tuple[Change, ...]
    added: tuple[StepView, ...]
    removed: tuple[StepView, ...]
    changed: tuple[StepChange, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
        return not (self.task or self.added or self.removed or self.changed)


def compare(before: TaskView, after: TaskView) -> Comparison:
    """Compare two moments of one Task, in either order."""
    old = {step.step_id: step for step in before.steps}
    new = {step.step_id: step for step in after.steps}
    pairs = [(old[step_id], step) for step_id, step in new.items() if step_id in old]
    changed = [StepChange(step.step_id, _step(was, step)) for was, step in pairs if was != step]
    return Comparison(
        task_id=after.task_id,
        before_seq=before.seq,
        after_seq=after.seq,
        task=tuple(_differing(before, after, _TASK_FIELDS)),
        added=tuple(step for step_id, step in new.items() if step_id not in old),
        removed=tuple(step for step_id, step in old.items() if step_id not in new),
        changed=tuple(change for change in changed if change.changes),
    )


_STEP_FIELDS: Final = tuple(field.name for field in fields(StepView) if field.name not in _IGNORED)


def _step(before: StepView, after: StepView) -> tuple[Change, ...]:
    return tuple(_differing(before, after, _STEP_FIELDS))


def _differing(before: object, after: object, names: tuple[str, ...]) -> list[Change]:
    pairs = [(name, getattr(before, name), getattr(after, name)) for name in names]
    return [Change(name, old, new) for name, old, new in pairs if old != new]
