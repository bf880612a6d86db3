"""Real processes, killed with -9 in the middle of their work; and real limits of the system."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Final

import pytest

from taskloom.log import JsonlLog
from taskloom.runtime import restore
from tests.crash import victim

ROUNDS: Final = {1: 60, 64: 60, 2_000: 60}
SECONDS_MAX: Final = 40.0
"""A slow machine does fewer rounds; the figure says how many."""


def kill_once(project: Path, batch: int, chance: Random) -> int:
    """Let a process work for a while and kill it; return the last line it acknowledged."""
    process = subprocess.Popen(
        [sys.executable, victim.__file__, str(project), str(batch)], stdout=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.strip().isdigit(), "the victim did not come to work"
        process.stdout.read(chance.choice((1, 5, 20)))
        process.kill()
        rest = process.stdout.read()
    said = (first + rest).splitlines(keepends=True)
    whole = [int(line) for line in said if line.endswith(b"\n") and line.strip().isdigit()]
    return max(whole)


def kill_rounds(tmp_path: Path, batch: int, rounds: int, until: float) -> tuple[int, int, int]:
    """Kill round after round on one log; return rounds, torn tails and lines acknowledged."""
    chance = Random(batch)
    torn, acknowledged, done = 0, 0, 0
    for number in range(rounds):
        if number > 5 and perf_counter() > until:
            break
        project = tmp_path / f"{batch}-{number // 10}"
        last = kill_once(project, batch, chance)
        wal = JsonlLog(project / ".taskloom" / "tasks" / "s1").open("plan")
        wal.acquire(wait=True)
        task = restore(wal, None)
        assert task.seq >= last, f"{last} was acknowledged, and the log ends at {task.seq}"
        assert task.seq == wal.position.seq
        torn += wal.torn is not None
        acknowledged += last
        wal.close()
        done += 1
    return done, torn, acknowledged


@pytest.mark.slow
@pytest.mark.spec("TB-113", "TB-114")
def test_nothing_acknowledged_is_lost_when_the_process_is_killed(
    tmp_path: Path, figure: Callable[[str], None]
) -> None:
    began = perf_counter()
    total, tears, lines = 0, 0, 0
    for place, (batch, rounds) in enumerate(ROUNDS.items(), 1):
        until = began + SECONDS_MAX * place / len(ROUNDS)
        done, torn, acknowledged = kill_rounds(tmp_path, batch, rounds, until)
        total, tears, lines = total + done, tears + torn, lines + acknowledged
    figure(f"{total} kills, {tears} torn tails, {lines:,} acknowledged lines, 0 lost")
    assert tears >= 1, "no tail was torn: the test tests nothing"


@pytest.mark.deep
@pytest.mark.spec("TB-113", "TB-114")
def test_nothing_acknowledged_is_lost_in_two_thousand_kills(
    tmp_path: Path, figure: Callable[[str], None]
) -> None:
    for batch in ROUNDS:
        done, torn, lines = kill_rounds(tmp_path, batch, 700, perf_counter() + 600)
        figure(f"batches of {batch}: {done} kills, {torn} torn tails, {lines:,} lines, 0 lost")
