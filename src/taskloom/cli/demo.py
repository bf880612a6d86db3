"""The command that shows what all this is for: demo.

A real run on a real project, only that its models follow a script: workers search, edit and report,
a program runs the tests, and is killed with -9 the first time. The plan recovers.
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

from taskloom.app.run_setup import compose
from taskloom.app.sample_project import GOAL, write_sample
from taskloom.app.session_host import Host
from taskloom.cli.exit_codes import FINE, TROUBLE
from taskloom.cli.invocation import program_name
from taskloom.cli.output import console, print_json_line
from taskloom.cli.run import host_session
from taskloom.orchestrator import RunEvent
from taskloom.runtime import session_dir
from taskloom.runtime.read_only_log import inspect
from taskloom.session import SessionStore

SESSION_ID: Final = "demo"
TASK_ID: Final = "mend-the-shop"
_VICTIM: Final = "checker"
_PID: Final = re.compile(r"pid (\d+)")


def demo(given: Namespace) -> int:
    """Make the sample project, run it, and say what came out."""
    from taskloom.cli.watch import choose_kind, watcher

    project = Path(given.keep or tempfile.mkdtemp(prefix="taskloom-demo-")).absolute()
    write_sample(project)
    setup = compose(project, environ={"PATH": os.environ.get("PATH", "")})
    SessionStore(project).create(SESSION_ID, goal=GOAL, kind="demo")
    if not given.json:
        console().print(f"Goal: {GOAL}\nProject: {project}\n", soft_wrap=True, markup=False)
    shown = watcher(choose_kind(json=given.json, plain=given.plain))
    killer = _Killer()
    code = asyncio.run(host_session(setup, SESSION_ID, "", shown, beside=killer.begin))
    return _conclude(project, code, killed=killer.killed, as_json=given.json)


class _Killer:
    """Kills the program that runs the tests, once, in the middle of its work."""

    def __init__(self) -> None:
        self.killed = False
        self._task: asyncio.Task[None] | None = None

    def begin(self, host: Host) -> None:
        """Lie in wait."""
        self._task = asyncio.get_running_loop().create_task(self._wait(host))

    async def _wait(self, host: Host) -> None:
        orchestrator = host.orchestrator
        async with orchestrator.events() as session_events:
            async for event in session_events:
                if event.event_type == RunEvent.CHILD_CREATED.value and event.agent_id == _VICTIM:
                    assert event.run_id is not None
                    await self._kill(host, event.run_id)
                    return

    async def _kill(self, host: Host, run_id: str) -> None:
        async with host.orchestrator.output(run_id) as said:
            async for line in said:
                found = _PID.search(line) if isinstance(line, str) else None
                if found is None:
                    continue
                with suppress(ProcessLookupError):
                    os.kill(int(found[1]), signal.SIGKILL)
                    self.killed = True
                host.orchestrator.publish_output(f"[demo] killed {_VICTIM} (pid {found[1]})")
                return


def _conclude(project: Path, code: int, *, killed: bool, as_json: bool) -> int:
    wal_path = session_dir(project, SESSION_ID) / f"{TASK_ID}.wal.jsonl"
    if not wal_path.exists():
        return code or TROUBLE
    seen = inspect(wal_path)
    steps = {step.step_id: step.status.value for step in seen.view.steps}
    good = code == FINE and killed and set(steps.values()) == {"completed"}
    if as_json:
        told = {"good": good, "killed": killed, "steps": steps, "project": str(project)}
        print_json_line({"type": "demo", **told})
        return FINE if good else code or TROUBLE
    out = console()
    report = project / "REPORT.md"
    if good:
        out.print(
            f"\nAll {len(steps)} steps are done, though a worker was killed in the middle. "
            f"The whole story is in the log: {seen.last_seq} events.",
            markup=False,
        )
    if report.exists():
        out.print(f"\n{report}:\n{report.read_text('utf-8')}", soft_wrap=True, markup=False)
    out.print("Look around in it:")
    where = ("--project", str(project))
    middle = str((seen.last_seq + 1) // 2)
    for verb, *rest in (
        ("show",),
        ("log",),
        ("replay", "--at", middle),
        ("diff", middle, str(seen.last_seq)),
        ("verify",),
    ):
        words = shlex.join([program_name(), "board", verb, TASK_ID, *rest, *where])
        out.print(f"  {words}", soft_wrap=True, markup=False)
    return FINE if good else code or TROUBLE
