"""Which projects have sessions: for clients that ask for the sessions of all projects.

    <index_dir>/<session_id>.json    {"cwd": "/path/of/the/project"}

The index is a convenience. A session is found without it by anyone who names its project, and an
index that was lost is filled again by new sessions.
"""

import logging
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from taskloom.atomic_write import write_file
from taskloom.ids import SessionId, is_session_id
from taskloom.runtime import STATE_DIR
from taskloom.session.directory import SessionDirectory
from taskloom.session.store import SessionStore

_LOG = logging.getLogger("taskloom.session")


class _Pointer(Struct, frozen=True):
    cwd: str


class SessionIndex:
    """The projects that have sessions. Every method blocks."""

    def __init__(self, index_dir: Path | None, state_dir: str = STATE_DIR) -> None:
        """Name the index, None for none, and the state directory of every project."""
        self._dir = index_dir
        self._state_dir = state_dir

    def store(self, project: str) -> SessionStore:
        """Return the sessions of one project."""
        return SessionStore(Path(project), self._state_dir)

    def add(self, session: SessionDirectory) -> None:
        """Note which project has a session; a failure is logged, since nothing depends on it."""
        if self._dir is None:
            return
        try:
            pointer = msgspec.json.encode(_Pointer(session.info.cwd))
            write_file(self._dir / f"{session.session_id}.json", pointer)
        except OSError as error:
            _LOG.warning("cannot write the index of sessions: %s", error)

    def remove(self, session_id: SessionId) -> None:
        """Forget a session."""
        if self._dir is not None:
            with suppress(OSError):
                (self._dir / f"{session_id}.json").unlink()

    def find(self, session_id: SessionId) -> SessionDirectory | None:
        """Return a session of whichever project the index names; None if it names none."""
        project = self._project(session_id) if is_session_id(session_id) else None
        return None if project is None else self.store(project).find(session_id)

    def list(self) -> list[SessionDirectory]:
        """Return the sessions of every project in the index, the last used first."""
        if self._dir is None:
            return []
        try:
            names = [path.stem for path in self._dir.iterdir() if path.suffix == ".json"]
        except OSError:
            return []
        projects = {project for name in names if (project := self._project(name)) is not None}
        found = [session for project in projects for session in self.store(project).list()]
        return sorted(found, key=lambda one: (one.info.last_used, one.session_id), reverse=True)

    def _project(self, session_id: SessionId) -> str | None:
        if self._dir is None:
            return None
        try:
            data = (self._dir / f"{session_id}.json").read_bytes()
            return msgspec.json.decode(data, type=_Pointer).cwd
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None
