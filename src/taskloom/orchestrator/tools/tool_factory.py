"""Making a tool of the board: its name, its strict schema, its texts, its errors."""

from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from typing import Any, Final, TypeAlias

from taskloom.agent import Language, Tool, ToolInfo, ToolKind, call_address
from taskloom.board import validation
from taskloom.orchestrator.tools.results import answered
from taskloom.orchestrator.tools.schemas import SCHEMAS, Schema
from taskloom.orchestrator.tools.tool_texts import tool_texts

PREFIX: Final = "agent."
"""What the canonical names begin with; models whose provider forbids dots see another name."""

Handler: TypeAlias = Callable[[dict[str, Any]], Awaitable[Any]]


def make_tool(name: str, language: Language, handle: Handler, most: int) -> Tool:
    """Return a tool. Running a call twice does no more than once: its commands have ids.

    The schema is what the model is told. Arguments are checked by the board, whose errors name the
    path and have a code, so nothing is refused before it. No answer is longer than `most` bytes.
    """
    schema = SCHEMAS[name]
    required: list[str] = schema["required"]
    optional = [each for each in schema["properties"] if each not in required]

    async def run(arguments: dict[str, Any]) -> str:
        async def work() -> Any:
            present = {key: value for key, value in arguments.items() if value is not None}
            validation.fields(present, "$", required=required, optional=optional)
            return await handle(present)

        return await answered(work, most)

    texts = tool_texts(language)
    info = ToolInfo(PREFIX + name, texts[name], _described(name, schema, texts))
    return Tool(info, ToolKind.TEXT, dict, run, idempotent=True)


def command_id() -> str:
    """Return the id of the command that the tool call under way stands for, and no other call."""
    return sha256(call_address().encode("utf-8", "replace")).hexdigest()[:32]


def _described(name: str, schema: Schema, texts: Mapping[str, str]) -> Schema:
    properties = {
        argument: {**shape, "description": texts[f"{name}.{argument}"]}
        if f"{name}.{argument}" in texts
        else shape
        for argument, shape in schema["properties"].items()
    }
    return {**schema, "properties": properties}
