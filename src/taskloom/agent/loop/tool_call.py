"""One tool call: find the tool, check the arguments, run it, collect its result."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from taskloom.agent.errors import ToolArgumentsError
from taskloom.agent.events import ToolDelta
from taskloom.agent.loop.hooks import Hook, wrap_tool
from taskloom.agent.loop.run_context import RunContext
from taskloom.agent.messages import Content, Part, TextPart, ToolCall
from taskloom.agent.middleware import ToolRequest
from taskloom.agent.model_texts import Texts
from taskloom.agent.tools.function import part_of, parts_of
from taskloom.agent.tools.tool import Tool, ToolKind


class RefusedCall(Struct, frozen=True):
    """A call that cannot run, with the reason for the model."""

    text: str


class PreparedCall(Struct, frozen=True):
    """A call that may run: `arguments` as the model wrote them, `checked` as the tool gets them."""

    call: ToolCall
    tool: Tool
    arguments: dict[str, Any]
    checked: dict[str, Any]


Endpoint: TypeAlias = Callable[[PreparedCall], Any]
"""Runs a prepared call: the tool inside the wrappers of its kind."""


def prepare_call(
    call: ToolCall, offered: Mapping[str, Tool], texts: Texts
) -> PreparedCall | RefusedCall:
    """Find the tool among those offered and check the arguments; nothing runs."""
    tool = offered.get(call.name)
    if tool is None:
        names = ", ".join(offered)
        text = texts.unknown_tool if names else texts.no_tools
        return RefusedCall(text.format(name=call.name, tools=names))
    try:
        arguments = msgspec.json.decode(call.arguments or "{}")
    except (msgspec.DecodeError, ValueError, TypeError, RecursionError) as error:
        return RefusedCall(texts.bad_json.format(name=call.name, reason=error))
    if not isinstance(arguments, dict):
        wanted = tool.info.parameters.get("required") or ("argument",)
        example = "{" + ", ".join(f'"{name}": …' for name in wanted) + "}"
        return RefusedCall(texts.not_an_object.format(name=call.name, example=example))
    try:
        checked = tool.check(arguments)  # pyright: ignore[reportUnknownArgumentType]  # JSON: any values
    except ToolArgumentsError as error:
        return RefusedCall(texts.bad_arguments.format(name=call.name, reason=error))
    except RecursionError as error:
        return RefusedCall(texts.bad_json.format(name=call.name, reason=error))
    return PreparedCall(call, tool, arguments, checked)  # pyright: ignore[reportUnknownArgumentType]  # as above


def make_endpoint(tool: Tool, hooks: tuple[Hook, ...]) -> Endpoint:
    """Return the function that runs a tool's calls inside the wrappers."""
    if not hooks:
        return lambda prepared: tool.run(prepared.checked)

    def run(prepared: PreparedCall) -> Any:
        call, arguments = prepared.call, prepared.arguments

        def inner(request: ToolRequest) -> Any:
            if request.arguments == arguments:
                return tool.run(prepared.checked)
            return tool.run(tool.check(request.arguments))  # A wrapper changed them.

        request = ToolRequest(call.id, call.name, dict(arguments), tool.info)
        return wrap_tool(hooks, inner)(request)

    return run


async def run_call(context: RunContext, prepared: PreparedCall, run: Endpoint) -> Content:
    """Run the call and return its whole result; emit each chunk of a streaming tool."""
    match prepared.tool.kind:
        case ToolKind.TEXT:
            text = await run(prepared)
            return text if isinstance(text, str) else str(text)
        case ToolKind.RICH:
            return parts_of(await run(prepared))
        case ToolKind.STREAM:
            return "".join([chunk async for chunk in _chunks(context, prepared, run)])
        case ToolKind.RICH_STREAM:
            return _joined([part_of(part) async for part in _chunks(context, prepared, run)])


async def _chunks(context: RunContext, prepared: PreparedCall, run: Endpoint) -> AsyncIterator[Any]:
    call = prepared.call
    stream = run(prepared)
    async with AsyncExitStack() as stack:
        if hasattr(stream, "aclose"):
            stack.push_async_callback(stream.aclose)
        async for chunk in stream:
            if context.stream:
                await context.emit(ToolDelta(call.id, call.name, chunk))
            yield chunk


def _joined(parts: list[Part]) -> tuple[Part, ...]:
    """Join adjacent text parts, so that the result does not depend on the chunking."""
    joined: list[Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, TextPart) and isinstance(last, TextPart):
            joined[-1] = TextPart(last.text + part.text)
        else:
            joined.append(part)
    return tuple(joined)
