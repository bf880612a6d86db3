"""A tool: what the model sees of it, how its arguments are checked, and how it runs.

There are four kinds of tools, by their result: text, a stream of text, parts, a stream of parts.
The signature of a function decides its kind; an object has the method of its kind. Only the
wrappers of that kind are called.
"""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Any, Protocol, TypeAlias, overload, runtime_checkable

from msgspec import Struct

from taskloom.agent.chat_model import ToolInfo
from taskloom.agent.errors import InvalidToolError
from taskloom.agent.tools.function import (
    arguments_type,
    check_struct,
    description,
    json_schema,
    returns_parts,
    run_function,
    stream_function,
)
from taskloom.agent.tools.schema_check import check_schema


class ToolKind(StrEnum):
    """What a tool returns."""

    TEXT = "text"
    STREAM = "stream"
    RICH = "rich"
    RICH_STREAM = "rich_stream"


Run: TypeAlias = Callable[[dict[str, Any]], Awaitable[Any] | AsyncIterator[Any]]
Check: TypeAlias = Callable[[Mapping[str, Any]], dict[str, Any]]


class Tool(Struct, frozen=True, eq=False):
    """A tool as the loop runs it. Made by `tool`, `as_tool` or `Agent.as_tool`.

    `idempotent` promises that running a call twice has the effect of running it once. After a
    crash such a call runs again; any other is reported to the model.
    """

    info: ToolInfo
    kind: ToolKind
    check: Check
    run: Run
    idempotent: bool = False

    @property
    def name(self) -> str:
        """The name that the model calls."""
        return self.info.name


@runtime_checkable
class ToolObject(Protocol):
    """An object that is a tool: `info`, and one of `call`, `stream`, `call_rich`, `stream_rich`.

    Each takes the checked arguments as one dict. `idempotent` may be set to True.
    """

    @property
    def info(self) -> ToolInfo:
        """The tool as the model sees it."""
        ...


ToolLike: TypeAlias = Tool | ToolObject | Callable[..., Any]
"""What `Agent(tools=[…])` accepts."""

_METHODS = {
    ToolKind.TEXT: "call",
    ToolKind.STREAM: "stream",
    ToolKind.RICH: "call_rich",
    ToolKind.RICH_STREAM: "stream_rich",
}


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str = "",
    description: str = "",
    idempotent: bool = False,
    rich: bool | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str = "",
    description: str = "",
    idempotent: bool = False,
    rich: bool | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool from a typed function; a decorator with or without options.

    Args:
        function: sync (it then runs in a thread), async, or a generator of either.
        name: the name for the model; the function's by default.
        description: the purpose for the model; the docstring by default.
        idempotent: a call may run again after a crash.
        rich: it returns parts; by default its return annotation decides.
    """

    def make(function: Callable[..., Any]) -> Tool:
        return _from_function(function, name, description, idempotent=idempotent, rich=rich)

    return make if function is None else make(function)


def _from_function(
    function: Callable[..., Any], name: str, text: str, *, idempotent: bool, rich: bool | None
) -> Tool:
    name = name or getattr(function, "__name__", "")
    if not name.isidentifier():
        raise InvalidToolError(f"{function!r} has no name that a model could call; pass `name=`.")
    arguments = arguments_type(function, name)
    is_rich = returns_parts(function) if rich is None else rich
    streams = inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
    info = ToolInfo(name, text or description(function), json_schema(arguments, name))
    if streams:
        kind = ToolKind.RICH_STREAM if is_rich else ToolKind.STREAM
        run: Run = stream_function(function, rich=is_rich)
    else:
        kind = ToolKind.RICH if is_rich else ToolKind.TEXT
        run = run_function(function, rich=is_rich)
    return Tool(info, kind, check_struct(arguments), run, idempotent)


def as_tool(thing: ToolLike) -> Tool:
    """Return a function, tool object or tool as a `Tool`.

    Raises:
        InvalidToolError: it is none of these.
    """
    if isinstance(thing, Tool):
        return thing
    if isinstance(thing, ToolObject):
        return _from_object(thing)
    if callable(thing):
        return tool(thing)
    raise InvalidToolError(f"{thing!r} is not a tool: pass a function or an object with `info`.")


def _from_object(thing: ToolObject) -> Tool:
    for kind, method in reversed(_METHODS.items()):
        run = getattr(thing, method, None)
        if run is not None:
            idempotent = bool(getattr(thing, "idempotent", False))
            return Tool(thing.info, kind, check_schema(thing.info.parameters), run, idempotent)
    raise InvalidToolError(
        f"Tool `{thing.info.name}` has `info` but no method; add one of "
        f"{', '.join(_METHODS.values())}."
    )
