"""One point of the explored space: a Task, the time, and how it was reached.

Two points are the same when nothing that can follow differs: names of steps, workers and runs,
sequence numbers and moments are folded away, and a lease is how many ticks are left of it.
"""

from copy import copy
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from itertools import permutations
from operator import attrgetter
from typing import TypeAlias

from taskloom.board import Event, Step, Task
from tests.board.task_driver import LEASE, Line, TaskDriver, creating, replay, step

HALF = LEASE / 2
"""When time moves this far at once, a lease has two halves left, then one, then none."""

Key: TypeAlias = tuple[object, ...]
Shape: TypeAlias = tuple[tuple[str, tuple[str, ...], bool], ...]
"""(step, dependencies, required) for each step."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A Task at a moment, the lines that led there from the node before, and its depth."""

    task: Task
    now: datetime
    lines: tuple[Line, ...]
    before: "Node | None"
    how: str
    depth: int

    def log(self) -> list[Line]:
        """The whole log, from the creation on."""
        return [line for node in self.path() for line in node.lines]

    def path(self) -> list["Node"]:
        nodes: list[Node] = []
        node: Node | None = self
        while node is not None:
            nodes.append(node)
            node = node.before
        return nodes[::-1]

    def story(self) -> str:
        """How it was reached, one command a line."""
        return "\n".join(node.how for node in self.path())


def begin(shape: Shape) -> Node:
    """A new Task of this shape."""
    steps = [step(name, *on, required=required) for name, on, required in shape]
    driver = TaskDriver(creating(*steps))
    return Node(
        clone(replay(driver.log)), driver.now, tuple(driver.log), None, f"create {shape}", 0
    )


def clone(task: Task) -> Task:
    """A Task of its own with its index built, so that `evolve` has to keep that true."""
    steps: dict[str, Step] = {}
    for step_id, old in task.steps.items():
        steps[step_id] = new = copy(old)
        new.dependents = set(old.dependents)
    other = replace(task, steps=steps, claims=dict(task.claims), live_index=None)
    assert other.index is other.live_index
    return other


def lines_of(task: Task, events: list[Event], now: datetime) -> tuple[Line, ...]:
    """The events as the lines that follow in the Task's log."""
    return tuple(
        Line(event.payload, event.step_id, now, task.seq + at)
        for at, event in enumerate(events, start=1)
    )


def ticks_left(step: Step, now: datetime, tick: timedelta) -> int:
    """What is left of a lease; -1 for none held, 0 for one that has run out."""
    if step.lease_expires_at is None:
        return -1
    return max(0, -((now - step.lease_expires_at) // tick))


_OF_TASK = attrgetter(
    *(item.name for item in fields(Task) if item.name not in ("steps", "claims", "live_index"))
)
_OF_STEP = attrgetter(*(item.name for item in fields(Step) if item.name != "dependents"))


def fingerprint(task: Task) -> tuple[object, ...]:
    """All of a Task but its index, quickly; `facts` says the same in words."""
    steps = [(*_OF_STEP(step), frozenset(step.dependents)) for step in task.steps.values()]
    return (*_OF_TASK(task), tuple(task.claims.items()), steps)


def key(task: Task, now: datetime, tick: timedelta) -> Key:
    """What tells two nodes apart."""
    steps = list(task.steps.values())
    holders = {step.claimed_by_run_id for step in steps}
    stale = {step_id for run, step_id in task.claims.items() if run not in holders}
    rows = {
        step.step_id: (
            step.status.value,
            step.required,
            step.updated_after_dispatch,
            ticks_left(step, now, tick),
            step.step_id in stale,
        )
        for step in steps
    }
    best: tuple[object, ...] | None = None
    for order in permutations(steps):
        place = {step.step_id: at for at, step in enumerate(order)}
        agents: dict[str | None, int] = {None: -1}
        row = tuple(
            (
                *rows[step.step_id],
                tuple(sorted([place[on] for on in step.depends_on_step_ids])),
                agents.setdefault(step.claimed_by_agent_id, len(agents)),
            )
            for step in order
        )
        if best is None or row < best:
            best = row
    return (task.status.value, best)
