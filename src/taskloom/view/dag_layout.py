"""A DAG laid out as a forest: each step stands once, under the deepest step it waits for.

Under every other step it waits for it is only named. Rows, not drawings: whoever draws decides
how wide a guide is. Nothing here calls itself, so a chain of 10,000 steps is as good as any.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Final

from taskloom.board import StepView
from taskloom.ids import StepId

DEPTH_MAX: Final = 16
"""Deeper rows stand beneath each other at this depth, with the real one written beside."""


@dataclass(frozen=True, slots=True)
class Row:
    """One step, where it stands."""

    step: StepView
    depth: int
    lines: tuple[bool, ...]
    """For each level above, from the top: whether more is to come there."""
    is_last: bool
    """Among the steps of its level."""
    named: tuple[StepId, ...]
    """Steps that wait for this one too, but stand elsewhere."""
    has_children: bool


@dataclass(frozen=True, slots=True)
class _Waiting:
    step: StepView
    depth: int
    lines: tuple[bool, ...]
    is_last: bool


def layout_dag(steps: Sequence[StepView]) -> Iterator[Row]:
    """Yield the rows from top to bottom. Steps are in plan order, and so are siblings."""
    children, named = _families(steps)
    stack = _waiting(children.get(None, ()), 0, ())
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
        stack.extend(_waiting(below, here.depth + 1, lines))


def _waiting(steps: Sequence[StepView], depth: int, lines: tuple[bool, ...]) -> list[_Waiting]:
    """Put siblings on a stack so that the first of them is taken first."""
    last = len(steps) - 1
    places = [_Waiting(step, depth, lines, at == last) for at, step in enumerate(steps)]
    return places[::-1]


def _families(
    steps: Sequence[StepView],
) -> tuple[dict[StepId | None, list[StepView]], dict[StepId, list[StepId]]]:
    order = _depths(steps)
    children: dict[StepId | None, list[StepView]] = {}
    named: dict[StepId, list[StepId]] = {}
    for step in steps:
        parents = _known(step.depends_on_step_ids, order)
        home = max(parents, key=order.__getitem__, default=None)
        children.setdefault(home, []).append(step)
        for other in parents:
            if other != home:
                named.setdefault(other, []).append(step.step_id)
    return children, named


def _depths(steps: Sequence[StepView]) -> dict[StepId, tuple[int, int]]:
    """Return how deep each step stands, and its place in the plan, which settles a tie."""
    plan = {step.step_id: at for at, step in enumerate(steps)}
    parents = {step.step_id: _known(step.depends_on_step_ids, plan) for step in steps}
    depths: dict[StepId, tuple[int, int]] = {}
    for step_id in TopologicalSorter(parents).static_order():
        above = [depths[parent][0] for parent in parents[step_id]]
        depths[step_id] = (max(above, default=-1) + 1, plan[step_id])
    return depths


def _known(step_ids: Iterable[StepId], known: Container[StepId]) -> list[StepId]:
    return [step_id for step_id in step_ids if step_id in known]
