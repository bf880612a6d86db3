"""A process to be killed: it changes a board as fast as it can and says what was acknowledged.

`victim.py PROJECT BATCH`: claims are decided in batches that share one sync, and after each
sync the last acknowledged line number is written to standard output.
"""

import os
import sys
from pathlib import Path
from typing import Final

from taskloom.board import Actor, Command, CreateTask, NewStep, Role, UpdateStep
from taskloom.log import JsonlLog
from taskloom.runtime import Session, session_dir

BOSS: Final = Actor(agent_id="boss", run_id="boss-1", session_id="s1", role=Role.ORCHESTRATOR)
STEPS: Final = 8


def note(number: int) -> Command:
    """A change of one line that can be made again and again."""
    return UpdateStep(
        task_id="plan", step_id=f"s{number % STEPS}", result_summary=f"note {number} " + "x" * 120
    )


def main() -> None:
    """Work until killed."""
    project, batch = Path(sys.argv[1]), int(sys.argv[2])
    session = Session(JsonlLog(session_dir(project, "s1")), "s1")
    session.resume()
    if not session.found():
        steps = tuple(NewStep(step_id=f"s{n}", title="Step") for n in range(STEPS))
        session.create(CreateTask(task_id="plan", wal_name="plan", title="P", steps=steps), BOSS)
    desk = session.desk("plan")
    number = 0
    while True:
        ticket = None
        for _ in range(batch):
            ticket = desk.offer(note(number), BOSS)
            number += 1
        assert ticket is not None
        desk.settle(ticket)
        os.write(1, b"%d\n" % ticket.seq)


if __name__ == "__main__":
    main()
