"""Orchestrator mode: hand-over, throughput and memory of worker runs, and the board in a prompt."""

import asyncio
import os
import resource
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from bench.boards import ORCHESTRATOR, TASK, dag, worker
from bench.table import Row
from taskloom import Board, Durability, NewStep, RefusedError, StepStatus, open_board
from taskloom.board import ClaimStep, CreateTask, Task, UpdateStep
from taskloom.orchestrator import (
    AgentDefinition,
    Emit,
    Job,
    Orchestrator,
    Outcome,
    Pool,
    Settings,
    Worker,
    board_text,
)

WORKERS = 16
CHAIN = 150
STEPS = 1_000
BIG = 10_000
KIND = AgentDefinition(id="instant", name="Instant", description="Does it at once.")


class Instant:
    """An executor whose work takes no time; it notes when it begins and ends."""

    claims = False
    tools: Sequence[str] = ()

    def __init__(self, moments: list[tuple[float, float]] | None = None) -> None:
        """Keep the list, if anybody asks for the moments."""
        self._moments = moments

    def begin(self, job: Job, emit: Emit) -> "Instant":
        """Begin a run."""
        del job, emit  # Whatever it is, it is done.
        return self

    async def result(self) -> Outcome:
        """Do nothing."""
        begun = perf_counter()
        if self._moments is not None:
            self._moments.append((begun, perf_counter()))
        return Outcome(text="did the thing and it went well, all tests pass")

    def stop(self) -> None:
        """Stop at once, since nothing goes on."""


def run() -> Iterator[Row]:
    """Measure."""
    yield asyncio.run(_hand_over())
    yield asyncio.run(_throughput())
    yield _memory()
    yield asyncio.run(_prompt())


def _pools(count: int, moments: list[tuple[float, float]] | None = None) -> list[Pool]:
    workers = tuple(Worker(definition=KIND, executor=Instant(moments)) for _ in range(count))
    return [Pool(pool_id="default", workers=workers)]


async def _create(board: Board, steps: tuple[NewStep, ...]) -> None:
    command = CreateTask(task_id=TASK, wal_name=TASK, title="Build the thing", steps=steps)
    await board.send(command, ORCHESTRATOR)


async def _hand_over() -> Row:
    """From the end of one worker's work to the begin of the next one's on what waited for it."""
    moments: list[tuple[float, float]] = []
    chain = tuple(
        NewStep(
            step_id=f"step-{at}",
            title=f"Step {at}",
            depends_on_step_ids=(f"step-{at - 1}",) if at else (),
        )
        for at in range(CHAIN)
    )
    with TemporaryDirectory(dir=".") as name:
        async with open_board(name, session="s1") as board:
            await _create(board, chain)
            async with Orchestrator(board, _pools(2, moments)) as orchestrator:
                await orchestrator.run_plan(TASK, instruction="Do it.")
        bare = _bare(Path(name))
    gaps = [after[0] - before[1] for before, after in pairwise(moments)]
    # Three changes lie between: completed, claimed, started. Each is safe before the next.
    beyond = median(gaps) - 3 * bare
    return Row(
        "from a step's completion to its dependent's start, ms beyond 3 syncs",
        f"{median(gaps) * 1e3:.2f} ms",
        f"{3 * bare * 1e3:.2f} ms",
        beyond * 1e3,
        5.0,
    )


