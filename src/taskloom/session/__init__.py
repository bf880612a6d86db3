"""What every interface shares about a session: its store, host lock, permissions and transcript."""

from taskloom.session.directory import SessionDirectory, SessionInfo
from taskloom.session.host_lock import HostLock
from taskloom.session.index import SessionIndex
from taskloom.session.permissions import (
    Allows,
    Answer,
    Asker,
    PermissionPolicy,
    Question,
    ToolRequest,
    allow_nothing,
)
from taskloom.session.store import SessionStore, new_session_id, title_of
from taskloom.session.transcript import Asked, Over, Recalled, Record, Said, Told, Transcript

__all__ = [
    "Allows",
    "Answer",
    "Asked",
    "Asker",
    "HostLock",
    "Over",
    "PermissionPolicy",
    "Question",
    "Recalled",
    "Record",
    "Said",
    "SessionDirectory",
    "SessionIndex",
    "SessionInfo",
    "SessionStore",
    "Told",
    "ToolRequest",
    "Transcript",
    "allow_nothing",
    "new_session_id",
    "title_of",
]
