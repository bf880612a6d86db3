"""One tool call: is it allowed, are its arguments right, and what comes out of it."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any

import msgspec
from msgspec import Struct

from taskloom.agent.events import ToolDelta
from taskloom.agent.messages import Content, Part, TextPart, ToolCall
from taskloom.agent.middleware import ToolRequest
from taskloom.agent.middleware_chain import Hook, wrap_tool
from taskloom.agent.model_texts import Texts
from taskloom.agent.run_context import RunContext
from taskloom.agent.tools.function import part_of
from taskloom.agent.tools.schema import ToolArgumentsError
from taskloom.agent.tools.tool import Tool, ToolKind, rich_result


class Refusal(Struct, frozen=True):
    """Why a call cannot run, in words for the model."""

    text: str


class Prepared(Struct, frozen=True):
    """A call that may run."""

    call: ToolCall
    tool: Tool
    arguments: dict[str, Any]
    checked: dict[str, Any]


def prepare(call: ToolCall, offered: Mapping[str, Tool], texts: Texts) -> Prepared | Refusal:
    """Find the tool among those offered and check the arguments; nothing runs."""
    tool = offered.get(call.name)
    if tool is None:
        names = ", ".join(offered)
        text = texts.unknown_tool if names else texts.no_tools
        return Refusal(text.format(name=call.name, tools=names))
    try:
        arguments = msgspec.json.decode(call.arguments or "{}")
    except (msgspec.DecodeError, ValueError, TypeError, RecursionError) as error:
        return Refusal(texts.bad_json.format(name=call.name, reason=error))
    if not isinstance(arguments, dict):
        wanted = tool.info.parameters.get("required") or ("argument",)
        example = "{" + ", ".join(f'"{name}": …' for name in wanted) + "}"
        return Refusal(texts.not_an_object.format(name=call.name, example=example))
    try:
        checked = tool.check(arguments)  # pyright: ignore[reportUnknownArgumentType]  # JSON: any values
    except ToolArgumentsError as error:
        return Refusal(texts.bad_arguments.format(name=call.name, reason=error))
    except RecursionError as error:
        return Refusal(texts.bad_json.format(name=call.name, reason=error))
    return Prepared(call, tool, arguments, checked)  # pyright: ignore[reportUnknownArgumentType]  # as above


def endpoint(tool: Tool, hooks: tuple[Hook, ...]) -> Callable[[Prepared], Any]:
    """Return what runs a prepared call: the tool, inside its kind's wrappers."""
    if not hooks:
        return lambda prepared: tool.run(prepared.checked)

    def run(prepared: Prepared) -> Any:
        call, arguments = prepared.call, prepared.arguments

        def inner(request: ToolRequest) -> Any:
            if request.arguments == arguments:
                return tool.run(prepared.checked)
            return tool.run(tool.check(request.arguments))  # A wrapper changed them.

        request = ToolRequest(call.id, call.name, dict(arguments), tool.info)
        return wrap_tool(hooks, inner)(request)

    return run


async def invoke(live: RunContext, prepared: Prepared, run: Callable[[Prepared], Any]) -> Content:
    """Run the call and return its whole result; a stream is told piece by piece."""
    match prepared.tool.kind:
        case ToolKind.TEXT:
            text = await run(prepared)
            return text if isinstance(text, str) else str(text)
        case ToolKind.RICH:
            return tuple(rich_result(await run(prepared)))
        case ToolKind.STREAM:
            return "".join([chunk async for chunk in _chunks(live, prepared, run)])
        case ToolKind.RICH_STREAM:
            return _joined([part_of(part) async for part in _chunks(live, prepared, run)])


async def _chunks(
    live: RunContext, prepared: Prepared, run: Callable[[Prepared], Any]
) -> AsyncIterator[Any]:
    call = prepared.call
    stream = run(prepared)
    async with AsyncExitStack() as stack:
        if hasattr(stream, "aclose"):
            stack.push_async_callback(stream.aclose)
        async for chunk in stream:
            if live.stream:
                await live.emit(ToolDelta(call.id, call.name, chunk))
            yield chunk


def _joined(parts: list[Part]) -> tuple[Part, ...]:
    """Return the parts with neighbouring texts made one, so that chunking leaves no trace."""
    joined: list[Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, TextPart) and isinstance(last, TextPart):
            joined[-1] = TextPart(last.text + part.text)
        else:
            joined.append(part)
    return tuple(joined)
