"""Permission to write, to run a command or to read a secret."""

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from msgspec import Struct

from taskloom.agent.errors import ToolError
from taskloom.errors import Code

Action: TypeAlias = Literal["read_secret", "write", "run"]


class PermissionRequest(Struct, frozen=True):
    """What a tool is about to do: to which path, or with which command.

    `target` is the resolved path, for a command its directory. For a write, `before` is the file's
    text now and `after` the text it would get; both are None if the texts are too long to show.
    """

    action: Action
    path: str = ""
    command: tuple[str, ...] = ()
    secret: bool = False
    target: str = ""
    before: str | None = None
    after: str | None = None
    directory: str = "."
    """Where a command runs, as the model knows it."""
    sandbox: str = ""
    """The sandbox that confines the command; empty if none does."""
    leaves_sandbox: bool = False
    """Whether the command asks to run outside the sandbox that there is."""


class Decision(Struct, frozen=True):
    """An answer to a permission request; the model reads the reason of a no."""

    allowed: bool
    reason: str = ""

    def __bool__(self) -> bool:
        """Return whether it is a yes: `if await permit(request)` must not take a no for one."""
        return self.allowed


Permit: TypeAlias = Callable[[PermissionRequest], Awaitable["bool | Decision"]]
"""Returns whether the action is allowed. It may ask a person, also with `interrupt`."""


class NotPermittedError(ToolError):
    """The permit refused an action; do without it, or ask the user."""

    CODE = Code.PERMISSION_DENIED


async def refuse_all(_: PermissionRequest) -> bool:
    """Refuse everything: the default of a workspace."""
    return False


async def allow_all(_: PermissionRequest) -> bool:
    """Allow everything: for throw-away directories and tests."""
    return True
