"""Lives of a board from seeds: real code, a virtual clock, and everything that can go wrong."""

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Final

import pytest

from tests.runtime.simulation_checks import simulate

SEEDS: Final = 120
EVENTS: Final = 1_000


def live_many(seeds: range) -> int:
    """Live from each seed, on two cores; return how many events there were."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        lives = pool.map(partial(simulate, events=EVENTS), seeds, chunksize=5)
        return sum(events for events, _ in lives)


@pytest.mark.slow
@pytest.mark.spec("TB-112", "TB-116", "TB-121", "TB-128", "TB-705", "TB-708")
def test_no_life_breaks_an_invariant(figure: Callable[[str], None]) -> None:
    events = live_many(range(SEEDS))
    assert events >= SEEDS * EVENTS
    figure(f"{SEEDS} seeds, {events:,} events")


@pytest.mark.deep
@pytest.mark.spec("TB-112", "TB-116", "TB-121", "TB-128", "TB-705", "TB-708")
def test_no_life_of_a_million_events_breaks_an_invariant(figure: Callable[[str], None]) -> None:
    figure(f"1,000 seeds, {live_many(range(1_000, 2_000)):,} events")


@pytest.mark.slow
def test_the_same_seed_leaves_the_same_bytes() -> None:
    """Also in processes that hash strings differently."""
    script = "from tests.runtime.simulation_checks import simulate; print(*simulate(7, 600))"
    said = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={
                **os.environ,
                "PYTHONHASHSEED": hash_seed,
                "PYTHONPATH": os.pathsep.join(sys.path),
            },
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    events, digest = simulate(7, 600)
    assert said == {f"{events} {digest}\n"}
    assert simulate(8, 600)[1] != digest
