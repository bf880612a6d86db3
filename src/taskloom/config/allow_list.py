"""The allow list of `[run.allow]`: what a worker may do without somebody being asked."""

import re
import shlex
from functools import lru_cache

from taskloom.agent.workspace import PermissionRequest
from taskloom.config.config import FILE_NAME, AllowConfig


def is_allowed(allow: AllowConfig, request: PermissionRequest) -> bool:
    """Tell whether the list covers a request; secrets and the list's own file it never does."""
    if request.secret or request.path == FILE_NAME:
        return False  # Who may write the list would need no list.
    if request.action == "write":
        return any(_glob(pattern).fullmatch(request.path) for pattern in allow.write)
    if request.action == "run":
        return any(_begins(request.command, words) for words in allow.run)
    return False


def _begins(command: tuple[str, ...], words: str) -> bool:
    try:
        wanted = tuple(shlex.split(words))
    except ValueError:
        return False
    return bool(wanted) and command[: len(wanted)] == wanted


@lru_cache(maxsize=256)
def _glob(pattern: str) -> re.Pattern[str]:
    """Return a pattern of paths: `*` and `?` within a name, `**` across folders."""
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    meaning = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meaning.get(piece, re.escape(piece)) for piece in pieces), re.DOTALL)
