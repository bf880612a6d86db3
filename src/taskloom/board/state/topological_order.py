"""A topological order that is kept up to date, so that a new edge shows a cycle at once.

Every step has a rank greater than that of each of its dependencies. A new edge that agrees with
the ranks needs no search; any other moves only the steps between its ends (Pearce and Kelly,
2006). The same code runs on a Task and on the overlay of an update, through a small protocol.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import Final, Protocol

from taskloom.ids import StepId

_ONE_BY_ONE_MAX: Final = 64
"""The number of edges against the order up to which the ranks are fixed edge by edge."""

Edge = tuple[StepId, StepId]
"""(dependency, dependent): the first comes before the second."""


class Graph(Protocol):
    """A DAG with ranks."""

    def dependencies(self, step_id: StepId) -> Collection[StepId]:
        """Return the steps that the step depends on."""
        ...

    def dependents(self, step_id: StepId) -> Collection[StepId]:
        """Return the steps that depend on the step."""
        ...

    def step_ids(self) -> Iterable[StepId]:
        """Return all steps in order of creation."""
        ...

    def rank(self, step_id: StepId) -> int:
        """Return the rank of a step."""
        ...

    def set_rank(self, step_id: StepId, rank: int) -> None:
        """Set the rank of a step."""
        ...


def insert_edges(graph: Graph, edges: Sequence[Edge]) -> list[StepId] | None:
    """Fix the ranks for edges that are in the graph already; return a cycle if they close one.

    The edges are added one by one. The search ignores an edge that is not added yet, since it
    relies on the order of every edge that it follows.
    """
    late = [edge for edge in edges if graph.rank(edge[0]) >= graph.rank(edge[1])]
    if len(late) > _ONE_BY_ONE_MAX:
        return _rank_again(graph)
    not_added = set(late)
    for edge in late:
        not_added.discard(edge)
        before, after = edge
        if before == after:
            return [before]
        if graph.rank(before) < graph.rank(after):
            continue  # Adding an earlier edge has fixed this one.
        cycle = _insert(graph, before, after, not_added)
        if cycle is not None:
            return cycle
    return None


def _rank_again(graph: Graph) -> list[StepId] | None:
    """Rank the whole graph: for a big update that is quicker than edge by edge."""
    ranks = rank_all({step: tuple(graph.dependencies(step)) for step in graph.step_ids()})
    if not isinstance(ranks, dict):
        return ranks
    for step, rank in ranks.items():
        graph.set_rank(step, rank)
    return None


def _insert(
    graph: Graph, before: StepId, after: StepId, not_added: Collection[Edge]
) -> list[StepId] | None:
    top, bottom = graph.rank(before), graph.rank(after)
    came_from: dict[StepId, StepId] = {}
    forward = _reach(
        after,
        lambda step: (
            other
            for other in graph.dependents(step)
            if (step, other) not in not_added and graph.rank(other) <= top
        ),
        came_from,
    )
    if before in forward:
        return _path(came_from, after, before)
    backward = _reach(
        before,
        lambda step: (
            other
            for other in graph.dependencies(step)
            if (other, step) not in not_added and graph.rank(other) >= bottom
        ),
        {},
    )
    moved = sorted(backward, key=graph.rank) + sorted(forward, key=graph.rank)
    for step, rank in zip(moved, sorted(graph.rank(step) for step in moved), strict=True):
        graph.set_rank(step, rank)
    return None


def _reach(
    start: StepId,
    next_of: Callable[[StepId], Iterable[StepId]],
    came_from: dict[StepId, StepId],
) -> set[StepId]:
    seen = {start}
    stack = [start]
    while stack:
        step = stack.pop()
        for other in next_of(step):
            if other not in seen:
                seen.add(other)
                came_from[other] = step
                stack.append(other)
    return seen


def _path(came_from: Mapping[StepId, StepId], start: StepId, end: StepId) -> list[StepId]:
    path = [end]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    path.reverse()
    return path


def rank_all(dependencies: Mapping[StepId, Sequence[StepId]]) -> dict[StepId, int] | list[StepId]:
    """Return the ranks of a new DAG, in the given order where possible; or a cycle, if it has one.

    Every dependency must be a key of the mapping.
    """
    positions = {step: at for at, step in enumerate(dependencies)}
    if all(positions[on] < at for step, at in positions.items() for on in dependencies[step]):
        return positions  # The given order is a topological one: the common case.
    names = list(dependencies)
    left = [len(dependencies[step]) for step in names]
    dependents: list[list[int]] = [[] for _ in names]
    for step, at in positions.items():
        for on in dependencies[step]:
            dependents[positions[on]].append(at)
    free = [at for at, count in enumerate(left) if count == 0]
    ranks: dict[StepId, int] = {}
    while free:
        at = heappop(free)
        ranks[names[at]] = len(ranks)
        for other in dependents[at]:
            left[other] -= 1
            if left[other] == 0:
                heappush(free, other)
    if len(ranks) < len(names):
        return _find_cycle(dependencies, ranks)
    return ranks


def _find_cycle(
    dependencies: Mapping[StepId, Sequence[StepId]], ranked: Mapping[StepId, int]
) -> list[StepId]:
    # Every step that has no rank depends on another one without: following them finds a cycle.
    step = next(step for step in dependencies if step not in ranked)
    walked: dict[StepId, int] = {}
    path: list[StepId] = []
    while step not in walked:
        walked[step] = len(path)
        path.append(step)
        step = next(on for on in dependencies[step] if on not in ranked)
    return path[walked[step] :][::-1]
