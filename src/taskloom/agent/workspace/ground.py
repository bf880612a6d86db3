"""What every workspace tool stands on: the directory, the one who permits, the texts."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from taskloom.agent.chat_model import ToolInfo
from taskloom.agent.schema import arguments_type, check_struct, json_schema
from taskloom.agent.tool import Tool, ToolKind
from taskloom.agent.tool_function import run_function
from taskloom.agent.workspace.paths import is_secret, resolve, shown
from taskloom.agent.workspace.permission import NotPermitted, PermissionRequest, Permit
from taskloom.agent.workspace.workspace_texts import WorkspaceTexts


class Ground(Struct, frozen=True):
    """One workspace."""

    root: Path
    permit: Permit
    texts: WorkspaceTexts
    environment: Mapping[str, str]

    async def readable(self, path: str) -> Path:
        """Return a path that may be read; a secret needs permission.

        Raises:
            OutsideWorkspace: it leads out.
            NotPermitted: it is a secret, and the answer was no.
        """
        real = resolve(self.root, path)
        if is_secret(self.root, real):
            name = shown(self.root, real)
            await self.ask(PermissionRequest("read_secret", name, secret=True))
        return real

    async def writable(self, path: str) -> Path:
        """Return a path that may be written, with permission.

        Raises:
            OutsideWorkspace: it leads out.
            NotPermitted: the answer was no.
        """
        real = resolve(self.root, path)
        secret = is_secret(self.root, real)
        await self.ask(PermissionRequest("write", shown(self.root, real), secret=secret))
        return real

    async def ask(self, request: PermissionRequest) -> None:
        """Ask for permission.

        Raises:
            NotPermitted: the answer was no.
        """
        if not await self.permit(request):
            what = request.path or " ".join(request.command)
            raise NotPermitted(self.texts.not_permitted.format(action=request.action, what=what))


def make_tool(
    function: Callable[..., Any], description: str, *, idempotent: bool, **arguments: str
) -> Tool:
    """Make a tool whose texts are not its docstring's, so that they can be in any language."""
    name = function.__name__
    type_ = arguments_type(function, name)
    schema = msgspec.json.decode(msgspec.json.encode(json_schema(type_, name)))
    for argument, text in arguments.items():
        schema["properties"][argument]["description"] = text
    info = ToolInfo(name, description, schema)
    run = run_function(function, rich=False)
    return Tool(info, ToolKind.TEXT, check_struct(type_), run, idempotent)
