"""Inspection of one log: the Task that it holds, at any line, and whether the file is sound."""

from contextlib import closing
from enum import StrEnum
from pathlib import Path

from taskloom.board import TaskStatus, TaskView, view_task
from taskloom.define import define
from taskloom.errors import RefusedError, StorageError, UnavailableError
from taskloom.ids import Seq, SessionId, TaskId
from taskloom.log import NO_TRANSACTION, Progress, ReadOnlyLog
from taskloom.runtime.log_reader.restore import restore


@define(frozen=True, kw_only=True)
class Inspection:
    """A Task as it is, or as it was at line `view.seq`."""

    view: TaskView
    session_id: SessionId
    last_seq: Seq
    """The last line of the log, which may come after the line that is shown."""
    reference_log: bool
    """Whether the reference implementation wrote the log."""
    torn_bytes: int
    """The length of an unfinished write behind the last transaction; it is ignored."""


def inspect(path: Path, *, at: Seq | None = None, progress: Progress | None = None) -> Inspection:
    """Return the Task as the log has it now, or had it at line `at`.

    A log shorter than `at` is shown at its end; `view.seq` tells. All lines are checked, those
    behind `at` too.

    Raises:
        RefusedError: The path names a pipe, a device or the like.
        UnavailableError: The log is damaged.
        StorageError: It cannot be read.
    """
    with closing(ReadOnlyLog(path, progress=progress)) as log, log.damage_as_unavailable():
        task = restore(log, until=at, check_rest=True)
        return Inspection(
            view=view_task(task, str(path)),
            session_id=task.session_id,
            last_seq=log.position.seq,
            reference_log=log.is_reference_log,
            torn_bytes=log.torn_bytes,
        )


class Health(StrEnum):
    """The state of a log file."""

    OK = "ok"
    TORN = "torn"
    """Sound, with the remains of a write behind it that a crash cut short; nothing is lost."""
    DAMAGED = "damaged"
    UNREADABLE = "unreadable"
    MISSING = "missing"
    NOT_A_FILE = "not_a_file"
    """A pipe, a device or the like."""


@define(frozen=True, kw_only=True)
class Finding:
    """The result of checking one log."""

    wal_path: str
    health: Health
    task_id: TaskId | None = None
    status: TaskStatus | None = None
    lines: Seq = 0
    size_bytes: int = 0
    reference_log: bool = False
    torn_bytes: int = 0
    line: Seq | None = None
    """The line of the damage."""
    cause: str | None = None


def verify(path: Path, *, progress: Progress | None = None) -> Finding:
    """Check one log: every byte, and that its events make sense."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        cause = "there is no such file"
        return Finding(wal_path=str(path), health=Health.MISSING, cause=cause)
    except OSError:
        size = 0  # Reading it will raise the cause.
    try:
        seen = inspect(path, progress=progress)
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
        reference_log=seen.reference_log,
        torn_bytes=seen.torn_bytes,
    )


def _unavailable(path: Path, size: int, error: UnavailableError) -> Finding:
    line, cause = error.details["line"], str(error.details["error"])
    assert isinstance(line, int)
    if cause == NO_TRANSACTION:
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
