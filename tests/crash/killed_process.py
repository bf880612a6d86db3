"""Processes to be killed: they change a board as fast as they can and report what is durable.

For each line `PROJECT BATCH ACKS WATCH` on its standard input this program forks a child, which
makes changes in batches that share one sync and reports the last acknowledged line over a pipe.
After so many reports the program kills it with -9, at once or, if
it watches, as soon as the log grows again, in the middle of a write. It answers with the last
line number that was acknowledged. Forking saves starting Python for each kill.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Final

from taskloom.board import Actor, Command, CreateTask, NewStep, Role, UpdateStep
from taskloom.log import JsonlLog
from taskloom.runtime import TaskWriters, session_dir

BOSS: Final = Actor(agent_id="boss", run_id="boss-1", session_id="s1", role=Role.ORCHESTRATOR)
STEPS: Final = 8
LOOKS_MAX: Final = 2_000_000


def note(number: int) -> Command:
    """A change of one line that can be made again and again."""
    return UpdateStep(
        task_id="plan", step_id=f"s{number % STEPS}", result_summary=f"note {number} " + "x" * 120
    )


def work(project: Path, batch: int, pipe: int) -> None:
    """Work until killed."""
    session = TaskWriters(JsonlLog(session_dir(project, "s1")), "s1")
    session.resume()
    if not session.found():
        steps = tuple(NewStep(step_id=f"s{n}", title="Step") for n in range(STEPS))
        session.create(CreateTask(task_id="plan", wal_name="plan", title="P", steps=steps), BOSS)
    writer = session.writer("plan")
    number = 0
    while True:
        pending = writer.submit(note(number), BOSS)
        for more in range(number + 1, number + batch):
            pending = writer.submit(note(more), BOSS)
        number += batch
        writer.commit(pending)
        os.write(pipe, b"%d\n" % pending.seq)


def kill_one(project: Path, batch: int, acks: int, *, watch: bool) -> int:
    """Let one child work until it has reported so often, then kill it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work(project, batch, writing)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        lines = [said.readline() for _ in range(acks)]
        path = session_dir(project, "s1") / "plan.wal.jsonl"
        size = path.stat().st_size
        for _ in range(LOOKS_MAX if watch else 0):
            if path.stat().st_size != size:
                break
        os.kill(child, signal.SIGKILL)
        lines += said.readlines()
    os.waitpid(child, 0)
    return max(int(line) for line in lines if line.endswith(b"\n"))


def main() -> None:
    """Kill as asked."""
    for line in sys.stdin:
        project, batch, acks, watch = line.split()
        last = kill_one(Path(project), int(batch), int(acks), watch=watch == "1")
        sys.stdout.write(f"{last}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
