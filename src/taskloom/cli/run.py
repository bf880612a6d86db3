"""`taskloom run` and `taskloom sessions`."""

import asyncio
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from taskloom.app.project import Project
from taskloom.app.session_host import Host, HostOptions
from taskloom.board import TaskStatus
from taskloom.cli.exit_codes import FAILED, INTERRUPTED, OK
from taskloom.cli.locate import find_project
from taskloom.cli.output import console, note, print_json
from taskloom.config import FILE_NAME
from taskloom.errors import Code, RefusedError
from taskloom.runtime import ListTasks
from taskloom.session import SessionDirectory, SessionStore
from taskloom.view.format import one_line

if TYPE_CHECKING:
    from taskloom.agent import Result
    from taskloom.cli.watch import Watcher

_LAST: Final = "last"
"""What `--resume` calls the newest session."""


def run(args: Namespace) -> int:
    """Run a goal or resume a session; return the exit code."""
    from taskloom.cli.watch import choose_kind, new_watcher

    project = Path(args.project or ".").absolute()
    if not project.is_dir():
        raise RefusedError(
            Code.VALIDATION_ERROR, f"There is no directory {project}. Set --project DIR."
        )
    _check(args, project)
    _note_config_above(args, project)
    watcher = new_watcher(choose_kind(json=args.json, plain=args.plain))
    composed = Project(project, model_name=args.model or "")
    composed.model()  # A model that cannot be used is reported before a session is created.
    session, message = open_session(args, SessionStore(project, args.state_dir))
    options = composed.host_options(session, asker=watcher.asker, allow_all=args.yes)
    return asyncio.run(host_session(options, message, watcher))


def _note_config_above(args: Namespace, project: Path) -> None:
    """Print a note when a directory above has a configuration, which this run does not use."""
    if args.project is not None or (project / FILE_NAME).exists():
        return
    above = next((each for each in project.parents if (each / FILE_NAME).is_file()), None)
    if above is not None:
        note(f"{above / FILE_NAME} is not used; use --project {above} to run that project")


def _check(args: Namespace, project: Path) -> None:
    """Check the arguments before anything is written.

    Raises:
        RefusedError: they contradict each other, or a value is not valid.
    """
    if not _is_utf8(" ".join(args.goal)):
        raise RefusedError(
            Code.VALIDATION_ERROR, "The goal is not valid UTF-8. Write it as UTF-8 text."
        )
    if args.resume is not None and args.session is not None:
        raise RefusedError(
            Code.VALIDATION_ERROR,
            "--session names a new session and --resume an existing one. Use one of them.",
        )
    if args.session == _LAST:
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"{_LAST!r} is reserved for --resume. Choose another id for --session.",
        )
    state = Path(args.state_dir)
    if ".." in state.parts or (project / state).resolve() == project.resolve():
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"--state-dir {args.state_dir!r} must name a directory inside the project.",
        )


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def open_session(args: Namespace, store: SessionStore) -> tuple[SessionDirectory, str]:
    """Return the session, created if it is new, and the message to send to a resumed one."""
    goal = " ".join(args.goal).strip()
    if args.resume is None:
        if not goal:
            raise RefusedError(
                Code.VALIDATION_ERROR,
                'Give a goal: taskloom run "…", or resume a session: taskloom run --resume SESSION',
            )
        return store.create(args.session or "", goal=goal), ""
    session_id = args.resume
    if session_id == _LAST:
        known = [session for session in store.list() if session.info.kind == "run"]
        if not known:
            raise RefusedError(
                Code.VALIDATION_ERROR,
                'There is no session to resume. Start one: taskloom run "…"',
            )
        return known[0], goal
    return store.open(session_id), goal


async def host_session(
    options: HostOptions,
    message: str,
    watcher: "Watcher",
    *,
    on_start: Callable[[Host], None] | None = None,
) -> int:
    """Host a session until its Orchestrator ends or the user quits; return the exit code."""
    async with Host(options) as host:
        if on_start is not None:
            on_start(host)
        result = await watcher.show(host, lambda: host.work(message))
        succeeded = await _all_completed(host)
    return _exit_code(result, succeeded=succeeded)


async def _all_completed(host: Host) -> bool:
    """Return whether every Task of the session is completed."""
    actor = host.board.orchestrator(host.orchestrator.agent_id, run_id="run_host")
    page = await host.board.list(actor, ListTasks(include_terminal=True, limit=1_000))
    return all(line.status == TaskStatus.COMPLETED for line in page.tasks)


def _exit_code(result: "Result", *, succeeded: bool) -> int:
    if result.stop_reason == "cancelled":
        return INTERRUPTED
    return OK if result.error is None and succeeded else FAILED


def sessions(args: Namespace) -> int:
    """List the sessions of a project."""
    found = [one.info for one in SessionStore(find_project(args), args.state_dir).list()]
    if args.json:
        print_json(found)
        return OK
    if not found:
        console().print('No sessions yet. Start one: taskloom run "…"')
    for info in found:
        goal = one_line(info.goal, 100)
        console().print(
            f"{info.session_id}  {info.created_at:%Y-%m-%d %H:%M}  {goal}", markup=False
        )
    return OK
