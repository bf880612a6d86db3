"""Sessions on disk: one directory each, in the project they belong to.

    <cwd>/<state_dir>/sessions/<session_id>/session.json       what the session is
                                           /transcript.jsonl   what was said in it
    <index_dir>/<session_id>.json                              which project has it

A new process finds a session by the directory it is given; the index serves clients that ask
for the sessions of all projects, and may be lost.
"""

import logging
import os
import re
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, structs

from taskloom.agent.messages import new_id
from taskloom.errors import StorageError
from taskloom.text import clip

_LOG = logging.getLogger("taskloom.acp")
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
TITLE_CHARS_MAX: Final = 80


KIND: Final = "acp"
"""What tells our sessions from others of the project, which have the same directory."""


class SessionInfo(Struct, frozen=True):
    """What is known of a session without reading what was said."""

    session_id: str
    cwd: str
    additional_directories: tuple[str, ...] = ()
    goal: str = ""
    """The title: what was asked first."""
    mode: str = ""
    kind: str = KIND
    show_board: bool | None = None
    created_at: str = ""
    updated_at: str = ""
    version: int = 1


class _Pointer(Struct, frozen=True):
    cwd: str


class _Kind(Struct, frozen=True):
    kind: str


class SessionStore:
    """Finds, keeps and lists sessions. Blocks; the amounts are small."""

    def __init__(self, state_dir: str, index_dir: Path | None) -> None:
        """Name the state directory of every project, and the index if there is one."""
        self._state_dir = state_dir
        self._index = index_dir

    def folder(self, card: SessionInfo) -> Path:
        """Return the directory of a session."""
        return self._sessions(card.cwd) / card.session_id

    def create(self, cwd: str, additional_directories: tuple[str, ...], mode: str) -> SessionInfo:
        """Make a session with an id of its own.

        Raises:
            StorageError: the project cannot be written to.
        """
        now = _now()
        card = SessionInfo(
            new_id("s_"), cwd, additional_directories, mode=mode, created_at=now, updated_at=now
        )
        self.save(card)
        if self._index is not None:
            try:
                write_whole(
                    self._index / f"{card.session_id}.json", msgspec.json.encode(_Pointer(cwd))
                )
            except OSError as error:
                _LOG.warning("the index of sessions cannot be written: %s", error)
        return card

    def save(self, card: SessionInfo) -> None:
        """Keep what is known of a session.

        Raises:
            StorageError: it cannot be written.
        """
        path = self.folder(card) / "session.json"
        try:
            write_whole(path, msgspec.json.encode(card))
        except OSError as error:
            raise StorageError(
                f"The session cannot be kept in {path}: {error.strerror or error}. Make the "
                "project's directory writable, or free some space.",
                {"path": str(path)},
            ) from error

    def touched(self, card: SessionInfo, **changes: object) -> SessionInfo:
        """Keep a session with some fields changed and the time noted; return it."""
        card = structs.replace(card, updated_at=_now(), **changes)
        self.save(card)
        return card

    def find(self, session_id: str, cwd: str | None = None) -> SessionInfo | None:
        """Return a session of a project; without one, of the project that the index names."""
        if not _ID.fullmatch(session_id):
            return None  # It would be a path into somewhere else.
        place = cwd if cwd is not None else self._pointer(session_id)
        return None if place is None else self._read(self._sessions(place) / session_id, place)

    def list(self, cwd: str | None) -> list[SessionInfo]:
        """Return the sessions of one project, or of all that are known, the newest first."""
        if cwd is not None:
            found = [self._read(folder, cwd) for folder in _folders(self._sessions(cwd))]
        else:
            names = _folders(self._index) if self._index is not None else []
            found = [self.find(path.stem) for path in names if path.suffix == ".json"]
        cards = [card for card in found if card is not None]
        return sorted(cards, key=lambda card: (card.updated_at, card.session_id), reverse=True)

    def delete(self, card: SessionInfo) -> None:
        """Take a session away, with all that was said in it."""
        folder = self.folder(card)
        if self._index is not None:
            with suppress(OSError):
                (self._index / f"{card.session_id}.json").unlink()
        for path in sorted(folder.rglob("*"), reverse=True):
            with suppress(OSError):
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        with suppress(OSError):
            folder.rmdir()

    def _sessions(self, cwd: str) -> Path:
        return Path(cwd) / self._state_dir / "sessions"

    def _pointer(self, session_id: str) -> str | None:
        if self._index is None:
            return None
        try:
            data = (self._index / f"{session_id}.json").read_bytes()
            return msgspec.json.decode(data, type=_Pointer).cwd
        except (OSError, msgspec.DecodeError):
            return None

    def _read(self, folder: Path, cwd: str) -> SessionInfo | None:
        """Return the session in a directory; None if it holds none that can be read."""
        if folder.is_symlink():
            return None  # A session is in its project, wherever the project came from.
        try:
            data = (folder / "session.json").read_bytes()
            if msgspec.json.decode(data, type=_Kind).kind != KIND:
                return None
            card = msgspec.json.decode(data, type=SessionInfo)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            _LOG.warning("%s is no session that can be read: %s", folder, error)
            return None
        # A project may have been moved: where it was found is where it is.
        return structs.replace(card, session_id=folder.name, cwd=cwd)


def title_of(text: str) -> str:
    """Return a session's title: the first line of what was asked first."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return clip(line, TITLE_CHARS_MAX)


def _folders(path: Path) -> list[Path]:
    try:
        return [entry for entry in path.iterdir() if _ID.fullmatch(entry.stem)]
    except OSError:
        return []


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write_whole(path: Path, data: bytes) -> None:
    """Put new content in place of a file, whole or not at all, and safe from a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(new_id(".new-"))
    try:
        with fresh.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
