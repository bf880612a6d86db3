"""Races for the steps of one Task: each step has exactly one winner, and nobody is left waiting."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Final

import anyio
import pytest

from taskloom import SyncBoard, open_board, open_board_sync
from taskloom.board import EventType
from taskloom.codec import Replay, decode
from tests.runtime import claim_race
from tests.runtime.claim_race import BOSS, Tally, race_threads, racing_task

STEPS: Final = 300
LONG_S: Final = 120.0
"""How long a race may take before it counts as hanging."""


def create(project: Path, steps: int = STEPS) -> None:
    with open_board_sync(project, session="s1") as board:
        board.send(racing_task(steps), BOSS)


def check(project: Path, tallies: Sequence[Tally], steps: int = STEPS) -> None:
    """Hold what the claimers were told against the log."""
    wins = Counter(step for tally in tallies for step in tally.won)
    assert wins == dict.fromkeys((f"s{n}" for n in range(steps)), 1)
    assert all(len(tally.won) + tally.refused == steps for tally in tallies)
    [path] = (project / ".taskloom" / "tasks" / "s1").iterdir()
    data = path.read_bytes()
    lines = decode(data, after=0)
    assert [line.wal_seq for line in lines] == list(range(1, len(lines) + 1))
    claims = [line.step_id for line in lines if line.payload.type is EventType.STEP_CLAIMED]
    assert sorted(map(str, claims)) == sorted(wins)
    Replay().add(data)


def start(project: Path, how: str, names: Sequence[str]) -> "subprocess.Popen[str]":
    script = Path(claim_race.__file__)
    return subprocess.Popen(
        [sys.executable, str(script), str(project), str(STEPS), how, *names],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def race_processes(project: Path, how: Sequence[str], claimers: int) -> tuple[list[Tally], float]:
    """Let processes race, `claimers` in each; all begin at the same moment. Time the race."""
    children = [
        start(project, way, [f"p{n}c{m}" for m in range(claimers)]) for n, way in enumerate(how)
    ]
    tallies: list[Tally] = []
    try:
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        began = perf_counter()
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        for child in children:
            said, _ = child.communicate(timeout=LONG_S)
            assert child.returncode == 0
            tallies += [Tally(**each) for each in json.loads(said)]
    finally:
        for child in children:
            with child:  # Waits for it and closes its pipes.
                child.kill()
    return tallies, perf_counter() - began


def describe(tallies: Sequence[Tally], seconds: float, steps: int = STEPS) -> str:
    asked = sum(len(tally.won) + tally.refused for tally in tallies)
    longest = max(tally.longest_s for tally in tallies)
    return (
        f"{steps} steps, {asked:,} claims in {seconds:.2f} s ({asked / seconds:,.0f}/s), "
        f"longest wait {longest * 1000:.0f} ms"
    )


def repeat_race(tmp_path: Path, how: Sequence[str], repeats: int) -> list[str]:
    said: list[str] = []
    for number in range(repeats):
        project = tmp_path / str(number)
        create(project)
        tallies, seconds = race_processes(project, how, 32 // len(how))
        check(project, tallies)
        said.append(describe(tallies, seconds))
    return said


@pytest.mark.slow
@pytest.mark.spec("TB-109", "TB-121", "TB-610")
def test_32_claimers_in_8_processes_win_each_step_once(
    tmp_path: Path, figure: Callable[[str], None]
) -> None:
    ways = ("threads", "threads", "tasks", "tasks") * 2
    for sentence in repeat_race(tmp_path, ways, 3):
        figure(sentence)


@pytest.mark.deep
@pytest.mark.spec("TB-109", "TB-121", "TB-610")
def test_32_claimers_in_8_processes_again_and_again(
    tmp_path: Path, figure: Callable[[str], None]
) -> None:
    for way in ("threads", "tasks"):
        for sentence in repeat_race(tmp_path / way, (way,) * 8, 20):
            figure(f"{way}: {sentence}")


@pytest.mark.slow
@pytest.mark.spec("TB-109", "TB-126", "TB-610")
def test_32_threads_of_one_process_win_each_step_once(
    tmp_path: Path, figure: Callable[[str], None]
) -> None:
    create(tmp_path)
    with open_board_sync(tmp_path, session="s1") as board:
        began = perf_counter()
        tallies = race_threads(board, [f"t{n}" for n in range(32)], STEPS)
    check(tmp_path, tallies)
    figure(describe(tallies, perf_counter() - began))


@pytest.mark.slow
@pytest.mark.spec("TB-109", "TB-126", "TB-610")
async def test_tasks_and_threads_on_one_board_win_each_step_once(
    tmp_path: Path, figure: Callable[[str], None]
) -> None:
    create(tmp_path)
    tallies: list[Tally] = []
    began = perf_counter()
    async with open_board(tmp_path, session="s1") as board:
        blocking = SyncBoard(board.writers)

        async def threads() -> None:
            names = [f"t{n}" for n in range(16)]
            tallies.extend(await anyio.to_thread.run_sync(race_threads, blocking, names, STEPS))

        async def tasks() -> None:
            names = [f"a{n}" for n in range(16)]
            tallies.extend(await claim_race.race_tasks_on(board, names, STEPS))

        with anyio.fail_after(LONG_S):
            async with anyio.create_task_group() as group:
                group.start_soon(threads)
                group.start_soon(tasks)
    check(tmp_path, tallies)
    figure(describe(tallies, perf_counter() - began))
