"""Lays out a DAG as a forest: each step appears once, under the deepest step it depends on.

The other steps it depends on only name it. There is no recursion, so that a chain of 10,000 steps
works too.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Final

from taskloom.board import StepView
from taskloom.ids import StepId

DEPTH_MAX: Final = 16
"""Deeper rows are indented this far, with their depth written beside."""


@dataclass(frozen=True, slots=True)
class Row:
    """One step and its position."""

    step: StepView
    depth: int
    lines: tuple[bool, ...]
    """For each level above, from the top: whether further rows follow there."""
    is_last: bool
    """Whether it is the last of its siblings."""
    named: tuple[StepId, ...]
    """Steps that depend on this one but appear elsewhere."""
    has_children: bool

    @property
    def guides(self) -> str:
        """The lines of the levels above."""
        return "".join("│ " if more else "  " for more in self.lines)

    @property
    def branch(self) -> str:
        """What precedes the step: the guides, its own branch, and its depth if that is cut."""
        own = ("└ " if self.is_last else "├ ") if self.depth else ""
        deep = f"({self.depth}) " if self.depth > DEPTH_MAX else ""
        return f"{self.guides}{own}{deep}"


@dataclass(frozen=True, slots=True)
class _Pending:
    step: StepView
    depth: int
    lines: tuple[bool, ...]
    is_last: bool


def layout_dag(steps: Sequence[StepView]) -> Iterator[Row]:
    """Yield the rows from top to bottom. Steps are in plan order, and so are siblings."""
    children, named = _children(steps)
    stack = _pending(children.get(None, ()), 0, ())
    while stack:
        here = stack.pop()
        below = children.get(here.step.step_id, [])
        yield Row(
            here.step,
            here.depth,
            here.lines,
            here.is_last,
            tuple(named.get(here.step.step_id, ())),
            bool(below),
        )
        inner = here.depth < DEPTH_MAX
        lines = (*here.lines, not here.is_last) if inner and here.depth > 0 else here.lines
        stack.extend(_pending(below, here.depth + 1, lines))


def _pending(steps: Sequence[StepView], depth: int, lines: tuple[bool, ...]) -> list[_Pending]:
    """Return siblings as a stack, the first one on top."""
    last = len(steps) - 1
    entries = [_Pending(step, depth, lines, at == last) for at, step in enumerate(steps)]
    return entries[::-1]


def _children(
    steps: Sequence[StepView],
) -> tuple[dict[StepId | None, list[StepView]], dict[StepId, list[StepId]]]:
    order = _depths(steps)
    children: dict[StepId | None, list[StepView]] = {}
    named: dict[StepId, list[StepId]] = {}
    for step in steps:
        parents = _known(step.depends_on_step_ids, order)
        parent = max(parents, key=order.__getitem__, default=None)
        children.setdefault(parent, []).append(step)
        for other in parents:
            if other != parent:
                named.setdefault(other, []).append(step.step_id)
    return children, named


def _depths(steps: Sequence[StepView]) -> dict[StepId, tuple[int, int]]:
    """Return the depth of each step, and its position in the plan, which breaks ties."""
    plan = {step.step_id: at for at, step in enumerate(steps)}
    parents = {step.step_id: _known(step.depends_on_step_ids, plan) for step in steps}
    depths: dict[StepId, tuple[int, int]] = {}
    for step_id in TopologicalSorter(parents).static_order():
        above = [depths[parent][0] for parent in parents[step_id]]
        depths[step_id] = (max(above, default=-1) + 1, plan[step_id])
    return depths


def _known(step_ids: Iterable[StepId], known: Container[StepId]) -> list[StepId]:
    return [step_id for step_id in step_ids if step_id in known]
