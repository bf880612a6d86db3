"""Who is asked before a tool writes, runs a command or opens a secret."""

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from msgspec import Struct

Action: TypeAlias = Literal["read_secret", "write", "run"]


class PermissionRequest(Struct, frozen=True):
    """What a tool is about to do: to which path, or with which command.

    `target` is the path resolved. For a write, `after` is the file's text as it would be and
    `before` as it is; both are None where the texts are too long to be shown.
    """

    action: Action
    path: str = ""
    command: tuple[str, ...] = ()
    secret: bool = False
    target: str = ""
    before: str | None = None
    after: str | None = None


Permit: TypeAlias = Callable[[PermissionRequest], Awaitable[bool]]
"""Says yes or no. It may ask a person, and may `interrupt` the run to do so."""


class NotPermittedError(Exception):
    """Whoever was asked said no."""


async def refuse_all(_: PermissionRequest) -> bool:
    """Say no: what holds until somebody gives the workspace a `permit`."""
    return False


async def allow_all(_: PermissionRequest) -> bool:
    """Say yes to everything: for throw-away directories and tests."""
    return True
