"""Real processes, killed with -9 in the middle of their work; and real limits of the system."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Final, NamedTuple, Self

import pytest

from taskloom.log import JsonlLog
from taskloom.runtime import restore
from tests.crash import killed_process

ROUNDS: Final = {1: 100, 64: 100, 2_000: 100}
SECONDS_MAX: Final = 40.0
"""A slow machine does fewer rounds; the figure says how many."""
ROUNDS_PER_LOG: Final = 10


class Killer:
    """A process that brings up victims and kills them."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, killed_process.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def kill_one(self, project: Path, batch: int, acks: int, *, watch: bool) -> int:
        """Return the last line that the killed process acknowledged."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{project} {batch} {acks} {int(watch)}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:
            self._process.kill()


class Seen(NamedTuple):
    kills: int
    torn: int
    lines: int


def kill_rounds(tmp_path: Path, batch: int, rounds: int, until: float) -> Seen:
    """Kill round after round, ten on each log, and read what is left after each."""
    chance = Random(batch)
    seen = Seen(0, 0, 0)
    with Killer() as killer:
        for number in range(rounds):
            if number >= ROUNDS_PER_LOG and perf_counter() > until:
                break
            project = tmp_path / f"{batch}-{number // ROUNDS_PER_LOG}"
            acks = chance.randint(1, max(1, 40 // batch))
            last = killer.kill_one(project, batch, acks, watch=number % 2 == 0)
            torn = read_after_kill(project, last)
            seen = Seen(seen.kills + 1, seen.torn + torn, seen.lines + last)
    return seen


def read_after_kill(project: Path, last: int) -> bool:
    """Check that everything up to line `last` is there; tell whether a write was torn."""
    wal = JsonlLog(project / ".taskloom" / "tasks" / "s1").open("plan")
    wal.acquire(wait=True)
    task = restore(wal, None)
    wal.close()
    assert task.seq >= last, f"{last} was acknowledged, and the log ends at {task.seq}"
    assert task.seq == wal.position.seq
    return wal.torn is not None


@pytest.mark.slow
@pytest.mark.spec("TB-113", "TB-114")
def test_nothing_acknowledged_is_lost_when_the_process_is_killed(
    tmp_path: Path, figure: Callable[[str], None]
) -> None:
    began = perf_counter()
    found = [
        kill_rounds(tmp_path, batch, rounds, began + SECONDS_MAX * place / len(ROUNDS))
        for place, (batch, rounds) in enumerate(ROUNDS.items(), 1)
    ]
    kills, torn, lines = map(sum, zip(*found, strict=True))
    figure(f"{kills} kills, {torn} torn tails, {lines:,} acknowledged lines, 0 lost")
    assert torn >= 1, "no tail was torn: the test tests nothing"


@pytest.mark.deep
@pytest.mark.spec("TB-113", "TB-114")
def test_nothing_acknowledged_is_lost_in_five_thousand_kills(
    tmp_path: Path, figure: Callable[[str], None]
) -> None:
    for batch in ROUNDS:
        kills, torn, lines = kill_rounds(tmp_path, batch, 1_700, perf_counter() + 600)
        figure(f"batches of {batch}: {kills} kills, {torn} torn tails, {lines:,} lines, 0 lost")
