"""What every interface shares about a session: its store, host lock, permissions and transcript."""

from taskloom.session.agent_defaults import CONTEXT_TOKENS, RETRY, tool_reduction
from taskloom.session.allow_rules import AllowRules, read_rule
from taskloom.session.conversation import Conversation, fit_messages
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
from taskloom.session.protected_paths import ProtectedPaths
from taskloom.session.store import SessionStore, new_session_id, title_of
from taskloom.session.transcript import (
    CommandRecord,
    MessageRecord,
    PromptRecord,
    Record,
    RewriteRecord,
    Transcript,
    TurnEnd,
)

__all__ = [
    "CONTEXT_TOKENS",
    "RETRY",
    "AllowRules",
    "Allows",
    "Answer",
    "Asker",
    "CommandRecord",
    "Conversation",
    "HostLock",
    "MessageRecord",
    "PermissionPolicy",
    "PromptRecord",
    "ProtectedPaths",
    "Question",
    "Record",
    "RewriteRecord",
    "SessionDirectory",
    "SessionIndex",
    "SessionInfo",
    "SessionStore",
    "ToolRequest",
    "Transcript",
    "TurnEnd",
    "allow_nothing",
    "fit_messages",
    "new_session_id",
    "read_rule",
    "title_of",
    "tool_reduction",
]
