"""A program for test_resume: hosts the sample project's session, and kills itself on the way.

Usage: hosted.py PROJECT KILL_AT. At the KILL_AT-th sync of a file the process ends with SIGKILL, in
the middle of whatever it was doing; 0 is never. It prints the result as one line of JSON.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import anyio

from taskloom.app.project import Project
from taskloom.app.session_host import Host
from taskloom.session import SessionStore

PROJECT, KILL_AT = Path(sys.argv[1]), int(sys.argv[2])
SESSION_ID = "s1"
syncs = 0


def counted(sync: Callable[[int], None]) -> Callable[[int], None]:
    def count(fd: int) -> None:
        global syncs
        syncs += 1
        if syncs == KILL_AT:
            os.kill(os.getpid(), signal.SIGKILL)
        sync(fd)

    return count


async def main() -> None:
    project = Project(PROJECT, environ={"PATH": os.environ["PATH"]})
    async with Host(project.host_options(SessionStore(PROJECT).open(SESSION_ID))) as host:
        result = await host.work()
        told = {
            "text": result.text,
            "stop_reason": result.stop_reason,
            "released_steps": host.released_steps,
            "open": await host.open_tasks(),
            "syncs": syncs,
        }
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    os.fsync = counted(os.fsync)
    os.fdatasync = counted(os.fdatasync)
    anyio.run(main)
