"""Claimers that race for the steps of one Task, in threads, tasks and processes.

A claimer asks for every step in an order of its own, each with a new run, until it has asked
for all. Run as a script, this is one process of claimers: it says `ready`, waits for a line on
its standard input, races, and prints what it won and how long it waited.
"""

import asyncio
import faulthandler
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from threading import Barrier
from time import perf_counter
from typing import Final, NamedTuple

from taskloom import Board, NewStep, RefusedError, SyncBoard, open_board, open_board_sync
from taskloom.board import Actor, ClaimStep, CreateTask, Role, Scope
from taskloom.errors import Code

TASK: Final = "race"
HANGS_S: Final = 60.0
BOSS: Final = Actor(agent_id="boss", run_id="boss-1", session_id="s1", role=Role.ORCHESTRATOR)


class Tally(NamedTuple):
    """What one claimer saw."""

    won: list[str]
    refused: int
    longest_s: float


def racing_task(steps: int) -> CreateTask:
    return CreateTask(
        task_id=TASK,
        wal_name=TASK,
        title="A race",
        steps=tuple(NewStep(step_id=f"s{n}", title=f"Step {n}") for n in range(steps)),
    )


def runner(name: str, number: int) -> Actor:
    return Actor(
        agent_id=name,
        run_id=f"{name}-{number}",
        session_id="s1",
        role=Role.WORKER,
        scope=Scope(task_id=TASK, worker_pool_id="default"),
    )


def order(name: str, steps: int) -> list[str]:
    """Half of the claimers go from the front, where everybody meets; the others at random."""
    names = [f"s{n}" for n in range(steps)]
    chance = Random(name)
    if chance.random() < 0.5:
        chance.shuffle(names)
    return names


def claim_all(board: SyncBoard, name: str, steps: int) -> Tally:
    won: list[str] = []
    refused, longest = 0, 0.0
    for number, step_id in enumerate(order(name, steps)):
        began = perf_counter()
        try:
            board.send(ClaimStep(task_id=TASK, step_id=step_id), runner(name, number))
            won.append(step_id)
        except RefusedError as no:
            refused += no.code is Code.STEP_ALREADY_CLAIMED
        longest = max(longest, perf_counter() - began)
    return Tally(won, refused, longest)


def race_threads(board: SyncBoard, names: list[str], steps: int) -> list[Tally]:
    start = Barrier(len(names))

    def run(name: str) -> Tally:
        start.wait()
        return claim_all(board, name, steps)

    with ThreadPoolExecutor(len(names)) as pool:
        return list(pool.map(run, names))


async def claim_all_async(board: Board, name: str, steps: int) -> Tally:
    won: list[str] = []
    refused, longest = 0, 0.0
    for number, step_id in enumerate(order(name, steps)):
        began = perf_counter()
        try:
            await board.send(ClaimStep(task_id=TASK, step_id=step_id), runner(name, number))
            won.append(step_id)
        except RefusedError as no:
            refused += no.code is Code.STEP_ALREADY_CLAIMED
        longest = max(longest, perf_counter() - began)
    return Tally(won, refused, longest)


async def race_tasks_on(board: Board, names: list[str], steps: int) -> list[Tally]:
    """The same on one event loop."""
    return list(await asyncio.gather(*(claim_all_async(board, name, steps) for name in names)))


async def race_tasks(project: Path, names: list[str], steps: int) -> list[Tally]:
    async with open_board(project, session="s1") as board:
        return await race_tasks_on(board, names, steps)


def main() -> None:
    """Race as one process: `claim_race.py PROJECT STEPS threads|tasks NAME…`."""
    project, steps, how, *names = sys.argv[1:]
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    faulthandler.dump_traceback_later(HANGS_S, exit=True)  # Say where it hangs, if it does.
    if how == "tasks":
        tallies = asyncio.run(race_tasks(Path(project), names, int(steps)))
    else:
        with open_board_sync(project, session="s1") as board:
            tallies = race_threads(board, names, int(steps))
    sys.stdout.write(json.dumps([tally._asdict() for tally in tallies]) + "\n")


if __name__ == "__main__":
    main()
