"""Lists of a session's Tasks; no more logs are read than the page needs."""

from contextlib import closing
from pathlib import Path
from typing import Protocol

from taskloom.board import TASK_TERMINAL, TaskLine, TaskPage, TaskStatus, validation, view_line
from taskloom.define import define
from taskloom.errors import TaskloomError
from taskloom.ids import WAL_SUFFIX, wal_stem
from taskloom.log import JsonlLog, ReadOnlyLog
from taskloom.runtime.log_reader.index import LogEntry, LogIndex
from taskloom.runtime.log_reader.restore import restore


@define(frozen=True, kw_only=True)
class ListTasks:
    """Which Tasks to list; without a status, those that have not ended."""

    status: TaskStatus | None = None
    include_terminal: bool = False
    limit: int = 50
    offset: int = 0


class TaskSource(Protocol):
    """The logs of a session, live (`TaskWriters`) or read only (`SessionLogs`)."""

    def found(self) -> list[LogEntry]:
        """Return every log, newest first."""
        ...

    def line(self, entry: LogEntry) -> TaskLine:
        """Return the line of a list for a log, with its error if it cannot be read."""
        ...


def list_tasks(source: TaskSource, query: ListTasks) -> TaskPage:
    """Return a page of Tasks, newest first. May block."""
    limit = validation.number(query.limit, "$.limit", least=1, most=10_000)
    offset = validation.number(query.offset, "$.offset", least=0, most=1 << 40)
    wanted = query.status
    if wanted is not None:
        wanted = TaskStatus(
            validation.one_of(wanted, "$.status", [status.value for status in TaskStatus])
        )
    entries = source.found()
    if wanted in TASK_TERMINAL:
        # The last line of a log tells how its Task ended: none is opened to choose.
        entries = [entry for entry in entries if entry.ended is wanted]
        wanted = None
    elif wanted is not None or not query.include_terminal:
        entries = [entry for entry in entries if entry.ended is None]
    end = offset + limit
    if wanted is not None:
        lines = [line for line in map(source.line, entries) if line.status == wanted.value]
        return TaskPage(tasks=tuple(lines[offset:end]), total=len(lines), has_more=len(lines) > end)
    page = tuple(source.line(entry) for entry in entries[offset:end])
    return TaskPage(tasks=page, total=len(entries), has_more=len(entries) > end)


class SessionLogs:
    """The logs of one session, read without writing. Implements `TaskSource`."""

    def __init__(self, directory: Path) -> None:
        """Name the session's directory; every call reads it again."""
        self._directory = directory
        self._index = LogIndex(JsonlLog(directory))

    def found(self) -> list[LogEntry]:
        """Return every log, newest first."""
        return self._index.scan()

    def path(self, name: str) -> Path:
        """Return the path of the log with this name."""
        return self._directory / (name + WAL_SUFFIX)

    def find(self, name: str) -> Path | None:
        """Return the log of a Task, by its task_id, else by the log's own name."""
        entry = self._index.find(name)
        if entry is not None:
            return self.path(entry.name)
        stem = wal_stem(name)
        return self.path(stem) if any(entry.name == stem for entry in self.found()) else None

    def list(self, query: ListTasks) -> TaskPage:
        """Return a page of Tasks, newest first."""
        return list_tasks(self, query)

    def line(self, entry: LogEntry) -> TaskLine:
        """Return the line of a list for a log, with its error if it cannot be read."""
        path = self.path(entry.name)
        try:
            with closing(ReadOnlyLog(path)) as log, log.damage_as_unavailable():
                return view_line(restore(log), str(path))
        except TaskloomError as error:
            return entry.unavailable(error, str(path))
