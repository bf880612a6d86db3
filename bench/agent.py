"""The agent loop beside a bare hand-written one, in CPU time and with an instant model.

Every figure is the best of several alternating rounds: other programs on the machine can only
make a round slower, never faster.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from bench.bare_agent import RESULT, Model, bare_loop, bare_stream, look
from bench.table import Row
from taskloom.agent import (
    Agent,
    Delta,
    Message,
    Middleware,
    ModelHandler,
    ModelRequest,
    Result,
    RunSetup,
    State,
    ToolHandler,
    ToolRequest,
)

ROUNDS = 15
LONG = 200
CHUNKS = 2000
AGENTS = 100
MODEL_S = 0.05


class Noop(Middleware):
    """Every hook that a text tool's run has, doing nothing."""

    async def before_agent(self, setup: RunSetup) -> None: ...

    async def before_model(self, state: State) -> State | None: ...

    async def wrap_model(self, request: ModelRequest, call: ModelHandler) -> Message:
        return await call(request)

    async def after_model(self, state: State) -> State | None: ...

    async def wrap_tool_call(self, request: ToolRequest, call: ToolHandler) -> str:
        return await call(request)

    async def after_agent(self, result: Result) -> None: ...


def run() -> Iterator[Row]:
    """Measure."""
    yield from asyncio.run(_loop())
    yield asyncio.run(_journalled())
    yield from asyncio.run(_growth())
    yield asyncio.run(_chunk())
    yield asyncio.run(_crowd())


def agent(turns: int, middleware: int = 0) -> Agent:
    """Return an agent that makes so many tool calls."""
    noops = [Noop() for _ in range(middleware)]
    return Agent(Model(turns), [look], noops, max_iterations=turns + 1)


async def _best(*work: Callable[[], Awaitable[object]]) -> list[float]:
    """Return the least CPU seconds of each, measured in turn."""
    best = [float("inf")] * len(work)
    for _ in range(ROUNDS):
        for place, one in enumerate(work):
            start = process_time()
            await one()
            best[place] = min(best[place], process_time() - start)
    return best


async def _loop() -> list[Row]:
    rows: list[Row] = []
    for turns in (10, LONG):
        plain, hooked, more = agent(turns), agent(turns, 1), agent(turns, 5)
        works = (
            lambda turns=turns: bare_loop(turns),
            *(lambda one=one: one.invoke("go") for one in (plain, hooked, more)),
        )
        bare, ours, one, five = (seconds / turns * 1e6 for seconds in await _best(*works))
        name = f"agent: an iteration, N={turns}"
        rows.append(Row(name, f"{ours:.1f} us", f"{bare:.1f} us", ours / bare, 10))
    # Of the long runs, where one run's beginning and end do not count.
    rows.append(Row("agent: the first no-op middleware, 6 hooks", f"{one - ours:.1f} us", ""))
    extra = (five - one) / 4
    rows.append(Row("agent: one more no-op middleware", f"{extra:.1f} us", "10 us", extra / 10, 1))
    return rows


class BarePair:
    """A tool that writes and syncs the bytes of one iteration's journal twice, without an agent.

    One such pair runs within every iteration, so both are measured on the same disk at the same
    moment; the time of the pair is taken out of the iteration's.
    """

    def __init__(self, path: Path, writes: tuple[bytes, bytes]) -> None:
        """Open the file; `writes` are what one iteration appends, sync by sync."""
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._writes = writes
        self._ended = 0.0
        self.iterations: list[float] = []
        self.pairs: list[float] = []

    async def look(self, q: str) -> str:
        """Look something up."""
        assert q
        started = perf_counter()
        if self._ended:
            self.iterations.append(started - self._ended)
        for data in self._writes:
            os.write(self._fd, data)
            os.fdatasync(self._fd)
        self._ended = perf_counter()
        self.pairs.append(self._ended - started)
        return RESULT

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


