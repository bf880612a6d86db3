"""Starting: the library beside a bare interpreter, and the program's help."""

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
    shown: list[float] = []
    for _ in range(ROUNDS):
        bare.append(_time([sys.executable, "-c", "pass"]))
        library.append(_time([sys.executable, "-c", "import taskloom"]))
        shown.append(_time([program, "--help"]))
    over = (median(library) - median(bare)) * 1000
    yield Row(
        "import taskloom, ms over the interpreter",
        f"{over:.0f} ms",
        f"{median(bare) * 1000:.0f} ms",
        over,
        60,
    )
    help_ms = median(shown) * 1000
    yield Row("taskloom --help, ms", f"{help_ms:.0f} ms", "200 ms", help_ms, 200)


def _time(words: list[str]) -> float:
    start = perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return perf_counter() - start
