"""Every state that a small Task can get into, reached in every way there is."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain

import pytest

from taskloom.board import Task
from tests.board.exploring.explore import BrokenInvariantError, Moves, explore
from tests.board.exploring.moves import Move, execution, topology
from tests.board.exploring.mutants import MUTANTS, Patch
from tests.board.exploring.shapes import starts
from tests.board.exploring.world import HALF
from tests.board.task_driver import LEASE


@dataclass(frozen=True)
class Space:
    """A part of what there is to explore."""

    name: str
    steps: int
    moves: Moves
    optional: bool = False
    """Begin with every choice of required and optional steps, not with required ones alone."""
    tick: timedelta = field(default=HALF)
    most: int = 1 << 60

    def explore(self, capsys: pytest.CaptureFixture[str]) -> None:
        begin = starts(self.steps, optional=self.optional)
        seen = explore(begin, self.moves, tick=self.tick, most=self.most)
        assert seen.states > len(begin)
        assert seen.whole or seen.states == self.most
        with capsys.disabled():
            print(f"\n  explored {self.name}: {len(begin)} plans, {seen}")  # noqa: T201  # the figures are asked for


def everything(most: int) -> Moves:
    """What is done with steps, and every change of the plan up to `most` steps."""

    def moves(task: Task) -> Iterator[Move]:
        return chain(execution(task), topology(task, most))

    return moves


GATE = [
    Space("two steps", 2, execution),
    Space("one step, plan changing", 1, everything(1), optional=True),
    Space("three steps", 3, execution, tick=LEASE, most=5_000),
    Space("two steps, plan changing", 2, everything(2), tick=LEASE, most=1_500),
    Space("three steps, plan changing", 3, everything(3), tick=LEASE, most=1_200),
]
DEEP = [
    Space("two steps, optional too", 2, execution, optional=True),
    Space("three steps, to the end", 3, execution, tick=LEASE),
    Space("three steps, half leases", 3, execution, most=20_000),
    Space("two steps, plan changing", 2, everything(2), optional=True, most=15_000),
    Space("three steps, plan changing", 3, everything(3), optional=True, most=15_000),
]


def named(space: Space) -> str:
    return space.name


@pytest.mark.slow
@pytest.mark.spec("TB-301", "TB-304", "TB-310", "TB-311", "TB-402")
@pytest.mark.spec("TB-403", "TB-404", "TB-409", "TB-410", "TB-419", "TB-421", "TB-611", "TB-621")
@pytest.mark.spec("TB-204", "TB-501", "TB-503", "TB-622", "TB-701", "TB-703", "TB-704", "TB-707")
@pytest.mark.parametrize("space", GATE, ids=named)
def test_whatever_happens_the_invariants_hold(
    space: Space, capsys: pytest.CaptureFixture[str]
) -> None:
    space.explore(capsys)


@pytest.mark.deep
@pytest.mark.parametrize("space", DEEP, ids=named)
def test_whatever_happens_the_invariants_hold_further_out(
    space: Space, capsys: pytest.CaptureFixture[str]
) -> None:
    space.explore(capsys)


def explore_a_little() -> None:
    explore(starts(3, optional=False), execution, tick=LEASE, most=300)
    explore(starts(2, optional=False), everything(2), tick=LEASE, most=600)


@pytest.mark.slow
def test_a_board_with_all_its_guards_is_not_caught_in_the_same_space() -> None:
    explore_a_little()


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__.strip("_"))
def test_a_board_without_one_of_its_guards_is_caught(
    mutant: Patch, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    with pytest.raises(BrokenInvariantError):
        explore_a_little()