async def _journalled() -> Row:
    ours: list[float] = []
    bare: list[float] = []
    with TemporaryDirectory(dir=".") as name:
        place = Path(name)
        await agent(3).invoke("go", journal=place / "sample.jsonl")
        writes = _writes(place / "sample.jsonl")
        for number in range(7):
            pair = BarePair(place / "bare", writes)
            looking = Agent(Model(LONG), [pair.look], max_iterations=LONG + 1)
            await looking.invoke("go", journal=place / f"{number}.jsonl")
            pair.close()
            ours.append(median(pair.iterations) * 1e6)
            bare.append(median(pair.pairs) * 1e6)
    what = "agent: a journalled iteration, two syncs"
    return Row(what, f"{min(ours):.0f} us", f"{min(bare):.0f} us", min(ours) / min(bare), 1.5)


def _writes(journal: Path) -> tuple[bytes, bytes]:
    """Return what the second iteration appended in each of its syncs."""
    transactions: list[bytes] = [b""]
    for line in journal.read_bytes().splitlines(keepends=True):
        transactions[-1] += line
        number, size, _ = json.loads(line)["tx"]
        if number == size:
            transactions.append(b"")
    return transactions[3], transactions[4]


class Stamps:
    """A tool that notes the CPU time of each of its calls."""

    def __init__(self) -> None:
        self.times: list[float] = []

    async def look(self, q: str) -> str:
        """Look something up."""
        assert q
        self.times.append(process_time())
        return RESULT


async def _growth() -> list[Row]:
    rows: list[Row] = []
    with TemporaryDirectory(dir=".") as place:
        for name, journals in (("in memory", False), ("with the journal", True)):
            ratio = await _ratio(Path(place), journals=journals)
            what = f"agent: last against first 20 of {LONG} iterations, {name}"
            rows.append(Row(what, f"{ratio:.2f} x", "", ratio, 1.1))
        size = _size(Path(place)) / 1000
        what = f"agent: journal of {LONG} calls with results of {len(RESULT)}"
        rows.append(Row(what, f"{size:.0f} kB", "150 kB", size / 150, 1))
    return rows


def _size(place: Path) -> int:
    return next(place.glob("*.jsonl")).stat().st_size


async def _ratio(place: Path, *, journals: bool) -> float:
    """Return how much more the last 20 iterations take than the first 20; best of each."""
    first: list[float] = []
    last: list[float] = []
    for number in range(7 if journals else ROUNDS):
        stamps = Stamps()
        looking = Agent(Model(LONG), [stamps.look], max_iterations=LONG + 1)
        await looking.invoke("go", journal=place / f"{number}.jsonl" if journals else None)
        steps = [
            after - before for before, after in zip(stamps.times, stamps.times[1:], strict=False)
        ]
        # The very first steps compile what is compiled lazily.
        first.append(median(steps[5:25]))
        last.append(median(steps[-20:]))
    return min(last) / min(first)


class Talker:
    """A model that streams one long reply."""

    name = "talker"

    async def generate(self, request: ModelRequest) -> Message:
        """Say it piece by piece."""
        assert request.on_delta is not None
        for _ in range(CHUNKS):
            await request.on_delta(Delta(text="word "))
        return Message.assistant("word " * CHUNKS)


async def _chunk() -> Row:
    async def listen() -> None:
        async for _ in Agent(Talker()).run("go"):
            pass

    bare, ours = (
        seconds / CHUNKS * 1e6 for seconds in await _best(lambda: bare_stream(CHUNKS), listen)
    )
    return Row("agent: a streamed chunk", f"{ours:.2f} us", f"{bare:.2f} us; 10 us", ours / 10, 1)


async def _crowd() -> Row:
    """A hundred runs of ten iterations at once, wall time; the ideal is 11 model calls long."""
    crowd = Agent(Model(10, delay_s=MODEL_S), [look])
    best = float("inf")
    for _ in range(3):
        start = perf_counter()
        await asyncio.gather(*(crowd.invoke("go") for _ in range(AGENTS)))
        best = min(best, perf_counter() - start)
    what = f"agent: {AGENTS} at once, 10 iterations, {MODEL_S * 1000:.0f} ms model"
    return Row(what, f"{best:.3f} s", f"ideal {11 * MODEL_S:.2f} s", best / 0.65, 1)
