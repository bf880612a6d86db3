"""Decorators that turn a function into a middleware with one hook.

    @before_model
    async def trim(state: State) -> None:
        del state.messages[:-20]

    Agent(model, middleware=[trim])

The before and after hooks may be plain functions too.
"""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import wraps
from typing import Any, TypeAlias

from taskloom.agent.chat_model import ModelRequest
from taskloom.agent.messages import Message, Part
from taskloom.agent.middleware import (
    Middleware,
    ModelHandler,
    RichStreamingToolHandler,
    RichToolHandler,
    RunSetup,
    State,
    StreamingToolHandler,
    ToolHandler,
    ToolRequest,
)
from taskloom.agent.result import Result

SetupHook: TypeAlias = Callable[[RunSetup], Awaitable[None] | None]
StateHook: TypeAlias = Callable[[State], Awaitable[State | None] | State | None]
ResultHook: TypeAlias = Callable[[Result], Awaitable[None] | None]


class FunctionMiddleware(Middleware):
    """A middleware whose one hook is a function."""

    def __init__(self, hook: str, function: Callable[..., Any]) -> None:
        """Set the function as the hook; `collect_hooks` finds it there."""
        self._name = getattr(function, "__name__", type(function).__name__)
        setattr(self, hook, function)

    @property
    def name(self) -> str:
        """The function's name."""
        return self._name


def _stage(hook: str, function: Callable[[Any], Any]) -> Middleware:
    @wraps(function)
    async def call(argument: Any) -> Any:
        result = function(argument)
        return await result if inspect.isawaitable(result) else result

    return FunctionMiddleware(hook, call)


def before_agent(function: SetupHook) -> Middleware:
    """Return a middleware from `(setup) -> None`."""
    return _stage("before_agent", function)


def before_model(function: StateHook) -> Middleware:
    """Return a middleware from `(state) -> state or None`."""
    return _stage("before_model", function)


def after_model(function: StateHook) -> Middleware:
    """Return a middleware from `(state) -> state or None`."""
    return _stage("after_model", function)


def after_agent(function: ResultHook) -> Middleware:
    """Return a middleware from `(result) -> None`."""
    return _stage("after_agent", function)


def wrap_model(
    function: Callable[[ModelRequest, ModelHandler], Awaitable[Message]],
) -> Middleware:
    """Return a middleware from `async (request, call) -> message`."""
    return FunctionMiddleware("wrap_model", function)


def wrap_tool_call(
    function: Callable[[ToolRequest, ToolHandler], Awaitable[str]],
) -> Middleware:
    """Return a middleware from `async (request, call) -> text`."""
    return FunctionMiddleware("wrap_tool_call", function)


def wrap_streaming_tool_call(
    function: Callable[[ToolRequest, StreamingToolHandler], AsyncIterator[str]],
) -> Middleware:
    """Return a middleware from an async generator `(request, call)` that yields text."""
    return FunctionMiddleware("wrap_streaming_tool_call", function)


def wrap_rich_tool_call(
    function: Callable[[ToolRequest, RichToolHandler], Awaitable[Sequence[Part]]],
) -> Middleware:
    """Return a middleware from `async (request, call) -> parts`."""
    return FunctionMiddleware("wrap_rich_tool_call", function)


def wrap_rich_streaming_tool_call(
    function: Callable[[ToolRequest, RichStreamingToolHandler], AsyncIterator[Part]],
) -> Middleware:
    """Return a middleware from an async generator `(request, call)` that yields parts."""
    return FunctionMiddleware("wrap_rich_streaming_tool_call", function)
