"""`taskloom demo`: a whole run on a sample project, without a network.

The models follow a script; everything else is real. Workers search, edit and report, a program runs
the tests and is killed with SIGKILL the first time. The plan recovers.
"""

import asyncio
import os
import re
import shlex
import signal
import tempfile
from argparse import Namespace
from contextlib import suppress
from pathlib import Path
from typing import Final

from taskloom.app.project import Project
from taskloom.app.sample_project import GOAL, write_sample
from taskloom.app.session_host import Host
from taskloom.cli.exit_codes import FAILED, OK
from taskloom.cli.invocation import program_name
from taskloom.cli.output import console, print_json_line
from taskloom.cli.run import host_session
from taskloom.orchestrator import RunEvent
from taskloom.runtime import inspect, session_dir
from taskloom.session import SessionStore

SESSION_ID: Final = "demo"
TASK_ID: Final = "fix-the-shop"
_TARGET: Final = "checker"
_PID: Final = re.compile(r"pid (\d+)")


def demo(args: Namespace) -> int:
    """Write the sample project, run it, and report the result."""
    from taskloom.cli.watch import choose_kind, new_watcher

    project = Path(args.keep or tempfile.mkdtemp(prefix="taskloom-demo-")).absolute()
    write_sample(project)
    session = SessionStore(project).create(SESSION_ID, goal=GOAL, kind="demo")
    environ = {"PATH": os.environ.get("PATH", "")}
    options = Project(project, environ=environ).host_options(session)
    if not args.json:
        console().print(f"Goal: {GOAL}\nProject: {project}\n", soft_wrap=True, markup=False)
    watcher = new_watcher(choose_kind(json=args.json, plain=args.plain))
    killer = _Killer()
    code = asyncio.run(host_session(options, "", watcher, on_start=killer.start))
    return _report(project, code, killed=killer.killed, as_json=args.json)


class _Killer:
    """Kills the program that runs the tests, once, while it works."""

    def __init__(self) -> None:
        self.killed = False
        self._task: asyncio.Task[None] | None = None

    def start(self, host: Host) -> None:
        """Start waiting for the program."""
        self._task = asyncio.get_running_loop().create_task(self._wait(host))

    async def _wait(self, host: Host) -> None:
        orchestrator = host.orchestrator
        async with orchestrator.events() as session_events:
            async for event in session_events:
                if event.event_type == RunEvent.CHILD_CREATED.value and event.agent_id == _TARGET:
                    assert event.run_id is not None
                    await self._kill(host, event.run_id)
                    return

    async def _kill(self, host: Host, run_id: str) -> None:
        async with host.orchestrator.output(run_id) as output:
            async for line in output:
                found = _PID.search(line) if isinstance(line, str) else None
                if found is None:
                    continue
                with suppress(ProcessLookupError):
                    os.kill(int(found[1]), signal.SIGKILL)
                    self.killed = True
                host.orchestrator.publish_output(f"[demo] killed {_TARGET} (pid {found[1]})")
                return


def _report(project: Path, code: int, *, killed: bool, as_json: bool) -> int:
    wal_path = session_dir(project, SESSION_ID) / f"{TASK_ID}.wal.jsonl"
    if not wal_path.exists():
        return code or FAILED
    inspection = inspect(wal_path)
    steps = {step.step_id: step.status.value for step in inspection.view.steps}
    succeeded = code == OK and killed and set(steps.values()) == {"completed"}
    if as_json:
        verdict = {
            "succeeded": succeeded,
            "killed": killed,
            "steps": steps,
            "project": str(project),
        }
        print_json_line({"type": "demo", **verdict})
        return OK if succeeded else code or FAILED
    out = console()
    report = project / "REPORT.md"
    if succeeded:
        out.print(
            f"\nAll {len(steps)} steps are completed, although a worker was killed. "
            f"The log has all {inspection.last_seq} events.",
            markup=False,
        )
    if report.exists():
        out.print(f"\n{report}:\n{report.read_text('utf-8')}", soft_wrap=True, markup=False)
    out.print("Inspect the board:")
    where = ("--project", str(project))
    middle = str((inspection.last_seq + 1) // 2)
    for verb, *rest in (
        ("show",),
        ("log",),
        ("replay", "--at", middle),
        ("diff", middle, str(inspection.last_seq)),
        ("verify",),
    ):
        command = shlex.join([program_name(), "board", verb, TASK_ID, *rest, *where])
        out.print(f"  {command}", soft_wrap=True, markup=False)
    return OK if succeeded else code or FAILED
