"""One session on disk.

<project>/.taskloom/sessions/<session_id>/
    session.json       what the session is: goal, mode, times
    host.lock          held by the process that runs its workers and prompt turns
    transcript.jsonl   the conversation
    turns/0001.jsonl   the journal of each run of the Orchestrator's agent
    runs/<run>.jsonl   the output of each worker run
    reduction/         tool results that were too long for the context
    plans.json         documents and files that were published as plans
"""

import shutil
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from taskloom.atomic_write import create_file, make_directory, write_file
from taskloom.errors import StorageError
from taskloom.ids import SessionId
from taskloom.session.host_lock import HostLock


class SessionInfo(Struct, frozen=True, kw_only=True):
    """The content of `session.json`."""

    session_id: SessionId
    cwd: str = ""
    """The project's directory."""
    goal: str = ""
    """What was asked for first; interfaces show it as the title."""
    kind: str = "run"
    """The interface that created the session: `run`, `demo`, `acp`, or `library`."""
    created_at: datetime
    updated_at: datetime | None = None
    mode: str = ""
    """The mode chosen in an editor; empty for the default."""
    additional_directories: tuple[str, ...] = ()
    show_board: bool | None = None
    """Whether an editor shows the board's Tasks as plans; None for what is configured."""
    version: int = 1

    @property
    def last_used(self) -> datetime:
        """When the session was last changed."""
        return self.updated_at or self.created_at


class SessionDirectory:
    """The directory of one session, and what its `session.json` says. Every method blocks."""

    def __init__(self, project: Path, state_dir: str, info: SessionInfo) -> None:
        """Use `SessionStore` to get one; nothing is written here."""
        self.project = project
        self.state_dir = state_dir
        self.root = root = sessions_dir(project, state_dir) / info.session_id
        self.info = info
        self.session_id = info.session_id
        self.transcript = root / "transcript.jsonl"
        self.runs = root / "runs"
        self.plans = root / "plans.json"
        self.reduction = root / "reduction"

    def write_new(self) -> None:
        """Write `session.json`, which must not exist yet, and the directories beside it.

        Raises:
            FileExistsError: the session exists.
            StorageError: the directory cannot be written to.
        """
        try:
            # A directory without session.json is what a crash or a full disk left behind.
            for folder in (self.runs, self.root / "turns"):
                make_directory(folder)
            create_file(self.root / "session.json", msgspec.json.encode(self.info))
        except FileExistsError:
            raise
        except OSError as error:
            raise self._cannot_write(error) from error

    def update(self, **changes: object) -> None:
        """Change fields of `session.json` and note the time, durably.

        Raises:
            StorageError: it cannot be written.
        """
        info = structs.replace(self.info, updated_at=datetime.now(UTC), **changes)
        try:
            write_file(self.root / "session.json", msgspec.json.encode(info))
        except OSError as error:
            raise self._cannot_write(error) from error
        self.info = info

    def host_lock(self, holder: str = "") -> HostLock:
        """Return the session's host lock, not yet taken."""
        return HostLock(self.root / "host.lock", self.session_id, holder)

    def turns(self) -> list[Path]:
        """Return the journals of the turns that have begun, in order.

        A journal that a crash cut short within its first line has not: it is begun again.
        """
        return [path for path in sorted((self.root / "turns").glob("[0-9]*.jsonl")) if _begun(path)]

    def next_turn(self) -> Path:
        """Return the journal of the turn after those that have begun."""
        make_directory(self.root / "turns")
        return self.root / "turns" / f"{len(self.turns()) + 1:04}.jsonl"

    def delete(self) -> None:
        """Remove the directory with everything in it.

        Raises:
            RefusedError: a process hosts the session.
        """
        lock = self.host_lock()
        with suppress(StorageError):
            lock.acquire()
        try:
            # First the file by which it is found: what cannot be removed is no session then.
            (self.root / "session.json").unlink(missing_ok=True)
            shutil.rmtree(self.root, ignore_errors=True)
        except OSError as error:
            raise self._cannot_write(error) from error
        finally:
            lock.release()

    def _cannot_write(self, error: OSError) -> StorageError:
        return StorageError(
            f"Cannot write session to {self.root}: {_cause(error)}. Make the project's "
            "directory writable, or free some space.",
            {"path": str(self.root)},
        )


def sessions_dir(project: Path, state_dir: str) -> Path:
    """Return the directory of a project's sessions."""
    return project / state_dir / "sessions"


def _begun(journal: Path) -> bool:
    with journal.open("rb") as file:
        return file.readline().endswith(b"\n")


def _cause(error: OSError) -> str:
    return (error.strerror or str(error)).rstrip(".")