def _bare(place: Path) -> float:
    """Return what a write and sync of one line costs here."""
    fd = os.open(place / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    times: list[float] = []
    for _ in range(200):
        start = perf_counter()
        os.write(fd, b"x" * 449 + b"\n")
        os.fdatasync(fd)
        times.append(perf_counter() - start)
    os.close(fd)
    return median(times)


async def _throughput(repeats: int = 5) -> Row:
    ours, straight = [0.0] * repeats, [0.0] * repeats
    for at in range(repeats):
        straight[at] = await _straight()
        ours[at] = await _carried()
    rate, ceiling = median(ours), median(straight)
    return Row(
        f"{STEPS:,}-step DAG, {WORKERS} instant workers, against the board alone",
        f"{rate:,.0f} steps/s",
        f"{ceiling:,.0f} steps/s",
        rate / ceiling,
        0.7,
        at_least=True,
    )


async def _carried() -> float:
    with TemporaryDirectory(dir=".") as name:
        async with open_board(name, session="s1") as board:
            await _create(board, dag(STEPS))
            async with Orchestrator(board, _pools(WORKERS)) as orchestrator:
                start = perf_counter()
                done = await orchestrator.run_plan(TASK, instruction="Do it.")
                assert done.is_done
                return STEPS / (perf_counter() - start)


async def _straight() -> float:
    """The same commands from as many tasks, with nothing between them and the board."""
    with TemporaryDirectory(dir=".") as name:
        async with open_board(name, session="s1") as board:
            await _create(board, dag(STEPS))
            start = perf_counter()
            async with await board.watch(TASK) as watch:
                ready: deque[str] = deque()
                left = [STEPS]

                async def work(number: int) -> None:
                    while left[0]:
                        since = watch.reset()
                        if not ready:
                            ready.extend(await board.read(TASK, _ready, ORCHESTRATOR))
                        if not ready:
                            await watch.wait(since)
                            continue
                        number += WORKERS
                        try:
                            await _one(board, ready.popleft(), number)
                        except RefusedError:
                            continue
                        left[0] -= 1
                    watch.wake()

                await asyncio.gather(*(work(number) for number in range(WORKERS)))
            return STEPS / (perf_counter() - start)


async def _one(board: Board, step_id: str, number: int) -> None:
    actor = worker(number)
    claim = await board.send(ClaimStep(task_id=TASK, step_id=step_id), actor)
    for status in (StepStatus.RUNNING, StepStatus.COMPLETED):
        update = UpdateStep(task_id=TASK, step_id=step_id, status=status, fence=claim.fence)
        await board.send(update, actor)


def _ready(task: Task) -> list[str]:
    return list(islice(task.index.walk(None, (StepStatus.READY,), lambda _: True), 64))


def _memory() -> Row:
    """What a whole run of a big plan needs, in a process of its own."""
    code = "from bench.orchestrator import big_run; big_run()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    before, created, after = (int(word) / 1024 for word in done.stdout.split())
    return Row(
        f"memory of a {BIG:,}-step run: {before:.0f} MB bare, {created:.0f} MB with the plan",
        f"{after:.0f} MB",
        f"{created:.0f} MB",
        after / created,
    )


def big_run() -> None:
    """Print the peak in KiB: before, with the plan made, after every step was done."""

    def peak() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    async def main() -> tuple[int, int]:
        with TemporaryDirectory(dir=".") as name:
            async with open_board(name, session="s1", durability=Durability.OS) as board:
                await _create(board, dag(BIG))
                created = peak()
                async with Orchestrator(board, _pools(WORKERS)) as orchestrator:
                    assert (await orchestrator.run_plan(TASK, instruction="Do it.")).is_done
                return created, peak()

    before = peak()
    created, after = asyncio.run(main())
    print(before, created, after)


async def _prompt(rounds: int = 60) -> Row:
    """A board of 10,000 steps in a prompt: many ready, some held, some failed, some blocked."""
    steps = tuple(NewStep(step_id=f"step-{at}", title=f"Step {at} of it") for at in range(BIG))
    with TemporaryDirectory(dir=".") as name:
        async with open_board(name, session="s1", durability=Durability.OS) as board:
            await _create(board, steps)
            for at in range(900):
                claim = ClaimStep(task_id=TASK, step_id=f"step-{at}")
                await board.send(claim, worker(at))
                if at % 3:
                    status = StepStatus.FAILED if at % 3 == 1 else StepStatus.BLOCKED
                    ended = UpdateStep(
                        task_id=TASK, step_id=f"step-{at}", status=status, reason="lacks a key"
                    )
                    await board.send(ended, worker(at))
            times: list[float] = []
            for _ in range(rounds):
                start = perf_counter()
                await board_text(board, ORCHESTRATOR, Settings())
                times.append(perf_counter() - start)
    return Row(
        "board in the prompt at 10,000 steps, ms",
        f"{median(times) * 1e3:.2f} ms",
        "2 ms",
        median(times) * 1e3,
        2.0,
    )
