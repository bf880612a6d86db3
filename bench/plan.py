"""The cost of a planning tool call as the list grows, on a real disk.

The first call of a process reads the list and is measured separately. Each figure is the median
of calls that alternate between the sizes, so that a slow moment of the disk affects all of them.
"""

import asyncio
from collections.abc import Awaitable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import msgspec

from bench.table import Row
from taskloom.agent import RunSetup, Tool
from taskloom.agent.loop.run_context import CURRENT_RUN, RunContext
from taskloom.agent.loop.run_state import RunState
from taskloom.files import LocalFiles, MemoryFiles
from taskloom.middleware import PlanTasks

SIZES = (10, 1_000, 10_000)
ROUNDS = 20
TOKENS = 1_500


def run() -> Iterator[Row]:
    """Yield the rows of the table."""
    with TemporaryDirectory(dir=".") as root:
        yield from asyncio.run(_measure(Path(root)))
    yield asyncio.run(_tokens())


async def _measure(root: Path) -> list[Row]:
    CURRENT_RUN.set(RunContext(RunState("bench")))  # Tools send their changes to a run.
    lists = {size: await _tools(root, size) for size in SIZES}
    first: dict[int, float] = {}
    for size, tools in lists.items():
        first[size] = await _seconds(tools, "TaskGet", taskId="1")
    times: dict[str, dict[int, list[float]]] = {}
    for number in range(ROUNDS):
        for size, tools in lists.items():
            for what, arguments in _calls(number, size):
                spent = await _seconds(tools, what.split()[0], **arguments)
                times.setdefault(what, {}).setdefault(size, []).append(spent)
    rows = [_row(what, {n: median(t) for n, t in by.items()}) for what, by in times.items()]
    rows.append(_row("first call, reads the list", first, bar=None))
    shown = {size: await _seconds(tools, "TaskList") for size, tools in lists.items()}
    rows.append(_row("TaskList, one line per task", shown, bar=None))
    return rows


def _calls(number: int, size: int) -> list[tuple[str, dict[str, Any]]]:
    status = ("in_progress", "completed", "pending")[number % 3]
    edge = "addBlocks" if number % 2 == 0 else "removeBlocks"
    return [
        ("TaskUpdate of a status", {"taskId": str(size // 2), "status": status}),
        ("TaskUpdate of an edge", {"taskId": "2", edge: [str(size)]}),
        ("TaskGet", {"taskId": str(size)}),
        ("TaskCreate", {"subject": "One more", "description": "to do"}),
    ]


def _row(what: str, by_size: dict[int, float], bar: float | None = 3.0) -> Row:
    steps = " / ".join(f"{by_size[size] * 1e3:.1f}" for size in SIZES)
    first, last = by_size[SIZES[0]], by_size[SIZES[-1]]
    ceiling = f"{first * 1e3:.2f} ms at {SIZES[0]}"
    return Row(f"plan: {what}: {steps} ms", f"{last * 1e3:.2f} ms", ceiling, last / first, bar)


async def _tools(root: Path, size: int) -> dict[str, Tool]:
    folder = root / str(size)
    folder.mkdir()
    for number in range(1, size + 1):
        task = {"id": str(number), "subject": f"Task {number}", "description": "to do"}
        task |= {"status": "pending", "blocks": [], "blockedBy": []}
        (folder / f"{number}.json").write_bytes(msgspec.json.encode(task))
    return await _of(PlanTasks(LocalFiles(root), str(size)))


async def _of(plan: PlanTasks) -> dict[str, Tool]:
    setup = RunSetup("bench", "", [], set())
    await plan.before_agent(setup)
    return {tool.name: tool for tool in setup.tools if isinstance(tool, Tool)}


async def _seconds(tools: dict[str, Tool], name: str, **arguments: object) -> float:
    tool = tools[name]
    start = perf_counter()
    done = tool.run(tool.check(arguments))
    assert isinstance(done, Awaitable)
    await done
    return perf_counter() - start


async def _tokens() -> Row:
    infos = [tool.info for tool in (await _of(PlanTasks(MemoryFiles(), "p"))).values()]
    tokens = len(msgspec.json.encode(infos)) / 4
    what = "plan: tokens of the four tools (bytes / 4)"
    return Row(what, f"{tokens:.0f}", f"{TOKENS}", tokens / TOKENS, 1)
