"""A Task of 100,000 steps: how long its creation takes, and how much memory it wants."""

import json
import subprocess
import sys
from collections.abc import Iterator
from tempfile import TemporaryDirectory

from bench.table import Row

STEPS = 100_000

_CHILD = """
import gc, json, sys, time
from pathlib import Path
from bench.boards import ORCHESTRATOR, TASK, dag, session
from taskloom.board import CreateTask

steps = dag(int(sys.argv[2]))
place = session(Path(sys.argv[1]))
command = CreateTask(task_id=TASK, wal_name=TASK, title="Big", steps=steps)
def kilobytes(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))

gc.collect()
Path("/proc/self/clear_refs").write_text("5")  # The peak begins to count here.
before = kilobytes("VmRSS")
start = time.perf_counter()
place.create(command, ORCHESTRATOR)
seconds = time.perf_counter() - start
after = kilobytes("VmHWM")
print(json.dumps([seconds, (after - before) / 1024]))
"""


def run() -> Iterator[Row]:
    """Measure in a process of its own, so that the peak is this Task's."""
    with TemporaryDirectory(dir=".") as place:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, place, str(STEPS)],
            check=True,
            capture_output=True,
            text=True,
        )
    seconds, megabytes = json.loads(done.stdout)
    yield Row(f"create {STEPS:,} steps, seconds", f"{seconds:.2f} s", "3 s", seconds, 3.0)
    yield Row(f"create {STEPS:,} steps, peak MB", f"{megabytes:.0f} MB", "100 MB", megabytes, 100)
