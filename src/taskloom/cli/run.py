"""The commands that work on a goal: run, and sessions."""

import asyncio
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from taskloom.app.run_setup import compose
from taskloom.app.session_host import Host, HostSetup
from taskloom.board import TaskStatus
from taskloom.cli.exit_codes import FINE, INTERRUPTED, TROUBLE
from taskloom.cli.find_project import find_project
from taskloom.cli.output import console, note, print_json
from taskloom.config import FILE_NAME
from taskloom.errors import Code, RefusedError
from taskloom.runtime import ListTasks
from taskloom.session import SessionStore

if TYPE_CHECKING:
    from taskloom.agent import Result
    from taskloom.cli.watch import Watcher

_LAST: Final = "last"
"""What `--resume` calls the newest session."""


def run(given: Namespace) -> int:
    """Take a goal, or go on with a session; return the exit code."""
    from taskloom.cli.watch import choose_kind, watcher

    project = Path(given.project or ".").absolute()
    if not project.is_dir():
        raise RefusedError(Code.VALIDATION_ERROR, f"There is no directory {project}.")
    _check(given, project)
    _hint_at_config_above(given, project)
    shown = watcher(choose_kind(json=given.json, plain=given.plain))
    setup = compose(
        project,
        ask=shown.ask,
        yes=given.yes,
        model_name=given.model or "",
        state_dir=given.state_dir,
    )
    session_id, more = open_session(given, setup)
    return asyncio.run(host_session(setup, session_id, more, shown))


def _hint_at_config_above(given: Namespace, project: Path) -> None:
    """Say so when a run begins below the project that was perhaps meant; nothing is guessed."""
    if given.project is not None or (project / FILE_NAME).exists():
        return
    above = next((each for each in project.parents if (each / FILE_NAME).is_file()), None)
    if above is not None:
        note(f"{above / FILE_NAME} is not used here; for that project: --project {above}")


def _check(given: Namespace, project: Path) -> None:
    """See that what was typed can be meant, before anything is written.

    Raises:
        RefusedError: it cannot.
    """
    if _is_no_text(" ".join(given.goal)):
        raise RefusedError(
            Code.VALIDATION_ERROR, "The goal is no text: some of its bytes are not UTF-8."
        )
    if given.resume is not None and given.session is not None:
        raise RefusedError(
            Code.VALIDATION_ERROR, "--session names a new session, --resume one that is there."
        )
    if given.session == _LAST:
        raise RefusedError(
            Code.VALIDATION_ERROR, f"{_LAST!r} is what --resume calls the newest session."
        )
    state = Path(given.state_dir)
    if ".." in state.parts or (project / state).resolve() == project.resolve():
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"--state-dir {given.state_dir!r} is no directory of its own inside the project.",
        )


def _is_no_text(words: str) -> bool:
    try:
        words.encode()
    except UnicodeEncodeError:
        return True
    return False


def open_session(given: Namespace, setup: HostSetup) -> tuple[str, str]:
    """Return the session that is meant, made if it is new, and what is said to it besides."""
    goal = " ".join(given.goal).strip()
    if given.resume is None:
        if not goal:
            raise RefusedError(
                Code.VALIDATION_ERROR,
                'Say what shall be done: taskloom run "…", or go on with a session: '
                "taskloom run --resume SESSION",
            )
        store = SessionStore(setup.project, setup.state_dir)
        return store.create(given.session or "", goal=goal).session_id, ""
    session_id = given.resume
    if session_id == _LAST:
        known = SessionStore(setup.project, setup.state_dir).list()
        known = [session for session in known if session.info.kind == "run"]
        if not known:
            raise RefusedError(Code.VALIDATION_ERROR, "There is no session here to go on with.")
        session_id = known[0].session_id
    return session_id, goal


async def host_session(
    setup: HostSetup,
    session_id: str,
    more: str,
    shown: "Watcher",
    *,
    beside: Callable[[Host], None] | None = None,
) -> int:
    """Host a session until its Orchestrator is done or somebody quits; return the exit code."""
    async with Host(setup, session_id) as host:
        if beside is not None:
            beside(host)
        result = await shown.show(host, lambda: host.work(more))
        good = await _ended_well(host)
    return _exit_code(result, good=good)


async def _ended_well(host: Host) -> bool:
    """Tell whether every Task of the session has ended, and none of them badly."""
    actor = host.board.orchestrator(host.orchestrator.agent_id, run_id="run_host")
    page = await host.board.list(actor, ListTasks(include_terminal=True, limit=1_000))
    return all(line.status == TaskStatus.COMPLETED for line in page.tasks)


def _exit_code(result: "Result", *, good: bool) -> int:
    if result.stop_reason == "cancelled":
        return INTERRUPTED
    return FINE if result.error is None and good else TROUBLE


def sessions(given: Namespace) -> int:
    """List the sessions of a project."""
    found = [one.info for one in SessionStore(find_project(given), given.state_dir).list()]
    if given.json:
        print_json(found)
        return FINE
    if not found:
        console().print('No sessions here yet. Begin one: taskloom run "…"')
    for info in found:
        goal = " ".join(info.goal.split())
        console().print(
            f"{info.session_id}  {info.created_at:%Y-%m-%d %H:%M}  {goal[:100]}", markup=False
        )
    return FINE
