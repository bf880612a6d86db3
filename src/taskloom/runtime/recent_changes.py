"""What changed last in a session, read from the ends of its logs and nothing else."""

from datetime import datetime
from typing import Final

import msgspec

from taskloom.codec import DECODE_ERRORS
from taskloom.errors import TaskloomError
from taskloom.ids import AgentId, StepId, TaskId
from taskloom.log import WalInfo
from taskloom.runtime.task_writers import TaskWriters


class Change(msgspec.Struct, frozen=True):
    """One line of a log without its payload: who did what to which step, and when."""

    wal_seq: int
    event_type: str
    actor_agent_id: AgentId
    task_id: TaskId
    created_at: datetime
    step_id: StepId | None = None


_decode: Final = msgspec.json.Decoder(Change).decode


class Recent:
    """The last changes of a session. Logs that did not grow are not read again. May block."""

    def __init__(self, session: TaskWriters) -> None:
        """Begin knowing nothing."""
        self._session = session
        self._known: dict[str, tuple[WalInfo, int, list[Change]]] = {}

    def changes(self, *, since: datetime, limit: int) -> list[Change]:
        """Return the last changes since a moment, oldest first.

        Lines that cannot be read are left out: who asks for their Task is told what is wrong.
        """
        known: dict[str, tuple[WalInfo, int, list[Change]]] = {}
        for found in self._session.found():
            if found.updated_at < since or found.error is not None:
                continue
            kept = self._known.get(found.name)
            if kept is None or kept[0] != found.info or kept[1] != limit:
                kept = (found.info, limit, self._read(found.name, limit))
            known[found.name] = kept
        self._known = known
        every = [
            change
            for _, _, changes in known.values()
            for change in changes
            if change.created_at >= since
        ]
        every.sort(key=lambda change: (change.created_at, change.task_id, change.wal_seq))
        return every[-limit:]

    def _read(self, name: str, limit: int) -> list[Change]:
        try:
            lines = self._session.last_lines(name, limit)
        except TaskloomError:
            return []
        found: list[Change] = []
        for line in lines:
            try:
                found.append(_decode(line))
            except DECODE_ERRORS:
                continue
        return [change for change in found if change.created_at.tzinfo is not None]
