"""Makes the Task tools: name, strict schema, texts and error handling."""

from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from typing import Any, Final, TypeAlias

from taskloom.agent import Language, Tool, ToolInfo, ToolKind, call_address
from taskloom.board import validation
from taskloom.orchestrator.tools.results import tool_answer
from taskloom.orchestrator.tools.schemas import SCHEMAS, Schema
from taskloom.orchestrator.tools.tool_texts import tool_texts

PREFIX: Final = "agent."
"""The prefix of the canonical names; a provider that forbids dots shows another name."""

Handler: TypeAlias = Callable[[dict[str, Any]], Awaitable[Any]]


def make_tool(name: str, language: Language, handle: Handler, max_bytes: int) -> Tool:
    """Return a tool. Running a call twice changes the board once: its commands have ids.

    The schema is for the model. The board checks the arguments, because its errors have a code and
    name the path. No answer is longer than `max_bytes`.
    """
    schema = SCHEMAS[name]
    required: list[str] = schema["required"]
    optional = [each for each in schema["properties"] if each not in required]

    async def run(arguments: dict[str, Any]) -> str:
        async def work() -> Any:
            present = {key: value for key, value in arguments.items() if value is not None}
            validation.fields(present, "$", required=required, optional=optional)
            return await handle(present)

        return await tool_answer(work, max_bytes)

    texts = tool_texts(language)
    info = ToolInfo(PREFIX + name, texts[name], _described(name, schema, texts))
    return Tool(info, ToolKind.TEXT, dict, run, idempotent=True)


def command_id() -> str:
    """Return the id of the command of this tool call: the same when the call is run again."""
    return sha256(call_address().encode("utf-8", "replace")).hexdigest()[:32]


def _described(name: str, schema: Schema, texts: Mapping[str, str]) -> Schema:
    properties = {
        argument: {**shape, "description": texts[f"{name}.{argument}"]}
        if f"{name}.{argument}" in texts
        else shape
        for argument, shape in schema["properties"].items()
    }
    return {**schema, "properties": properties}
