"""The allow list of `[run.allow]`: requests that need no confirmation."""

import re
import shlex
from functools import lru_cache

from taskloom.agent.workspace import PermissionRequest
from taskloom.config.config import FILE_NAME, AllowConfig


def is_allowed(allow: AllowConfig, request: PermissionRequest) -> bool:
    """Return whether the list allows a request; never for a secret or for the list's own file."""
    if request.secret or request.path == FILE_NAME:
        return False  # A worker that can write the list could allow itself anything.
    if request.action == "write":
        return any(_glob(pattern).fullmatch(request.path) for pattern in allow.write)
    if request.action == "run":
        return any(_has_prefix(request.command, prefix) for prefix in allow.run)
    return False


def _has_prefix(command: tuple[str, ...], prefix: str) -> bool:
    try:
        words = tuple(shlex.split(prefix))
    except ValueError:
        return False
    return bool(words) and command[: len(words)] == words


@lru_cache(maxsize=256)
def _glob(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of paths: `*` and `?` match within a name, `**` across directories."""
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    meaning = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meaning.get(piece, re.escape(piece)) for piece in pieces), re.DOTALL)
