"""Where exploring begins: every DAG of one to three steps, up to the names of the steps."""

from collections.abc import Iterator
from itertools import combinations, product

from tests.board.exploring.world import HALF, Key, Node, begin, key

NAMES = ("a", "b", "c")


def starts(most: int, *, optional: bool) -> list[Node]:
    """Every new Task of at most `most` steps; with `optional`, every choice of required too."""
    found: dict[Key, Node] = {}
    for size in range(1, most + 1):
        for edges in _dags(size):
            for required in product((True, False), repeat=size) if optional else [(True,) * size]:
                node = begin(
                    tuple(
                        (name, tuple(on for on, of in edges if of == name), need)
                        for name, need in zip(NAMES, required, strict=False)
                    )
                )
                found.setdefault(key(node.task, node.now, HALF), node)
    return list(found.values())


def _dags(size: int) -> Iterator[list[tuple[str, str]]]:
    # Each DAG has an order of its steps in which all edges point forward.
    forward = list(combinations(NAMES[:size], 2))
    for chosen in product((True, False), repeat=len(forward)):
        yield [edge for edge, there in zip(forward, chosen, strict=True) if there]
