"""Keeping a topological order while edges come, so that a cycle is noticed at once.

Every step has a rank greater than that of each of its dependencies. A new edge that agrees
with the ranks needs no search at all; one that does not moves only the steps between the two
(Pearce and Kelly, 2006). The same code runs on the Task and on the overlay of an update that
is still being checked, so it sees the graph through a small protocol.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import Final, Protocol

from taskloom.ids import StepId

_ONE_BY_ONE_MAX: Final = 64
"""Edges against the order in one update that are still mended one by one."""

Edge = tuple[StepId, StepId]
"""(dependency, dependent): the first comes before the second."""


class Graph(Protocol):
    """A DAG with ranks."""

    def dependencies(self, step_id: StepId) -> Collection[StepId]:
        """Return what the step waits for."""
        ...

    def dependents(self, step_id: StepId) -> Collection[StepId]:
        """Return what waits for the step."""
        ...

    def step_ids(self) -> Iterable[StepId]:
        """Walk all steps in order of creation."""
        ...

    def rank(self, step_id: StepId) -> int:
        """Return the step's place."""
        ...

    def set_rank(self, step_id: StepId, rank: int) -> None:
        """Move the step."""
        ...


def insert_edges(graph: Graph, edges: Sequence[Edge]) -> list[StepId] | None:
    """Mend the ranks for edges that are in the graph already; return a cycle if they close one.

    The edges are taken in one by one: until its turn comes an edge is not looked at, since the
    search relies on every edge it follows being in order.
    """
    late = [edge for edge in edges if graph.rank(edge[0]) >= graph.rank(edge[1])]
    if len(late) > _ONE_BY_ONE_MAX:
        return _rank_anew(graph)
    waiting = set(late)
    for edge in late:
        waiting.discard(edge)
        before, after = edge
        if before == after:
            return [before]
        if graph.rank(before) < graph.rank(after):
            continue  # An earlier mend brought it into order.
        cycle = _insert(graph, before, after, waiting)
        if cycle is not None:
            return cycle
    return None


def _rank_anew(graph: Graph) -> list[StepId] | None:
    """Rank the whole graph: for a big update that is quicker than mending edge by edge."""
    ranks = rank_all({step: tuple(graph.dependencies(step)) for step in graph.step_ids()})
    if not isinstance(ranks, dict):
        return ranks
    for step, rank in ranks.items():
        graph.set_rank(step, rank)
    return None


def _insert(
    graph: Graph, before: StepId, after: StepId, waiting: Collection[Edge]
) -> list[StepId] | None:
    top, bottom = graph.rank(before), graph.rank(after)
    came_from: dict[StepId, StepId] = {}
    forward = _reach(
        after,
        lambda step: (
            other
            for other in graph.dependents(step)
            if (step, other) not in waiting and graph.rank(other) <= top
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
            if (other, step) not in waiting and graph.rank(other) >= bottom
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
    """Rank a whole new DAG, keeping the given order where it can; return a cycle if there is one.

    Every dependency must be a key of the mapping.
    """
    places = {step: at for at, step in enumerate(dependencies)}
    if all(places[on] < at for step, at in places.items() for on in dependencies[step]):
        return places  # Written in an order that works: the common case.
    names = list(dependencies)
    left = [len(dependencies[step]) for step in names]
    dependents: list[list[int]] = [[] for _ in names]
    for step, at in places.items():
        for on in dependencies[step]:
            dependents[places[on]].append(at)
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
    # Each step left over waits for another one left over: walking on must come back somewhere.
    step = next(step for step in dependencies if step not in ranked)
    walked: dict[StepId, int] = {}
    path: list[StepId] = []
    while step not in walked:
        walked[step] = len(path)
        path.append(step)
        step = next(on for on in dependencies[step] if on not in ranked)
    return path[walked[step] :][::-1]
