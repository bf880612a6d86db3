"""Looking over the logs of one session without touching them: which there are, and their health."""

from dataclasses import dataclass
from datetime import UTC
from enum import StrEnum
from pathlib import Path

from taskloom.board import TaskLine, TaskPage, TaskStatus
from taskloom.errors import RefusedError, StorageError, TaskloomError, UnavailableError
from taskloom.ids import WAL_SUFFIX, Seq, TaskId, wal_stem
from taskloom.log import JsonlLog
from taskloom.runtime.listing import ListTasks
from taskloom.runtime.log_index import LogEntry, LogIndex
from taskloom.runtime.read_only_log import NOTHING_WHOLE, ChangeSignal, Inspection, inspect


class LogSurvey:
    """The logs of one session. Nothing here writes."""

    def __init__(self, directory: Path) -> None:
        """Name the session's directory; it is looked at when somebody asks."""
        self._directory = directory
        self._catalogue = LogIndex(JsonlLog(directory))

    def found(self) -> list[LogEntry]:
        """Return every log there is, newest first."""
        return self._catalogue.scan()

    def path(self, name: str) -> Path:
        """Return where the log of this name is."""
        return self._directory / (name + WAL_SUFFIX)

    def find(self, name: str) -> Path | None:
        """Return the log of a Task, by its task_id, else by the log's own name."""
        found = self._catalogue.find(name)
        if found is not None:
            return self.path(found.name)
        path = self.path(wal_stem(name))
        return path if any(each.name == wal_stem(name) for each in self.found()) else None

    def list(self, query: ListTasks) -> TaskPage:
        """Return a page of Tasks, newest first, reading no more logs than it needs."""
        found = [each for each in self.found() if query.include_terminal or each.ended is None]
        start, end = query.offset, query.offset + query.limit
        if query.status is None:
            page = [self._line(each) for each in found[start:end]]
            return TaskPage(tasks=tuple(page), total=len(found), has_more=len(found) > end)
        wanted = [self._line(each) for each in found if each.ended in (None, query.status)]
        lines = [line for line in wanted if line.status == query.status.value]
        return TaskPage(tasks=tuple(lines[start:end]), total=len(lines), has_more=len(lines) > end)

    def _line(self, found: LogEntry) -> TaskLine:
        path = self.path(found.name)
        try:
            return line_of(inspect(path))
        except TaskloomError as error:
            return TaskLine(
                task_id=found.task_id,
                wal_path=str(path),
                status="unavailable",
                updated_at=found.updated_at,
                error=error.as_dict(),
            )


def line_of(inspection: Inspection) -> TaskLine:
    """Show an inspected Task in a list."""
    view = inspection.view
    at = view.updated_at
    return TaskLine(
        task_id=view.task_id,
        wal_path=view.wal_path,
        status=view.status.value,
        title=view.title,
        updated_at=at if at.tzinfo else at.replace(tzinfo=UTC),
        counts=view.counts,
        stalled=view.stalled,
        completeable=view.completeable,
        result_summary=view.result_summary,
        reason=view.reason,
    )


class Health(StrEnum):
    """How a log is."""

    OK = "ok"
    TORN = "torn"
    """Whole, with the remains of a write behind it that a crash cut short. No harm done."""
    DAMAGED = "damaged"
    UNREADABLE = "unreadable"
    MISSING = "missing"
    NOT_A_FILE = "not_a_file"
    """A pipe, a device or the like."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a check of one log came to."""

    wal_path: str
    health: Health
    task_id: TaskId | None = None
    status: TaskStatus | None = None
    lines: Seq = 0
    size_bytes: int = 0
    foreign: bool = False
    torn_bytes: int = 0
    line: Seq | None = None
    """Where the damage is."""
    cause: str | None = None


def verify(path: Path, *, watch: ChangeSignal | None = None) -> Finding:
    """Check one log from its first byte to its last, and that its events make sense."""
    size = _size(path)
    if size is None:
        cause = "there is no such file"
        return Finding(wal_path=str(path), health=Health.MISSING, cause=cause)
    try:
        seen = inspect(path, watch=watch)
    except UnavailableError as error:
        return _unavailable(path, size, error)
    except RefusedError:
        cause = "it is not a regular file"
        return Finding(wal_path=str(path), health=Health.NOT_A_FILE, cause=cause)
    except StorageError as error:
        cause = str(error.details["error"])
        return Finding(wal_path=str(path), health=Health.UNREADABLE, size_bytes=size, cause=cause)
    return Finding(
        wal_path=str(path),
        health=Health.TORN if seen.torn_bytes else Health.OK,
        task_id=seen.view.task_id,
        status=seen.view.status,
        lines=seen.last_seq,
        size_bytes=size,
        foreign=seen.foreign,
        torn_bytes=seen.torn_bytes,
    )


def _unavailable(path: Path, size: int, error: UnavailableError) -> Finding:
    line, cause = error.details["line"], str(error.details["error"])
    assert isinstance(line, int)
    if cause == NOTHING_WHOLE:
        return Finding(
            wal_path=str(path),
            health=Health.TORN,
            size_bytes=size,
            torn_bytes=size,
            cause="its creation was cut short",
        )
    return Finding(
        wal_path=str(path), health=Health.DAMAGED, size_bytes=size, line=line, cause=cause
    )


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None
    except OSError:
        return 0  # Reading it will say what is wrong.
