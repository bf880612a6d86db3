"""Ranks kept while edges come (Pearce and Kelly) against a plain depth-first search."""

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from taskloom.board.state.topological_order import Edge, insert_edges, rank_all

NAMES = [f"s{at}" for at in range(12)]
EDGES = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=40)


class Plain:
    """A graph in two dicts."""

    def __init__(self, names: Iterable[str]) -> None:
        self.on: dict[str, list[str]] = {name: [] for name in names}
        self.of: dict[str, list[str]] = {name: [] for name in self.on}
        self.ranks = {name: at for at, name in enumerate(self.on)}

    def join(self, edges: Iterable[Edge]) -> None:
        for before, after in edges:
            self.on[after].append(before)
            self.of[before].append(after)

    def dependencies(self, step_id: str) -> list[str]:
        return self.on[step_id]

    def dependents(self, step_id: str) -> list[str]:
        return self.of[step_id]

    def step_ids(self) -> list[str]:
        return list(self.on)

    def rank(self, step_id: str) -> int:
        return self.ranks[step_id]

    def set_rank(self, step_id: str, rank: int) -> None:
        self.ranks[step_id] = rank


def reaches(edges: Iterable[Edge], start: str, end: str) -> bool:
    """Slow and obvious."""
    edges = list(edges)
    seen, stack = {start}, [start]
    while stack:
        at = stack.pop()
        for before, after in edges:
            if before == at and after not in seen:
                seen.add(after)
                stack.append(after)
    return end in seen


def has_cycle(edges: list[Edge]) -> bool:
    return any(reaches(edges, after, before) for before, after in edges)


def check_ranks(ranks: dict[str, int], edges: Iterable[Edge]) -> None:
    assert sorted(ranks.values()) == list(range(len(NAMES)))
    for before, after in edges:
        assert ranks[before] < ranks[after]


def check_cycle(cycle: list[str], edges: list[Edge]) -> None:
    assert len(cycle) == len(set(cycle)) > 0
    for before, after in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        assert (before, after) in edges


@given(EDGES)
@settings(max_examples=400)
def test_edges_one_by_one_keep_the_ranks_or_name_a_circle(edges: list[Edge]) -> None:
    graph, there = Plain(NAMES), list[Edge]()
    for edge in dict.fromkeys(edges):
        graph.join([edge])
        cycle = insert_edges(graph, [edge])
        if cycle is not None:
            assert has_cycle([*there, edge])
            check_cycle(cycle, [*there, edge])
            return
        there.append(edge)
        assert not has_cycle(there)
        check_ranks(graph.ranks, there)


@given(st.lists(EDGES, max_size=4))
@settings(max_examples=400)
def test_edges_in_heaps_keep_the_ranks_or_name_a_circle(heaps: list[list[Edge]]) -> None:
    graph, there = Plain(NAMES), list[Edge]()
    for heap in heaps:
        new = [edge for edge in dict.fromkeys(heap) if edge not in there]
        graph.join(new)
        there += new
        cycle = insert_edges(graph, new)
        assert (cycle is not None) == has_cycle(there)
        if cycle is not None:
            check_cycle(cycle, there)
            return
        check_ranks(graph.ranks, there)


@given(EDGES, st.permutations(NAMES))
@settings(max_examples=400)
def test_a_whole_plan_is_ranked_or_a_circle_named(edges: list[Edge], order: list[str]) -> None:
    edges = list(dict.fromkeys(edges))
    plan = {name: [before for before, after in edges if after == name] for name in order}

    found = rank_all(plan)

    if isinstance(found, list):
        assert has_cycle(edges)
        check_cycle(found, edges)
    else:
        assert not has_cycle(edges)
        check_ranks(found, edges)


def test_a_plan_in_a_working_order_keeps_it() -> None:
    assert rank_all({"c": [], "a": ["c"], "b": ["c", "a"]}) == {"c": 0, "a": 1, "b": 2}


def test_among_free_steps_the_given_order_decides() -> None:
    assert rank_all({"a": ["z"], "m": [], "z": []}) == {"m": 0, "z": 1, "a": 2}


def test_a_long_chain_written_backwards_is_ranked_without_recursion() -> None:
    chain = {f"s{at}": [f"s{at - 1}"] if at else [] for at in range(20_000)}
    backwards = dict(reversed(chain.items()))
    ranks = rank_all(backwards)
    assert isinstance(ranks, dict)
    assert ranks["s0"] == 0
    assert ranks["s19999"] == 19_999


def test_many_edges_against_the_order_are_ranked_in_one_go_and_a_cycle_is_still_found() -> None:
    names = [f"s{at}" for at in range(200)]
    graph = Plain(names)
    edges = [(names[at + 1], names[at]) for at in range(199)]  # Each waits for the next one.
    graph.join(edges)
    assert insert_edges(graph, edges) is None
    assert all(graph.rank(before) < graph.rank(after) for before, after in edges)
    back = [*edges, (names[0], names[-1])]
    round_about = Plain(names)
    round_about.join(back)
    cycle = insert_edges(round_about, back)
    assert cycle is not None
    assert set(cycle) == set(names)
