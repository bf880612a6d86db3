"""A process of its own that claims steps: `claimer.py PROJECT work|hold|wait async|blocking NAME…`.

work: take step after step until none can come; print what was taken.
hold: take one step, print it, and stay in its block for ever.
wait: wait for a step; print its name and when it came.
"""

import asyncio
import faulthandler
import json
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from time import time
from typing import Final

from taskloom.board import Rules
from taskloom.runtime import Board, SyncBoard, open_board, open_board_sync

HANGS_S: Final = 100.0
LEASE: Final = timedelta(seconds=2)


def tell(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


async def work(board: Board, name: str) -> list[str]:
    taken: list[str] = []
    async for claim in board.task("plan").claims(worker=name):
        async with claim:
            taken.append(claim.step.step_id)
            await claim.complete(name)
    return taken


async def work_all(board: Board, names: list[str]) -> None:
    tell([step for each in await asyncio.gather(*(work(board, n) for n in names)) for step in each])


async def hold(board: Board, names: list[str]) -> None:
    async for claim in board.task("plan").claims(worker=names[0]):
        async with claim:
            tell(claim.step.step_id)
            await asyncio.Event().wait()


async def wait(board: Board, names: list[str]) -> None:
    tell("waiting")
    claim = await board.task("plan").claim_next(worker=names[0], wait=True)
    tell([claim and claim.step.step_id, time()])


def work_sync(board: SyncBoard, names: list[str]) -> None:
    taken: list[str] = []

    def one(name: str) -> None:
        for claim in board.task("plan").claims(worker=name):
            with claim:
                taken.append(claim.step.step_id)
                claim.complete(name)

    threads = [Thread(target=one, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tell(taken)


def hold_sync(board: SyncBoard, names: list[str]) -> None:
    for claim in board.task("plan").claims(worker=names[0]):
        with claim:
            tell(claim.step.step_id)
            Event().wait()


def wait_sync(board: SyncBoard, names: list[str]) -> None:
    tell("waiting")
    claim = board.task("plan").claim_next(worker=names[0], wait=True)
    tell([claim and claim.step.step_id, time()])


SYNC: Final[dict[str, Callable[[SyncBoard, list[str]], None]]] = {
    "work": work_sync,
    "hold": hold_sync,
    "wait": wait_sync,
}
ASYNC: Final = {"work": work_all, "hold": hold, "wait": wait}


def main() -> None:
    project, what, twin, *names = sys.argv[1:]
    faulthandler.dump_traceback_later(HANGS_S, exit=True)  # Say where it hangs, if it does.
    rules = Rules(lease=LEASE)
    if twin == "blocking":
        with open_board_sync(Path(project), session="s1", rules=rules) as board:
            SYNC[what](board, names)
        return

    async def run() -> None:
        async with open_board(Path(project), session="s1", rules=rules) as board:
            await ASYNC[what](board, names)

    asyncio.run(run())


if __name__ == "__main__":
    main()
