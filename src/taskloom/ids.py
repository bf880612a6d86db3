"""The names things go by, and which of them are safe.

Ids come from the caller, never from us: nothing here makes one up. A safe id can be
a file name, a shell word and a Mermaid node without quoting.
"""

import re
from typing import Final, TypeAlias

TaskId: TypeAlias = str
StepId: TypeAlias = str
PoolId: TypeAlias = str
AgentId: TypeAlias = str
RunId: TypeAlias = str
SessionId: TypeAlias = str
EventId: TypeAlias = str
CommandId: TypeAlias = str

Seq: TypeAlias = int
"""The number of a line in one write-ahead log: 1, 2, 3… without a gap."""

ID_CHARS_MAX: Final = 80
"""Long enough for a sentence with dashes, short enough for every file system."""

WAL_SUFFIX: Final = ".wal.jsonl"

SESSION_ID_RULE: Final = "1 to 128 letters, digits, dots, - and _, the first not a dot"
"""What a session id may be, for messages."""

_SAFE: Final = re.compile(f"[a-z0-9_-]{{1,{ID_CHARS_MAX}}}")
_SESSION: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")


def is_safe_id(text: str) -> bool:
    """Tell whether `text` may name a Task, a step or a pool."""
    return _SAFE.fullmatch(text) is not None


def is_session_id(text: str) -> bool:
    """Tell whether `text` may name a session: it is the name of a directory."""
    return _SESSION.fullmatch(text) is not None


def wal_stem(name: str) -> str:
    """Return a WAL's name without its extension; `plan` and `plan.wal.jsonl` are the same."""
    return name.removesuffix(WAL_SUFFIX)
