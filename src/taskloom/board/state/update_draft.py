"""A Task as an update would leave it, without changing the Task.

Only the steps that operations name are copied, so the cost depends on the operations and not on
the size of the DAG.
"""

from collections.abc import Collection, Iterator

from taskloom.board.operations import NewStep
from taskloom.board.state.step import Step
from taskloom.board.state.task import Task
from taskloom.board.status import ALIVE, StepStatus
from taskloom.define import define
from taskloom.ids import StepId


@define(eq=False)
class Draft:
    """One step as the update would leave it."""

    step_id: StepId
    depends_on_step_ids: tuple[StepId, ...]
    status: StepStatus
    rank: int
    order: int
    base: Step | None
    """The step as it is; None for a step that an operation adds."""
    edges_by: int = -1
    """The operation that last changed its dependencies."""


class Overlay:
    """The DAG with some of its steps changed, added or deleted."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._drafts: dict[StepId, Draft | None] = {}
        self._gained: dict[StepId, set[StepId]] = {}
        self._lost: dict[StepId, set[StepId]] = {}
        self._ranks: dict[StepId, int] = {}
        self.size = len(task.steps)
        self._next_order = task.next_order
        self._next_rank = task.next_rank

    def has(self, step_id: StepId) -> bool:
        """Return whether the step exists after the update."""
        if step_id in self._drafts:
            return self._drafts[step_id] is not None
        return step_id in self._task.steps

    def draft(self, step_id: StepId) -> Draft:
        """Return a copy of a step to change; the step must exist."""
        draft = self._drafts.get(step_id)
        if draft is None:
            step = self._task.steps[step_id]
            draft = Draft(
                step_id, step.depends_on_step_ids, step.status, step.rank, step.order, step
            )
            self._drafts[step_id] = draft
        return draft

    def add(self, new: NewStep, by: int) -> None:
        """Add a step."""
        draft = Draft(new.step_id, (), StepStatus.PENDING, self._next_rank, self._next_order, None)
        self._drafts[new.step_id] = draft
        self._next_order += 1
        self._next_rank += 1
        self.size += 1
        self.set_dependencies(draft, new.depends_on_step_ids, by)

    def delete(self, step_id: StepId) -> None:
        """Delete a step that no other depends on."""
        self.set_dependencies(self.draft(step_id), (), -1)
        self._drafts[step_id] = None
        self.size -= 1

    def set_dependencies(self, draft: Draft, wanted: tuple[StepId, ...], by: int) -> None:
        """Replace the dependencies of a step."""
        for on in draft.depends_on_step_ids:
            if on not in wanted:
                self._gained.get(on, set()).discard(draft.step_id)
                self._lost.setdefault(on, set()).add(draft.step_id)
        for on in wanted:
            if on not in draft.depends_on_step_ids:
                self._gained.setdefault(on, set()).add(draft.step_id)
                self._lost.get(on, set()).discard(draft.step_id)
        draft.depends_on_step_ids = wanted
        draft.edges_by = by

    def drafts(self) -> Iterator[Draft]:
        """Yield the changed and added steps in order of creation, without the deleted ones."""
        there = (draft for draft in self._drafts.values() if draft is not None)
        return iter(sorted(there, key=lambda draft: draft.order))

    def status(self, step_id: StepId) -> StepStatus:
        """Return the status of a step after the update."""
        draft = self._drafts.get(step_id)
        return draft.status if draft is not None else self._task.steps[step_id].status

    def unmet(self, draft: Draft) -> int:
        """Return the number of dependencies that are not completed."""
        return sum(self.status(on) is not StepStatus.COMPLETED for on in draft.depends_on_step_ids)

    def alive(self) -> int:
        """Return the number of steps that are ready, claimed or running."""
        count = sum(self._task.counts[status] for status in ALIVE)
        for step_id, draft in self._drafts.items():
            old = self._task.steps.get(step_id)
            count -= old is not None and old.status in ALIVE
            count += draft is not None and draft.status in ALIVE
        return count

    def new_edges(self) -> list[tuple[StepId, StepId]]:
        """Return the edges (dependency, dependent) that the Task does not have."""
        return [
            (on, draft.step_id)
            for draft in self.drafts()
            for on in draft.depends_on_step_ids
            if draft.base is None or on not in draft.base.depends_on_step_ids or self._is_new(on)
        ]

    def _is_new(self, step_id: StepId) -> bool:
        draft = self._drafts.get(step_id)
        return draft is not None and draft.base is None

    # The graph, as `topological_order` reads it.

    def dependencies(self, step_id: StepId) -> Collection[StepId]:
        draft = self._drafts.get(step_id)
        return (
            draft.depends_on_step_ids
            if draft is not None
            else self._task.steps[step_id].depends_on_step_ids
        )

    def dependents(self, step_id: StepId) -> Collection[StepId]:
        base = self._task.steps.get(step_id)
        there: Collection[StepId] = base.dependents if base is not None else ()
        gained, lost = self._gained.get(step_id), self._lost.get(step_id)
        if not gained and not lost:
            return there
        return set(there).difference(lost or ()).union(gained or ())

    def step_ids(self) -> Iterator[StepId]:
        for step_id in self._task.steps:
            draft = self._drafts.get(step_id)
            if step_id not in self._drafts or (draft is not None and draft.base is not None):
                yield step_id
        for draft in self.drafts():
            if draft.base is None:
                yield draft.step_id

    def rank(self, step_id: StepId) -> int:
        moved = self._ranks.get(step_id)
        if moved is not None:
            return moved
        draft = self._drafts.get(step_id)
        return draft.rank if draft is not None else self._task.steps[step_id].rank

    def set_rank(self, step_id: StepId, rank: int) -> None:
        self._ranks[step_id] = rank
