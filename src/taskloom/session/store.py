"""The sessions of one project: create, open, find and list them."""

import logging
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Final

import msgspec
from msgspec import structs

from taskloom.errors import Code, RefusedError, StorageError
from taskloom.ids import SESSION_ID_RULE, SessionId, is_session_id
from taskloom.runtime import STATE_DIR
from taskloom.session.directory import SessionDirectory, SessionInfo, sessions_dir
from taskloom.text import clip

TITLE_CHARS_MAX: Final = 80

_LOG = logging.getLogger("taskloom.session")


class SessionStore:
    """The sessions of one project. Every method blocks; the files are small."""

    def __init__(self, project: Path, state_dir: str = STATE_DIR) -> None:
        """Name the project; nothing is read or written yet."""
        self.project = project
        self._state_dir = state_dir
        self._sessions = sessions_dir(project, state_dir)

    def create(
        self,
        session_id: SessionId = "",
        *,
        goal: str = "",
        kind: str = "run",
        mode: str = "",
        additional_directories: tuple[str, ...] = (),
    ) -> SessionDirectory:
        """Create a session; without an id it gets a new one.

        Raises:
            RefusedError: the id is taken, or cannot name a directory.
            StorageError: the project cannot be written to.
        """
        id_ = session_id or new_session_id()
        self._check(id_)
        info = SessionInfo(
            session_id=id_,
            cwd=str(self.project),
            goal=goal,
            kind=kind,
            mode=mode,
            additional_directories=additional_directories,
            created_at=datetime.now(UTC),
        )
        directory = SessionDirectory(self.project, self._state_dir, info)
        try:
            directory.write_new()
        except FileExistsError:
            raise RefusedError(
                Code.PATH_CONFLICT,
                f"Session {id_!r} exists already; resume it: taskloom run --resume {id_}",
                {"session_id": id_},
            ) from None
        return directory

    def open(self, session_id: SessionId) -> SessionDirectory:
        """Return a session that exists.

        Raises:
            RefusedError: there is none, or the id cannot name a directory.
            StorageError: its `session.json` cannot be read.
        """
        root = self._root(session_id)
        try:
            return self._read(root)
        except (FileNotFoundError, NotADirectoryError):
            raise RefusedError(
                Code.VALIDATION_ERROR,
                f"There is no session {session_id!r} here ({root}). `taskloom sessions` lists "
                "those there are.",
                {"session_id": session_id},
            ) from None
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise StorageError(
                f"Cannot read {root / 'session.json'}: {error}. Correct or restore the file; the "
                "session's board is not affected.",
                {"path": str(root)},
            ) from error

    def open_or_create(
        self, session_id: SessionId, *, goal: str = "", kind: str = "run"
    ) -> SessionDirectory:
        """Return the session with this id, created if it does not exist.

        Raises:
            RefusedError: the id cannot name a directory.
            StorageError: the session cannot be read or written.
        """
        if not (self._root(session_id) / "session.json").exists():
            try:
                return self.create(session_id, goal=goal, kind=kind)
            except RefusedError as refused:
                if refused.code is not Code.PATH_CONFLICT:
                    raise  # Else another process created it meanwhile.
        return self.open(session_id)

    def find(self, session_id: SessionId) -> SessionDirectory | None:
        """Return a session; None if there is none that can be read."""
        if not is_session_id(session_id):
            return None
        try:
            return self.open(session_id)
        except RefusedError:
            return None
        except StorageError as error:
            _LOG.warning("%s", error.message)
            return None

    def list(self) -> list[SessionDirectory]:
        """Return the sessions that can be read, the last used first."""
        try:
            names = [entry.name for entry in self._sessions.iterdir()]
        except OSError:
            return []
        found = [session for name in names if (session := self.find(name)) is not None]
        return sorted(found, key=lambda one: (one.info.last_used, one.session_id), reverse=True)

    def _root(self, session_id: SessionId) -> Path:
        self._check(session_id)
        return self._sessions / session_id

    def _check(self, session_id: SessionId) -> None:
        if not is_session_id(session_id):
            raise RefusedError(
                Code.VALIDATION_ERROR,
                f"{session_id[:128]!r} is not a session id: {SESSION_ID_RULE}.",
                {"path": "$.session_id"},
            )

    def _read(self, root: Path) -> SessionDirectory:
        if root.is_symlink():
            raise FileNotFoundError(root)  # A session is in its project, not in another one.
        info = msgspec.json.decode((root / "session.json").read_bytes(), type=SessionInfo)
        # The project may have been moved or copied since the file was written.
        info = structs.replace(info, session_id=root.name, cwd=str(self.project))
        return SessionDirectory(self.project, self._state_dir, info)


def new_session_id() -> SessionId:
    """Return a new session id: the time, so that ids sort, and a random part."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{token_hex(4)}"


def title_of(text: str) -> str:
    """Return a session's title: the first line of what was asked first."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return clip(line, TITLE_CHARS_MAX)
