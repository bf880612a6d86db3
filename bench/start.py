"""Starting: the library beside a bare interpreter, and the program's help."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from time import perf_counter

from bench.table import Row

ROUNDS = 15


def run() -> Iterator[Row]:
    """Measure, bare and library in turn."""
    program = str(Path(sys.executable).with_name("taskloom"))
    bare: list[float] = []
    library: list[float] = []
    loop: list[float] = []
    board: list[float] = []
    shown: list[float] = []
    for _ in range(2):
        _time([sys.executable, "-c", "from taskloom import open_board"])
    for _ in range(ROUNDS):
        bare.append(_time([sys.executable, "-c", "pass"]))
        library.append(_time([sys.executable, "-c", "import taskloom"]))
        loop.append(_cpu([sys.executable, "-c", "import asyncio"]))
        board.append(_cpu([sys.executable, "-c", "from taskloom import open_board"]))
        shown.append(_time([program, "--help"]))
    over = (median(library) - median(bare)) * 1000
    yield Row(
        "import taskloom, ms over the interpreter",
        f"{over:.0f} ms",
        f"{median(bare) * 1000:.0f} ms",
        over,
        60,
    )
    # Other programs can only make it more: the least is the truest.
    asyncio_ms, board_ms = min(loop) * 1000, min(board) * 1000
    yield Row(
        "from taskloom import open_board, CPU ms over import asyncio",
        f"{board_ms - asyncio_ms:.0f} ms",
        f"{asyncio_ms:.0f} ms",
        board_ms - asyncio_ms,
        100,
    )
    help_ms = median(shown) * 1000
    yield Row("taskloom --help, ms", f"{help_ms:.0f} ms", "200 ms", help_ms, 200)


def _time(words: list[str]) -> float:
    start = perf_counter()
    _run(words)
    return perf_counter() - start


def _cpu(words: list[str]) -> float:
    """Return the seconds of CPU that a program takes: what else runs here matters less to it."""
    before = getrusage(RUSAGE_CHILDREN)
    _run(words)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _run(words: list[str]) -> None:
    # As on a user's machine: modules are compiled once and kept.
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env=plain)
