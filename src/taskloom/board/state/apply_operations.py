"""Changes the plan of a Task: its first steps, and the operations of an update.

`evolve` alone calls it. Only content and topology change here: statuses have events of their own.
Operations are applied in their order; the edges are connected at the end, since a step may depend
on one that a later operation adds.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Final

from taskloom.board import operations as op
from taskloom.board.events import StepSnapshot
from taskloom.board.rules import DEFAULT_POOL, Rules
from taskloom.board.state.step import Step
from taskloom.board.state.task import Task
from taskloom.board.state.topological_order import Edge, insert_edges, rank_all
from taskloom.board.status import StepStatus
from taskloom.ids import StepId

_UNBOUNDED: Final = 1 << 62
_NO_LIMITS: Final = Rules(
    steps_max=_UNBOUNDED,
    operations_max=_UNBOUNDED,
    dependencies_max=_UNBOUNDED,
    title_bytes_max=_UNBOUNDED,
    summary_bytes_max=_UNBOUNDED,
    data_bytes_max=_UNBOUNDED,
)
"""No limits: a recorded operation stays readable when the limits have been lowered."""


def add_steps(task: Task, snapshots: Sequence[StepSnapshot], at: datetime) -> None:
    """Add the first steps to a Task.

    Raises:
        KeyError: A dependency names no step.
        ValueError: Two steps share an id, or there is a cycle.
    """
    ranks = rank_all({step.step_id: step.depends_on_step_ids for step in snapshots})
    if not isinstance(ranks, dict):
        raise ValueError(f"cycle: {' -> '.join(ranks)}")  # noqa: TRY004 - the steps are wrong, not a type
    if len(ranks) != len(snapshots):
        raise ValueError("two steps share an id")
    steps = task.steps
    for order, given in enumerate(snapshots):
        steps[given.step_id] = Step(
            given.step_id,
            given.title,
            given.summary,
            tuple(given.depends_on_step_ids),
            given.required,
            given.worker_pool_id or DEFAULT_POOL,
            at,
            at,
            order,
            ranks[given.step_id],
            len(given.depends_on_step_ids),
            metadata=given.metadata,
        )
        if given.required:
            task.required_open += 1
    for step in steps.values():
        for on in step.depends_on_step_ids:
            steps[on].dependents.add(step.step_id)
    task.next_order = task.next_rank = len(steps)


def apply_operations(task: Task, raw: Sequence[dict[str, object]], at: datetime) -> None:
    """Apply the operations of one update.

    Raises:
        KeyError: A step does not exist.
        ValueError: There is a cycle, or a step exists already.
    """
    patch = _Patch(task, at)
    for index, value in enumerate(raw):
        known = op.trimmed(value)
        if known is not None:
            patch.apply(op.parse(known, f"$.operations[{index}]", _NO_LIMITS))
    patch.connect_edges()


class _Patch:
    """One update while it is being applied."""

    def __init__(self, task: Task, at: datetime) -> None:
        self._task = task
        self._at = at
        self._connected: dict[StepId, tuple[StepId, ...]] = {}
        """The dependencies of the changed steps before this update."""
        self._added: set[StepId] = set()

    def apply(self, operation: op.Operation) -> None:
        match operation:
            case op.UpdateTask():
                if operation.title is not None:
                    self._task.title = operation.title
                if operation.summary is not None:
                    self._task.summary = operation.summary
            case op.AddStep():
                self._add(operation.step)
            case op.UpdateStepContent():
                self._update(operation.step_id, operation.fields)
            case op.DeleteStep():
                self._delete(operation.step_id)
            case op.AddDependency():
                step = self._touch(operation.step_id)
                wanted = (*step.depends_on_step_ids, operation.depends_on_step_id)
                step.depends_on_step_ids = tuple(dict.fromkeys(wanted))
            case op.RemoveDependency():
                step = self._touch(operation.step_id)
                step.depends_on_step_ids = tuple(
                    on for on in step.depends_on_step_ids if on != operation.depends_on_step_id
                )
            case op.CancelStep() | op.ReopenStep():
                pass  # Each has an event of its own after this one.

    def _touch(self, step_id: StepId) -> Step:
        step = self._task.steps[step_id]
        self._connected.setdefault(step_id, step.depends_on_step_ids)
        step.updated_at = self._at
        return step

    def _add(self, new: op.NewStep) -> None:
        task = self._task
        if new.step_id in task.steps:
            raise ValueError(f"step {new.step_id!r} exists already")
        step = Step(
            new.step_id,
            new.title,
            new.summary,
            new.depends_on_step_ids,
            new.required,
            new.worker_pool_id or DEFAULT_POOL,
            self._at,
            self._at,
            task.next_order,
            task.next_rank,
            metadata=new.metadata,
        )
        task.steps[new.step_id] = step
        task.next_order += 1
        task.next_rank += 1
        task.required_open += new.required
        self._connected[new.step_id] = ()
        self._added.add(new.step_id)
        if task.live_index is not None:
            task.live_index.add(step)

    def _update(self, step_id: StepId, new: op.UpdateFields) -> None:
        step = self._touch(step_id)
        if new.title is not None:
            step.title = new.title
        if new.summary is not None:
            step.summary = new.summary
        if new.depends_on_step_ids is not None:
            step.depends_on_step_ids = new.depends_on_step_ids
        if new.metadata is not None:
            step.metadata = new.metadata
        if new.required is not None and step.status is not StepStatus.COMPLETED:
            self._task.required_open += new.required - step.required
        if new.required is not None:
            step.required = new.required
        if new.worker_pool_id is not None and new.worker_pool_id != step.worker_pool_id:
            if self._task.live_index is not None:
                self._task.live_index.repool(step, new.worker_pool_id)
            step.worker_pool_id = new.worker_pool_id

    def _delete(self, step_id: StepId) -> None:
        task = self._task
        step = task.steps.pop(step_id)
        connected = self._connected.pop(step_id, step.depends_on_step_ids)
        self._disconnect(step_id, connected)
        if step.required and step.status is not StepStatus.COMPLETED:
            task.required_open -= 1
        if task.live_index is not None:
            task.live_index.drop(step)

    def _disconnect(self, step_id: StepId, dependencies: Collection[StepId]) -> None:
        for on in dependencies:
            other = self._task.steps.get(on)
            if other is not None:
                other.dependents.discard(step_id)

    def connect_edges(self) -> None:
        """Make dependents, unmet counts and ranks agree with the new dependencies."""
        steps = self._task.steps
        new_edges: list[Edge] = []
        for step_id, old in self._connected.items():
            step = steps[step_id]
            wanted = step.depends_on_step_ids
            self._disconnect(step_id, set(old).difference(wanted))
            for on in wanted:
                # A step deleted and added again under its old id is another step.
                if on not in old or on in self._added:
                    steps[on].dependents.add(step_id)
                    new_edges.append((on, step_id))
            step.unmet = sum(steps[on].status is not StepStatus.COMPLETED for on in wanted)
        cycle = insert_edges(TaskGraph(self._task), new_edges)
        if cycle is not None:
            raise ValueError(f"cycle: {' -> '.join(cycle)}")


class TaskGraph:
    """The DAG of a Task, as `topological_order` reads it."""

    def __init__(self, task: Task) -> None:
        self._steps = task.steps

    def dependencies(self, step_id: StepId) -> Collection[StepId]:
        return self._steps[step_id].depends_on_step_ids

    def dependents(self, step_id: StepId) -> Collection[StepId]:
        return self._steps[step_id].dependents

    def step_ids(self) -> Iterable[StepId]:
        return self._steps

    def rank(self, step_id: StepId) -> int:
        return self._steps[step_id].rank

    def set_rank(self, step_id: StepId, rank: int) -> None:
        self._steps[step_id].rank = rank
