"""What every workspace tool shares: the directory, the permit, the texts."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from taskloom.agent.chat_model import ToolInfo
from taskloom.agent.tools.function import arguments_type, check_struct, json_schema, run_function
from taskloom.agent.tools.tool import Tool, ToolKind
from taskloom.agent.workspace.backends import Commands, LocalCommands, TextFiles
from taskloom.agent.workspace.paths import OutsideWorkspaceError, resolve_path, shown
from taskloom.agent.workspace.permission import (
    Decision,
    NotPermittedError,
    PermissionRequest,
    Permit,
)
from taskloom.agent.workspace.secrets import is_secret
from taskloom.agent.workspace.workspace_texts import WorkspaceTexts


class WorkspaceContext(Struct, frozen=True):
    """One workspace."""

    root: Path
    permit: Permit
    texts: WorkspaceTexts
    environment: Mapping[str, str]
    also: tuple[Path, ...] = ()
    files: TextFiles | None = None
    """Where texts are read and written; None for the disk, which can be read in chunks too."""
    commands: Commands = LocalCommands()
    hidden: tuple[Path, ...] = ()
    """Directories that do not exist for the tools: the state of Taskloom itself."""

    def resolve(self, path: str) -> Path:
        """Return a path with its symbolic links resolved.

        Raises:
            OutsideWorkspaceError: it is outside the workspace, or hidden.
        """
        real = resolve_path(self.root, path, self.also)
        if self.is_hidden(real):
            raise OutsideWorkspaceError(self.texts.hidden.format(path=path))
        return real

    def is_hidden(self, real: Path) -> bool:
        """Return whether a path leads into a hidden directory, by whatever name."""
        return any(
            place == hidden.resolve() or _is_same(place, hidden)
            for hidden in self.hidden
            for place in (real, *real.parents)
        )

    def root_of(self, real: Path) -> Path:
        """Return the directory of the workspace, resolved, that contains a resolved path."""
        roots = [one.resolve() for one in (self.root, *self.also)]
        return next(one for one in roots if real.is_relative_to(one))

    def shown(self, real: Path) -> str:
        """Return a resolved path as the model knows it."""
        root = self.root_of(real)
        return shown(root, real) if root == self.root.resolve() else str(real)

    def is_secret(self, real: Path) -> bool:
        """Return whether a resolved path looks like it holds a secret."""
        return is_secret(self.root_of(real), real)

    async def readable(self, path: str) -> Path:
        """Return a path that may be read; a secret needs permission.

        Raises:
            OutsideWorkspaceError: it is outside the workspace.
            NotPermittedError: it is a secret, and permission was refused.
        """
        real = self.resolve(path)
        if self.is_secret(real):
            name = self.shown(real)
            request = PermissionRequest("read_secret", name, secret=True, target=str(real))
            await self.ask(request)
            self.check_unchanged(path, real)
        return real

    def check_unchanged(self, path: str, real: Path) -> None:
        """Check a path again after a question, which may have taken a while.

        Raises:
            OutsideWorkspaceError: it leads elsewhere now.
        """
        if self.resolve(path) != real:
            raise OutsideWorkspaceError(self.texts.moved.format(path=path))

    async def ask_to_write(self, real: Path, before: str | None, after: str | None) -> None:
        """Ask for permission to change a file's text.

        Raises:
            NotPermittedError: permission was refused.
        """
        secret = self.is_secret(real)
        request = PermissionRequest(
            "write", self.shown(real), (), secret, str(real), before=before, after=after
        )
        await self.ask(request)

    async def ask(self, request: PermissionRequest) -> None:
        """Ask for permission.

        Raises:
            NotPermittedError: permission was refused.
        """
        answer = await self.permit(request)
        decision = answer if isinstance(answer, Decision) else Decision(answer)
        if not decision.allowed:
            what = request.path or shlex.join(request.command)
            refused = self.texts.not_permitted.format(action=request.action, what=what)
            raise NotPermittedError(f"{refused} {decision.reason}".rstrip())


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # One of them does not exist; then their names decide.
        return False


def make_tool(
    function: Callable[..., Any], description: str, *, idempotent: bool, **arguments: str
) -> Tool:
    """Make a tool with these descriptions in place of its docstring: they can be translated."""
    name = function.__name__
    type_ = arguments_type(function, name)
    schema = msgspec.json.decode(msgspec.json.encode(json_schema(type_, name)))
    for argument, text in arguments.items():
        schema["properties"][argument]["description"] = text
    info = ToolInfo(name, description, schema)
    run = run_function(function, rich=False)
    return Tool(info, ToolKind.TEXT, check_struct(type_), run, idempotent)
