"""Opening the board of one session of a project, for asynchronous and for blocking callers."""

from pathlib import Path
from typing import Final

from taskloom.board import DEFAULT_RULES, Rules
from taskloom.errors import Code, RefusedError
from taskloom.ids import SESSION_ID_RULE, SessionId, is_session_id
from taskloom.log import Durability, JsonlLog, Log
from taskloom.runtime.board import Board
from taskloom.runtime.clock import Clock
from taskloom.runtime.sync_board import SyncBoard
from taskloom.runtime.task_writers import TaskWriters

DEFAULT_SESSION: Final[SessionId] = "default"
"""The session of a board that is opened without one."""
STATE_DIR: Final = ".taskloom"
"""The directory of a project in which its boards and sessions are."""


def open_board(
    project: str | Path = ".",
    *,
    session: SessionId = DEFAULT_SESSION,
    state_dir: str = STATE_DIR,
    durability: Durability = Durability.FSYNC,
    rules: Rules = DEFAULT_RULES,
    clock: Clock | None = None,
    log: Log | None = None,
) -> Board:
    """Open the board of one session of a project; use it with `async with`.

    Logs are at `<project>/<state_dir>/tasks/<session>/<log name>.wal.jsonl`; `log` puts them
    elsewhere, in memory for example.

    Raises:
        RefusedError: The session's id cannot be the name of a directory.
    """
    log = log or _log_of(Path(project), session, state_dir, durability)
    return Board(TaskWriters(log, session, clock=clock, rules=rules))


def open_board_sync(
    project: str | Path = ".",
    *,
    session: SessionId = DEFAULT_SESSION,
    state_dir: str = STATE_DIR,
    durability: Durability = Durability.FSYNC,
    rules: Rules = DEFAULT_RULES,
    clock: Clock | None = None,
    log: Log | None = None,
) -> SyncBoard:
    """Open the same board for callers without an event loop; use it with `with`.

    Several threads may use it at once. The parameters are those of `open_board`.

    Raises:
        RefusedError: The session's id cannot be the name of a directory.
    """
    log = log or _log_of(Path(project), session, state_dir, durability)
    return SyncBoard(TaskWriters(log, session, clock=clock, rules=rules))


def session_dir(project: Path, session: SessionId, state_dir: str = STATE_DIR) -> Path:
    """Return the directory of a session's logs.

    Raises:
        RefusedError: The session's id cannot be the name of a directory.
    """
    if not isinstance(session, str) or not is_session_id(session):  # pyright: ignore[reportUnnecessaryIsInstance] # callers may send anything
        raise RefusedError(
            Code.VALIDATION_ERROR,
            f"$.session must be {SESSION_ID_RULE}; got {str(session)[:128]!r}.",
            {"path": "$.session"},
        )
    return project / state_dir / "tasks" / session


def _log_of(project: Path, session: SessionId, state_dir: str, durability: Durability) -> Log:
    place = session_dir(project, session, state_dir)
    torn = place.parent.parent / "torn" / session
    return JsonlLog(place, torn_dir=torn, durability=durability)
