"""Starting: the library beside a bare interpreter, and the program's help."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

from bench.table import Row

ROUNDS = 15


def run() -> Iterator[Row]:
    """Measure, bare and library in turn."""
    program = str(Path(sys.executable).with_name("taskloom"))
    bare: list[float] = []
    library: list[float] = []
    used: list[float] = []
    shown: list[float] = []
    for _ in range(2):
        _time([sys.executable, "-c", "from taskloom import open_board"])
    for _ in range(ROUNDS):
        bare.append(_time([sys.executable, "-c", "pass"]))
        library.append(_time([sys.executable, "-c", "import taskloom"]))
        used.append(_time([sys.executable, "-c", "from taskloom import open_board"]))
        shown.append(_time([program, "--help"]))
    over = (median(library) - median(bare)) * 1000
    yield Row(
        "import taskloom, ms over the interpreter",
        f"{over:.0f} ms",
        f"{median(bare) * 1000:.0f} ms",
        over,
        60,
    )
    yield Row(
        "from taskloom import open_board, ms over the interpreter",
        f"{(median(used) - median(bare)) * 1000:.0f} ms",
        "",
    )
    help_ms = median(shown) * 1000
    yield Row("taskloom --help, ms", f"{help_ms:.0f} ms", "200 ms", help_ms, 200)


def _time(words: list[str]) -> float:
    # As on a user's machine: modules are compiled once and kept.
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    start = perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env=plain)
    return perf_counter() - start
