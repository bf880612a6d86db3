"""The hooks of a list of middlewares, looked up once: only those somebody wrote are here."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from taskloom.agent.cancellation import is_stray_cancellation
from taskloom.agent.chat_model import ModelRequest
from taskloom.agent.errors import HookError, ModelError
from taskloom.agent.messages import Message
from taskloom.agent.middleware import Middleware, ModelHandler, ToolRequest
from taskloom.agent.run_context import SCOPE, CallSite, RunContext
from taskloom.agent.tools.tool import ToolKind

TOOL_HOOKS = {
    ToolKind.TEXT: "wrap_tool_call",
    ToolKind.STREAM: "wrap_streaming_tool_call",
    ToolKind.RICH: "wrap_rich_tool_call",
    ToolKind.RICH_STREAM: "wrap_rich_streaming_tool_call",
}

Hook: TypeAlias = tuple[str, Callable[..., Any]]
"""A middleware's name, and its bound method."""


class Hooks(Struct, frozen=True):
    """For each hook the middlewares that have it, in the order of the list."""

    before_agent: tuple[Hook, ...]
    before_model: tuple[Hook, ...]
    wrap_model: tuple[Hook, ...]
    after_model: tuple[Hook, ...]
    after_agent: tuple[Hook, ...]
    wrap_tool: dict[ToolKind, tuple[Hook, ...]]


def resolve(middleware: Sequence[Middleware], tool_middleware: Sequence[Middleware] = ()) -> Hooks:
    """Find the hooks that were written; agent-level tool wrappers stand outside the others."""
    around = (*tool_middleware, *middleware)
    wrap_tool = {kind: _written(around, hook) for kind, hook in TOOL_HOOKS.items()}
    return Hooks(
        before_agent=_written(middleware, "before_agent"),
        before_model=_written(middleware, "before_model"),
        wrap_model=_written(middleware, "wrap_model"),
        after_model=_written(middleware, "after_model"),
        after_agent=_written(middleware, "after_agent"),
        wrap_tool=wrap_tool,
    )


def _written(middleware: Sequence[Middleware], hook: str) -> tuple[Hook, ...]:
    default = getattr(Middleware, hook)
    return tuple(
        (one.name, getattr(one, hook))
        for one in middleware
        if getattr(type(one), hook) is not default or hook in vars(one)
    )


async def call_hook(live: RunContext, stage: str, hook: Hook, argument: Any) -> Any:
    """Call one hook of a stage; what it raises names it."""
    name, function = hook
    token = SCOPE.set(CallSite(stage, name, live.progress.iterations))
    try:
        return await function(argument)
    except HookError:
        raise
    except asyncio.CancelledError as error:
        if not is_stray_cancellation():
            raise
        raise HookError(name, stage, error) from error
    except Exception as error:
        raise HookError(name, stage, error) from error
    finally:
        SCOPE.reset(token)


def wrap_model(live: RunContext, hooks: Sequence[Hook], model: ModelHandler) -> ModelHandler:
    """Nest the model wrappers around a model, the first outermost."""
    for hook in reversed(hooks):
        model = _model_layer(live, hook, model)
    return model


def _model_layer(live: RunContext, hook: Hook, inner: ModelHandler) -> ModelHandler:
    name, function = hook

    async def handle(request: ModelRequest) -> Message:
        from_inside: list[Exception] = []

        async def watched(request: ModelRequest) -> Message:
            try:
                return await inner(request)
            except Exception as error:
                from_inside.append(error)
                raise

        token = SCOPE.set(CallSite("wrap_model", name, live.progress.iterations))
        try:
            reply: Message = await function(request, watched)
        except (HookError, ModelError):
            raise
        except Exception as error:
            if any(error is seen for seen in from_inside):
                raise
            raise HookError(name, "wrap_model", error) from error
        else:
            return reply
        finally:
            SCOPE.reset(token)

    return handle


def wrap_tool(hooks: Sequence[Hook], tool: Callable[..., Any]) -> Callable[..., Any]:
    """Nest the tool wrappers around a tool, the first outermost."""
    for _, function in reversed(hooks):
        tool = _tool_layer(function, tool)
    return tool


def _tool_layer(function: Callable[..., Any], inner: Callable[..., Any]) -> Callable[..., Any]:
    def handle(request: ToolRequest) -> Any:
        return function(request, inner)

    return handle
