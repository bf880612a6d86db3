"""The MCP servers that the client names: connects them and offers their tools to the agent.

The module is loaded with the first server: the MCP library takes most of a second to import. One
task enters and leaves all connections of a session, as their context managers require.
"""

import asyncio
import base64
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final, cast

import mcp_types
from acp.schema import HttpMcpServer, McpServerStdio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from msgspec import Struct

from taskloom.acp.protocol.tool_calls import BUILT_IN_TOOLS
from taskloom.agent import ImagePart, Part, TextPart, Tool, ToolInfo, as_tool
from taskloom.agent.workspace import program_environment

CONNECT_S: Final = 30.0
CLOSE_S: Final = 10.0
"""How long to wait for the servers to end."""
NAME_CHARS_MAX: Final = 64
"""The longest tool name that providers accept."""

_LOG = logging.getLogger("taskloom.acp")

PermitTool = Callable[[str], Awaitable[bool]]
"""Tells whether the tool of this name may be called; it may ask the person."""


class ServerTool(Struct, frozen=True):
    """A tool of a server."""

    tool: Tool
    kind: str
    is_read_only: bool


class McpConnections:
    """The MCP servers of one session."""

    def __init__(self, servers: Sequence[object], cwd: Path, permit: PermitTool) -> None:
        """Take the servers; `start` connects them."""
        self._servers = servers
        self._cwd = cwd
        self._permit = permit
        self._ready = asyncio.Event()
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._tools: dict[str, ServerTool] = {}
        self.failures: list[str] = []
        """What could not be connected, as sentences for the person."""

    def start(self) -> None:
        """Start to connect, in the background."""
        self._task = asyncio.get_running_loop().create_task(
            self._connect_all(), name="taskloom mcp"
        )

    async def tools(self) -> list[ServerTool]:
        """Return the tools of all servers, when each is connected or has failed."""
        await self._ready.wait()
        return list(self._tools.values())

    async def close(self) -> None:
        """End every server."""
        self._stop.set()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=CLOSE_S)

    async def _connect_all(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                for server in self._servers:
                    await self._connect(server, stack)
                self._ready.set()
                await self._stop.wait()
        except asyncio.CancelledError:
            raise
        except Exception:  # noqa: BLE001 - a server must not end the session
            _LOG.exception("an MCP server failed")
        finally:
            self._ready.set()

    async def _connect(self, server: object, stack: AsyncExitStack) -> None:
        name = str(getattr(server, "name", "?"))
        own = AsyncExitStack()
        try:
            async with own:
                # Not a cancel scope of anyio: what is entered here stays open after it.
                async with asyncio.timeout(CONNECT_S):
                    client = await own.enter_async_context(await self._client(server, own))
                    for tool in await _all_tools(client):
                        self._add(name, client, tool)
                stack.push_async_exit(own.pop_all())
        except Exception as error:  # noqa: BLE001 - the other servers are still connected
            reason = _reason(error)
            _LOG.warning("cannot connect the MCP server %s: %s", name, reason)
            self.failures.append(f"Cannot connect the MCP server `{name}`: {reason}")

    async def _client(self, server: object, stack: AsyncExitStack) -> Client:
        if isinstance(server, McpServerStdio):
            environment = {one.name: one.value for one in server.env}
            return Client(
                StdioServerParameters(
                    command=server.command,
                    args=list(server.args),
                    env={**program_environment(), **environment},
                    cwd=self._cwd,
                )
            )
        if isinstance(server, HttpMcpServer):
            headers = {one.name: one.value for one in server.headers}
            http = await stack.enter_async_context(create_mcp_http_client(headers=headers))
            return Client(streamable_http_client(server.url, http_client=http))
        raise ValueError("only stdio and http servers are supported")

    def _add(self, server: str, client: Client, tool: mcp_types.Tool) -> None:
        name = self._name(server, tool.name)
        hints = tool.annotations
        is_read_only = hints is not None and hints.read_only_hint is True
        schema: dict[str, Any] = dict(tool.input_schema) or {"type": "object"}
        info = ToolInfo(name, tool.description or tool.title or tool.name, schema)
        permit = None if is_read_only else self._permit
        remote = _RemoteTool(info, client, tool.name, permit)
        kind = "read" if is_read_only else "other"
        self._tools[name] = ServerTool(as_tool(remote), kind, is_read_only)

    def _name(self, server: str, tool: str) -> str:
        name = re.sub(r"[^A-Za-z0-9_]", "_", f"{server}_{tool}")[:NAME_CHARS_MAX]
        name = name if name[:1].isalpha() else f"t{name}"[:NAME_CHARS_MAX]
        number = 2
        unique = name
        while unique in self._tools or unique in BUILT_IN_TOOLS:
            unique = f"{name[: NAME_CHARS_MAX - 4]}_{number}"
            number += 1
        return unique


class _RemoteTool:
    """A tool of a server as a tool of the agent."""

    def __init__(
        self, info: ToolInfo, client: Client, name: str, permit: PermitTool | None
    ) -> None:
        self._info = info
        self._client = client
        self._name = name
        self._permit = permit

    @property
    def info(self) -> ToolInfo:
        return self._info

    async def call_rich(self, arguments: dict[str, Any]) -> Sequence[Part]:
        if self._permit is not None and not await self._permit(self._info.name):
            raise PermissionError(
                "no permission to call this tool. Do without it, or ask the user."
            )
        try:
            result = await self._client.call_tool(self._name, arguments)
        except MCPError as error:
            raise RuntimeError(
                f"its MCP server failed: {error}. Do without this tool, or tell the user."
            ) from error
        parts = [_part(block) for block in result.content]
        if result.is_error:
            reason = " ".join(part.text for part in parts if isinstance(part, TextPart))
            raise RuntimeError(reason or "the server gave no reason")
        return parts


def _part(block: object) -> Part:
    if isinstance(block, mcp_types.TextContent):
        return TextPart(block.text)
    if isinstance(block, mcp_types.ImageContent):
        return ImagePart(block.mime_type, base64.b64decode(block.data))
    dump = getattr(block, "model_dump_json", None)
    return TextPart(cast("Callable[..., str]", dump)(by_alias=True) if dump else str(block))


async def _all_tools(client: Client) -> list[mcp_types.Tool]:
    found: list[mcp_types.Tool] = []
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if not cursor:
            return found


def _reason(error: BaseException) -> str:
    """Return the message of an error, or of the first error in a group."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return str(error) or type(error).__name__
