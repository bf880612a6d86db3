"""Durable changes: one caller, and 64 at once, beside bare writes of the same bytes."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from bench.boards import ORCHESTRATOR, TASK, worker
from bench.table import Row
from taskloom import Board, Durability, NewStep, SyncBoard, open_board
from taskloom.board import ClaimStep, CreateTask, UpdateStep

CALLERS = 64
BLOCK = 50
"""Calls before bare and board change places, so that both see the same disk."""


def run() -> Iterator[Row]:
    """Measure."""
    yield from _one_caller()
    yield from asyncio.run(_many_callers())


def _one_caller() -> Iterator[Row]:
    with TemporaryDirectory(dir=".") as place:
        bare, board, blocking = asyncio.run(_alternate(Path(place)))
    ceiling = f"{bare * 1e6:.0f} us"
    yield Row(
        "durable change, one caller (async)", f"{board * 1e6:.0f} us", ceiling, board / bare, 1.3
    )
    yield Row(
        "durable change, one caller (blocking)",
        f"{blocking * 1e6:.0f} us",
        ceiling,
        blocking / bare,
        1.3,
    )


async def _alternate(place: Path, rounds: int = 12) -> tuple[float, float, float]:
    """Return the medians of a bare write and sync, of an async and of a blocking change."""
    async with open_board(place, session="s1") as board:
        await _prepare(board, 1)
        actor, note = worker(0), _note(0)
        await board.send(note, actor)
        line = _last_line(place)
        fd = os.open(place / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        blocking = SyncBoard(board.writers)
        bare_s: list[float] = []
        board_s: list[float] = []
        blocking_s: list[float] = []
        for _ in range(rounds):
            for _ in range(BLOCK):
                start = perf_counter()
                os.write(fd, line)
                os.fdatasync(fd)
                bare_s.append(perf_counter() - start)
            for _ in range(BLOCK):
                start = perf_counter()
                await board.send(note, actor)
                board_s.append(perf_counter() - start)
            for _ in range(BLOCK):
                start = perf_counter()
                blocking.send(note, actor)
                blocking_s.append(perf_counter() - start)
        os.close(fd)
    return median(bare_s), median(board_s), median(blocking_s)


def _last_line(place: Path) -> bytes:
    return next(place.rglob("*.wal.jsonl")).read_bytes().splitlines(keepends=True)[-1]


async def _many_callers(rounds: int = 60, repeats: int = 5) -> list[Row]:
    bare: list[float] = []
    ours: list[float] = []
    quick: list[float] = []
    for _ in range(repeats):
        with TemporaryDirectory(dir=".") as name:
            here = await _bare_rate(Path(name), rounds, "here")
            bare.append(max(here, await _bare_rate(Path(name), rounds, "thread")))
        ours.append(await _board_rate(Durability.FSYNC, rounds))
        quick.append(await _board_rate(Durability.OS, rounds))
    ceiling, rate, rate_os = median(bare), median(ours), median(quick)
    return [
        Row(
            f"durable changes, {CALLERS} callers",
            f"{rate:,.0f}/s",
            f"{ceiling:,.0f}/s",
            rate / ceiling,
            0.6,
            at_least=True,
        ),
        Row(
            f"changes without sync, {CALLERS} callers (orientation 30,000/s)",
            f"{rate_os:,.0f}/s",
            "30,000/s",
            rate_os / 30_000,
            1.0,
            at_least=True,
        ),
    ]


async def _board_rate(durability: Durability, rounds: int) -> float:
    with TemporaryDirectory(dir=".") as name:
        async with open_board(name, session="s1", durability=durability) as board:
            await _prepare(board, CALLERS)

            async def call(number: int) -> None:
                actor, note = worker(number), _note(number)
                for _ in range(rounds):
                    await board.send(note, actor)

            return await _rate(call, rounds)


async def _bare_rate(place: Path, rounds: int, how: str) -> float:
    """Return the rate of the simplest group commit there is: join, write, sync, wake."""
    loop = asyncio.get_running_loop()
    line = b"x" * 449 + b"\n"
    fd = os.open(place / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    waiting: list[asyncio.Future[None]] = []
    lines: list[bytes] = []

    def write(data: bytes) -> None:
        os.write(fd, data)
        os.fdatasync(fd)

    def wake(done: list[asyncio.Future[None]]) -> None:
        for future in done:
            future.set_result(None)

    def flush() -> None:
        batch, data = waiting.copy(), b"".join(lines)
        waiting.clear()
        lines.clear()
        if how == "here":
            write(data)
            wake(batch)
        else:
            written = loop.run_in_executor(None, write, data)
            written.add_done_callback(lambda _: wake(batch))

    async def call(_: int) -> None:
        for _ in range(rounds):
            future: asyncio.Future[None] = loop.create_future()
            waiting.append(future)
            lines.append(line)
            if len(waiting) == 1:
                loop.call_soon(flush)
            await future

    try:
        return await _rate(call, rounds)
    finally:
        os.close(fd)


async def _rate(call: Callable[[int], Awaitable[None]], rounds: int) -> float:
    start = perf_counter()
    await asyncio.gather(*(call(number) for number in range(CALLERS)))
    return CALLERS * rounds / (perf_counter() - start)


async def _prepare(board: Board, callers: int) -> None:
    steps = tuple(NewStep(step_id=f"step-{at}", title=f"Step {at}") for at in range(callers))
    await board.send(
        CreateTask(task_id=TASK, wal_name="plan", title="Plan", steps=steps), ORCHESTRATOR
    )
    for at in range(callers):
        await board.send(ClaimStep(task_id=TASK, step_id=f"step-{at}"), worker(at))


def _note(number: int) -> UpdateStep:
    return UpdateStep(
        task_id=TASK, step_id=f"step-{number}", result_summary="half of it is done, going on"
    )
