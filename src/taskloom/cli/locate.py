"""Finds the project, the board and the log that a command line names."""

import os
from argparse import Namespace
from difflib import get_close_matches
from pathlib import Path

from taskloom.cli.output import note
from taskloom.errors import Code, RefusedError
from taskloom.ids import WAL_SUFFIX
from taskloom.runtime import SessionLogs, session_dir
from taskloom.text import join_limited


def find_project(args: Namespace, *, upward: bool = True) -> Path:
    """Return --project, else the nearest directory with a configuration or state, else this one.

    Raises:
        RefusedError: there is no such directory.
    """
    from taskloom.config import FILE_NAME

    start = _start(args)
    if not start.is_dir():
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"There is no directory {start}. Set --project DIR.",
            {"path": str(start)},
        )
    if args.project is None and upward:
        for folder in (start, *start.parents):
            if (folder / FILE_NAME).is_file() or (folder / args.state_dir).is_dir():
                return folder
    return start


def open_session_logs(args: Namespace) -> SessionLogs:
    """Return the logs of --session, else of the newest session.

    Raises:
        RefusedError: there is no board, or no such session.
    """
    tasks = _board_root(args) / args.state_dir / "tasks"
    sessions = _sessions(tasks)
    if not sessions:
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"There is no board at {tasks}. Set --project DIR, or give the path of a "
            f"*{WAL_SUFFIX} file.",
            {"path": str(tasks)},
        )
    return SessionLogs(
        session_dir(tasks.parent.parent, _session(args, sessions), tasks.parent.name)
    )


def find_log(args: Namespace, name: str) -> Path:
    """Return the log that `name` names.

    Raises:
        RefusedError: there is no such log.
    """
    path = as_path(name)
    if path is None:
        return find_in(open_session_logs(args), name)
    if not path.exists():
        raise RefusedError(
            Code.TASK_NOT_FOUND,
            f"There is no file {path}. Check the path.",
            {"wal_path": str(path)},
        )
    return path


def as_path(name: str) -> Path | None:
    """Return the file that `name` names; None if it can only be the name of a Task."""
    path = Path(name)
    is_path = os.sep in name or (name.endswith(WAL_SUFFIX) and path.exists())
    return path if is_path else None


def find_in(logs: SessionLogs, name: str) -> Path:
    """Return the log of a Task of this session.

    Raises:
        RefusedError: it has no such Task; the message suggests similar names.
    """
    path = logs.find(name)
    if path is not None:
        return path
    names = list(dict.fromkeys(found.task_id for found in logs.found()))
    near = get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        hint = f"Did you mean {' or '.join(near)}?"
    elif names:
        hint = f"Its Tasks are {join_limited(names)}."
    else:
        hint = "It has no Tasks."
    raise RefusedError(
        Code.TASK_NOT_FOUND,
        f"This session has no Task {name!r}. {hint}",
        {"task_id": name, "near": near},
    )


def _board_root(args: Namespace) -> Path:
    start = _start(args)
    if args.project is None:
        for folder in (start, *start.parents):
            if (folder / args.state_dir).is_dir():
                return folder
    return start


def _start(args: Namespace) -> Path:
    try:
        return Path.cwd() if args.project is None else Path(args.project)
    except OSError as cause:
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"The working directory does not exist: {cause.strerror}. Set --project DIR.",
        ) from cause


def _sessions(tasks: Path) -> list[str]:
    """Return the ids of the sessions, the one written last first."""
    try:
        folders = [folder for folder in tasks.iterdir() if _may_be_session(folder)]
    except OSError:
        return []
    written = {folder.name: _last_write(folder) for folder in folders}
    held = {name: at for name, at in written.items() if at is not None}
    return sorted(held, key=lambda name: held[name], reverse=True)


def _may_be_session(folder: Path) -> bool:
    try:
        session_dir(folder.parent, folder.name)
    except RefusedError:
        return False
    return folder.is_dir()


def _last_write(folder: Path) -> int | None:
    """Return when the newest of its logs was written; None if it has no logs."""
    try:
        with os.scandir(folder) as items:
            wals = [item for item in items if item.name.endswith(WAL_SUFFIX)]
            times = [
                wal.stat(follow_symlinks=False).st_mtime_ns
                for wal in wals
                if wal.is_file(follow_symlinks=False)
            ]
    except OSError:
        return 0  # Reading it will report the error.
    return max(times, default=None)


def _session(args: Namespace, sessions: list[str]) -> str:
    wanted: str | None = args.session
    if wanted is None:
        if len(sessions) > 1:
            note(f"session {sessions[0]}, the newest of {len(sessions)}; see --session")
        return sessions[0]
    if wanted not in sessions:
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"There is no session {wanted!r}. The sessions are {join_limited(sessions)}.",
            {"session_id": wanted, "sessions": sessions},
        )
    return wanted
