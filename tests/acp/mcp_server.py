"""A program: an MCP server with a tool that reads and one that writes."""

import asyncio
import os
import sys
from typing import Any

import mcp_types as t
from mcp.server import Server
from mcp.server.stdio import stdio_server

SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}


async def list_tools(_: Any, __: Any) -> t.ListToolsResult:
    """Two tools, and those that the command line names."""
    reads = t.ToolAnnotations(read_only_hint=True)
    return t.ListToolsResult(
        tools=[
            t.Tool(name="look-up", description="Look up", input_schema=SCHEMA, annotations=reads),
            t.Tool(name="store", description="Store a word", input_schema=SCHEMA),
            *(t.Tool(name=name, input_schema=SCHEMA) for name in sys.argv[1:]),
        ]
    )


async def call_tool(_: Any, params: t.CallToolRequestParams) -> t.CallToolResult:
    """Say what was asked."""
    word = (params.arguments or {})["word"]
    if word == "die":
        os._exit(3)
    if word == "bad":
        text = t.TextContent(type="text", text="that word is bad")
        return t.CallToolResult(content=[text], is_error=True)
    said = f"{params.name} {word} {os.environ.get('GREETING', '')}".strip()
    return t.CallToolResult(content=[t.TextContent(type="text", text=said)])


async def main() -> None:
    """Serve on standard streams."""
    server = Server("words", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
