"""Opening a session with 1,000 ended Tasks, against reading the ends of 1,000 files."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from bench.boards import ORCHESTRATOR, create, session
from bench.table import Row
from taskloom import NewStep, SyncBoard
from taskloom.board import CancelTask
from taskloom.runtime import ListTasks

LOGS = 1_000


def run() -> Iterator[Row]:
    """Measure."""
    with TemporaryDirectory(dir=".") as name:
        place = Path(name)
        _write(place)
        files = sorted(place.rglob("*.wal.jsonl"))
        bare = min(_read_ends(files) for _ in range(3))
        opened: list[float] = []
        listed: list[float] = []
        for _ in range(3):
            start = perf_counter()
            with SyncBoard(session(place)) as board:
                opened.append(perf_counter() - start)
                start = perf_counter()
                board.list(ORCHESTRATOR, ListTasks(include_terminal=True))
                listed.append(perf_counter() - start)
    yield Row(
        f"open a session with {LOGS:,} ended Tasks, seconds",
        f"{min(opened):.3f} s",
        f"{bare:.3f} s",
        min(opened),
        0.3,
    )
    yield Row(f"list 50 of {LOGS:,} ended Tasks", f"{min(listed):.3f} s", "")


def _write(place: Path) -> None:
    board = session(place)
    steps = tuple(NewStep(step_id=f"s{at}", title=f"Step {at}") for at in range(10))
    for number in range(LOGS):
        writer = create(board, steps, f"task-{number}")
        writer.send(CancelTask(task_id=f"task-{number}"), ORCHESTRATOR)
    board.close()


def _read_ends(files: list[Path]) -> float:
    start = perf_counter()
    for path in files:
        fd = os.open(path, os.O_RDONLY)
        size = os.fstat(fd).st_size
        os.pread(fd, 8192, max(0, size - 8192))
        os.close(fd)
    return perf_counter() - start
