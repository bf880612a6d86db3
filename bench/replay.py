"""Replay of a whole log, against decoding the same lines and nothing else."""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import msgspec

from bench.boards import create, dag, session, work_through
from bench.table import Row
from taskloom.board import Task
from taskloom.log import JsonlLog, Wal
from taskloom.runtime import restore

SIZES = (10_000, 100_000, 1_000_000)
REPEATS = 3


def run() -> Iterator[Row]:
    """Measure."""
    per_event: list[float] = []
    for events in SIZES:
        written, replay, alone = _measure(events)
        per_event.append(replay / written)
        yield Row(
            f"replay of {written:,} events, against msgspec.json.decode",
            f"{written / replay:,.0f}/s",
            f"{written / alone:,.0f}/s",
            alone / replay,
            0.4,
            at_least=True,
        )
    yield Row(
        f"replay, cost of an event at {SIZES[-1]:,} against {SIZES[0]:,}",
        f"{per_event[-1] * 1e6:.2f} us",
        f"{per_event[0] * 1e6:.2f} us",
        per_event[-1] / per_event[0],
        1.5,
    )


def _measure(events: int) -> tuple[int, float, float]:
    """Return the number of events, and the seconds for replay and for decoding alone."""
    decode = msgspec.json.Decoder().decode
    with TemporaryDirectory(dir=".") as name:
        place = Path(name)
        written = _write(place, events)
        lines = next(place.rglob("*.wal.jsonl")).read_bytes().splitlines()
        replay = _best(lambda: _replay(place))
        alone = _best(lambda: _each(decode, lines))
    return written, replay, alone


def _write(place: Path, events: int) -> int:
    """Write a log of about that many events: a plan that is worked through, eight events a step."""
    writer = create(session(place), dag(events // 8))
    work_through(writer, notes=4)
    total = writer.ask(lambda task, _: task.seq)
    writer.close()
    return total


def _replay(place: Path) -> Task:
    wal: Wal = JsonlLog(place / "tasks" / "s1").open("build-the-thing")
    task = restore(wal, None)
    wal.close()
    return task


def _each(decode: Callable[[bytes], object], lines: list[bytes]) -> None:
    for line in lines:
        decode(line)


def _best(call: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(REPEATS):
        gc.collect()
        gc.disable()
        start = perf_counter()
        result = call()
        times.append(perf_counter() - start)
        del result  # Freeing a Task of a million events is no part of reading it.
        gc.enable()
    return min(times)
