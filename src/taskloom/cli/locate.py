"""Where the board is, and which log a word on the command line means."""

import os
from argparse import Namespace
from difflib import get_close_matches
from pathlib import Path

from taskloom.cli.output import note
from taskloom.errors import Code, RefusedError
from taskloom.ids import WAL_SUFFIX
from taskloom.runtime import session_dir
from taskloom.runtime.log_verification import LogSurvey
from taskloom.text import join_limited


def open_survey(given: Namespace) -> LogSurvey:
    """Return the session that was asked for, or the one that was meant.

    Raises:
        RefusedError: There is no board, or no such session.
    """
    tasks = _project(given) / given.state_dir / "tasks"
    sessions = _sessions(tasks)
    if not sessions:
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"There is no board at {tasks}. --project DIR says where it is; the path of a "
            f"*{WAL_SUFFIX} file works anywhere.",
            {"path": str(tasks)},
        )
    return LogSurvey(session_dir(tasks.parent.parent, _session(given, sessions), tasks.parent.name))


def find_log(given: Namespace, word: str) -> Path:
    """Return the log that `word` means.

    Raises:
        RefusedError: There is none.
    """
    path = as_path(word)
    if path is None:
        return find_in(open_survey(given), word)
    if not path.exists():
        raise RefusedError(
            Code.TASK_NOT_FOUND, f"There is no file {path}.", {"wal_path": str(path)}
        )
    return path


def as_path(word: str) -> Path | None:
    """Return the file that `word` names, None if it can only be the name of a Task."""
    path = Path(word)
    is_path = os.sep in word or (word.endswith(WAL_SUFFIX) and path.exists())
    return path if is_path else None


def find_in(survey: LogSurvey, word: str) -> Path:
    """Return the log of a Task of this session.

    Raises:
        RefusedError: It has no such Task; the answer names some that sound alike.
    """
    path = survey.find(word)
    if path is not None:
        return path
    names = list(dict.fromkeys(found.task_id for found in survey.found()))
    near = get_close_matches(word, names, n=3, cutoff=0.5)
    if near:
        hint = f"Did you mean {' or '.join(near)}?"
    elif names:
        hint = f"There are: {join_limited(names)}."
    else:
        hint = "It has none."
    raise RefusedError(
        Code.TASK_NOT_FOUND,
        f"This session has no Task {word!r}. {hint}",
        {"task_id": word, "near": near},
    )


def _project(given: Namespace) -> Path:
    if given.project is not None:
        return Path(given.project)
    here = _here()
    for folder in (here, *here.parents):
        if (folder / given.state_dir).is_dir():
            return folder
    return here


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as cause:
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"There is no working directory any more: {cause.strerror}. --project DIR says where "
            "the board is.",
        ) from cause


def _sessions(tasks: Path) -> list[str]:
    """Return the sessions' names, the one that was written to last first."""
    try:
        folders = [folder for folder in tasks.iterdir() if _may_be_session(folder)]
    except OSError:
        return []
    touched = {folder.name: _touched(folder) for folder in folders}
    held = {name: at for name, at in touched.items() if at is not None}
    return sorted(held, key=lambda name: held[name], reverse=True)


def _may_be_session(folder: Path) -> bool:
    try:
        session_dir(folder.parent, folder.name)
    except RefusedError:
        return False
    return folder.is_dir()


def _touched(folder: Path) -> int | None:
    """Return when one of its logs was last written to; None if it has none."""
    try:
        with os.scandir(folder) as items:
            wals = [item for item in items if item.name.endswith(WAL_SUFFIX)]
            times = [
                wal.stat(follow_symlinks=False).st_mtime_ns
                for wal in wals
                if wal.is_file(follow_symlinks=False)
            ]
    except OSError:
        return 0  # Reading it will say what is wrong.
    return max(times, default=None)


def _session(given: Namespace, sessions: list[str]) -> str:
    wanted: str | None = given.session
    if wanted is None:
        if len(sessions) > 1:
            note(f"session {sessions[0]}, the newest of {len(sessions)}; --session chooses")
        return sessions[0]
    if wanted not in sessions:
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"There is no session {wanted!r}. There are: {join_limited(sessions)}.",
            {"session_id": wanted, "sessions": sessions},
        )
    return wanted
