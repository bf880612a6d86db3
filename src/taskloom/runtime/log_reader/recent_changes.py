"""The last changes of a session, read from the ends of its logs."""

from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

from taskloom.codec import EventHeader, read_event_header
from taskloom.errors import TaskloomError
from taskloom.log import WalInfo
from taskloom.runtime.log_reader.index import LogEntry

Known: TypeAlias = tuple[WalInfo, int, list[EventHeader]]


class RecentChanges:
    """The last changes of a session. A log that has not grown is not read again. May block."""

    def __init__(
        self, found: Callable[[], list[LogEntry]], last_lines: Callable[[str, int], list[bytes]]
    ) -> None:
        """Take how to find the logs and how to read their last lines."""
        self._found = found
        self._last_lines = last_lines
        self._known: dict[str, Known] = {}

    def changes(self, *, since: datetime, limit: int) -> list[EventHeader]:
        """Return the last changes since a moment, oldest first.

        Lines that cannot be read are left out: reading their Task raises what is wrong.
        """
        if limit <= 0:
            return []
        known: dict[str, Known] = {}
        for entry in self._found():
            if entry.updated_at < since or entry.error is not None:
                continue
            kept = self._known.get(entry.name)
            if kept is None or kept[0] != entry.info or kept[1] != limit:
                kept = (entry.info, limit, self._read(entry.name, limit))
            known[entry.name] = kept
        self._known = known
        every = [
            change
            for _, _, changes in known.values()
            for change in changes
            if change.created_at >= since
        ]
        every.sort(key=lambda change: (change.created_at, change.task_id, change.wal_seq))
        return every[-limit:]

    def _read(self, name: str, limit: int) -> list[EventHeader]:
        try:
            headers = map(read_event_header, self._last_lines(name, limit))
        except TaskloomError:
            return []
        return [header for header in headers if header and header.created_at.tzinfo is not None]
