"""What every interface shares about a session: its directory, its host lock, its transcript."""

from taskloom.session.directory import SessionDirectory, SessionInfo
from taskloom.session.host_lock import HostLock
from taskloom.session.index import SessionIndex
from taskloom.session.store import SessionStore, new_session_id, title_of
from taskloom.session.transcript import Asked, Over, Recalled, Record, Said, Told, Transcript

__all__ = [
    "Asked",
    "HostLock",
    "Over",
    "Recalled",
    "Record",
    "Said",
    "SessionDirectory",
    "SessionIndex",
    "SessionInfo",
    "SessionStore",
    "Told",
    "Transcript",
    "new_session_id",
    "title_of",
]
