"""What a session keeps on disk besides its board: what it is for, what was said, who hosts it.

<project>/.taskloom/sessions/<session_id>/
    session.json      the goal, and when it began
    turns/0001.jsonl  the Orchestrator's journal of each turn
    runs/<run>.jsonl  what was said in each worker run
    host.lock         held by the process that hosts the session
"""

import fcntl
import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Final

import msgspec
from msgspec import Struct

from taskloom.errors import Code, RefusedError, StorageError
from taskloom.files.atomic_write import create, make_directory
from taskloom.ids import SessionId

_ID: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")


class About(Struct, frozen=True, kw_only=True):
    """What a session is for."""

    session_id: SessionId
    goal: str
    created_at: datetime
    kind: str = "run"
    version: int = 1


class SessionFiles:
    """The directory of one session."""

    def __init__(self, project: Path, session_id: SessionId, state_dir: str = ".taskloom") -> None:
        """Name it; nothing is made yet.

        Raises:
            RefusedError: the id cannot be a directory's name.
        """
        if not _ID.fullmatch(session_id):
            raise RefusedError(
                Code.VALIDATION_ERROR,
                f"{session_id[:128]!r} is no session id: 1 to 128 letters, digits, dots, - and _.",
            )
        self.session_id = session_id
        self.root = sessions_dir(project, state_dir) / session_id
        self.runs = self.root / "runs"
        self.saved = self.root / "saved"
        """Where long tool results are kept whole."""

    def create(self, goal: str, kind: str = "run") -> About:
        """Make the directory and write down what the session is for.

        Raises:
            RefusedError: there is such a session.
        """
        about = About(
            session_id=self.session_id, goal=goal, created_at=datetime.now(UTC), kind=kind
        )
        try:
            # A directory without session.json is what a crash or a full disk left of one.
            for folder in (self.runs, self.root / "turns"):
                make_directory(folder)
            create(self.root / "session.json", msgspec.json.encode(about))
        except FileExistsError:
            raise RefusedError(
                Code.PATH_CONFLICT,
                f"There is a session {self.session_id!r} already; go on with it: "
                f"taskloom run --resume {self.session_id}",
            ) from None
        except OSError as error:
            raise StorageError(f"The session cannot be kept in {self.root}: {error}") from error
        return about

    def about(self) -> About:
        """Return what the session is for.

        Raises:
            RefusedError: there is no such session, or its file cannot be read.
        """
        path = self.root / "session.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=About)
        except FileNotFoundError:
            raise RefusedError(
                Code.VALIDATION_ERROR,
                f"There is no session {self.session_id!r} here ({self.root}). "
                "`taskloom sessions` lists them.",
            ) from None
        except (OSError, msgspec.DecodeError) as error:
            raise RefusedError(
                Code.STORAGE_ERROR, f"{path} cannot be read: {error}. Its board is not touched."
            ) from error

    def turns(self) -> list[Path]:
        """Return the journals of the turns that have begun, in order.

        One that a crash cut short before its first line was whole has not: it is begun again.
        """
        return [path for path in sorted((self.root / "turns").glob("[0-9]*.jsonl")) if _begun(path)]

    def next_turn(self) -> Path:
        """Return the journal of a turn that has not begun."""
        return self.root / "turns" / f"{len(self.turns()) + 1:04}.jsonl"

    @contextmanager
    def hosted(self) -> Generator[None]:
        """Be the one process that hosts the session, inside the block.

        Raises:
            RefusedError: another process is.
        """
        path = self.root / "host.lock"
        with path.open("a+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pid = path.read_text("utf-8", "replace").strip() or "unknown"
                raise RefusedError(
                    Code.VALIDATION_ERROR,
                    f"Session {self.session_id!r} is running in another process (pid {pid}). Watch "
                    f"it with `taskloom board show`, or end that process first.",
                    {"pid": pid},
                ) from None
            file.truncate(0)
            file.write(str(os.getpid()).encode())
            file.flush()
            yield


def sessions_dir(project: Path, state_dir: str = ".taskloom") -> Path:
    """Return where the sessions of a project are."""
    return project / state_dir / "sessions"


def list_sessions(project: Path, state_dir: str = ".taskloom") -> list[About]:
    """Return the sessions of a project, newest first; what cannot be read is left out."""
    found: list[About] = []
    for path in sessions_dir(project, state_dir).glob("*/session.json"):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=About))
        except (OSError, msgspec.DecodeError):
            continue
    return sorted(found, key=lambda about: about.created_at, reverse=True)


def new_session_id() -> SessionId:
    """Make up the id of a session: its time, so that they sort, and chance."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{token_hex(3)}"


def _begun(journal: Path) -> bool:
    with journal.open("rb") as file:
        return file.readline().endswith(b"\n")
