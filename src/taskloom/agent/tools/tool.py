"""A tool: what the model is told, how its arguments are checked, and how it is run.

There are four kinds, by what a tool gives back: text, a stream of text, parts, a stream of
parts. A typed function says by its own shape which it is; an object has the method of its
kind. Wrappers are asked only for the kind that the tool itself is.
"""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol, TypeAlias, overload, runtime_checkable

from msgspec import Struct

from taskloom.agent.chat_model import ToolInfo
from taskloom.agent.errors import InvalidToolError
from taskloom.agent.messages import Part
from taskloom.agent.tools.function import gives_parts, parts_of, run_function, stream_function
from taskloom.agent.tools.schema import arguments_type, check_struct, description, json_schema
from taskloom.agent.tools.schema_check import check_schema


class ToolKind(StrEnum):
    """What a tool gives back."""

    TEXT = "text"
    STREAM = "stream"
    RICH = "rich"
    RICH_STREAM = "rich_stream"


Run: TypeAlias = Callable[[dict[str, Any]], Awaitable[Any] | AsyncIterator[Any]]
Check: TypeAlias = Callable[[Mapping[str, Any]], dict[str, Any]]


class Tool(Struct, frozen=True, eq=False):
    """A tool as the loop runs it. Made by `tool`, `as_tool` or `Agent.as_tool`.

    `idempotent` is a promise: running a call twice does no more than running it once. After a
    crash such a call is simply run again, any other is reported to the model.
    """

    info: ToolInfo
    kind: ToolKind
    check: Check
    run: Run
    idempotent: bool = False

    @property
    def name(self) -> str:
        """The name the model calls it by."""
        return self.info.name


@runtime_checkable
class ToolObject(Protocol):
    """An object that is a tool: `info`, and one of `call`, `stream`, `call_rich`, `stream_rich`.

    Each takes the checked arguments as one dict. `idempotent` may be set to True.
    """

    @property
    def info(self) -> ToolInfo:
        """What the model is told."""
        ...


ToolLike: TypeAlias = Tool | ToolObject | Callable[..., Any]
"""What may stand in a list of tools."""

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
    """Make a tool of a typed function; as a decorator with or without options.

    Args:
        function: sync (it then runs in a thread), async, or a generator of either.
        name: the name for the model; the function's by default.
        description: the purpose for the model; the docstring by default.
        idempotent: running a call again after a crash does no harm.
        rich: it gives parts; by default its return annotation says so.
    """

    def make(function: Callable[..., Any]) -> Tool:
        return _from_function(function, name, description, idempotent=idempotent, rich=rich)

    return make if function is None else make(function)


def _from_function(
    function: Callable[..., Any], name: str, text: str, *, idempotent: bool, rich: bool | None
) -> Tool:
    name = name or getattr(function, "__name__", "")
    if not name.isidentifier():
        raise InvalidToolError(f"{function!r} has no name a model could call; give `name=`.")
    arguments = arguments_type(function, name)
    is_rich = gives_parts(function) if rich is None else rich
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
    """Return the tool that `thing` is.

    Raises:
        InvalidToolError: it is none.
    """
    if isinstance(thing, Tool):
        return thing
    if isinstance(thing, ToolObject):
        return _from_object(thing)
    if callable(thing):
        return tool(thing)
    raise InvalidToolError(f"{thing!r} is neither a function nor a tool object.")


def _from_object(thing: ToolObject) -> Tool:
    for kind, method in reversed(_METHODS.items()):
        run = getattr(thing, method, None)
        if run is not None:
            idempotent = bool(getattr(thing, "idempotent", False))
            return Tool(thing.info, kind, check_schema(thing.info.parameters), run, idempotent)
    raise InvalidToolError(
        f"Tool `{thing.info.name}` has `info` but none of the methods "
        f"{', '.join(_METHODS.values())}."
    )


def rich_result(value: object) -> Sequence[Part]:
    """Return what a rich tool gave as a sequence of parts."""
    return parts_of(value)
