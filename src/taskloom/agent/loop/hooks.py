"""The hooks of a list of middlewares, found once: a hook that none overrides costs nothing."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from taskloom.agent.chat_model import ModelRequest
from taskloom.agent.errors import HookError, ModelError
from taskloom.agent.loop.run_context import CALL_SITE, CallSite, RunContext, is_cancelled
from taskloom.agent.messages import Message
from taskloom.agent.middleware import Middleware, ModelHandler, ToolRequest
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
    """For each hook the middlewares that override it, in the order of the list."""

    before_agent: tuple[Hook, ...]
    before_model: tuple[Hook, ...]
    wrap_model: tuple[Hook, ...]
    after_model: tuple[Hook, ...]
    after_agent: tuple[Hook, ...]
    wrap_tool: dict[ToolKind, tuple[Hook, ...]]


def collect_hooks(
    middleware: Sequence[Middleware], tool_middleware: Sequence[Middleware] = ()
) -> Hooks:
    """Return the overridden hooks; `tool_middleware` wraps tools outside of `middleware`."""
    around = (*tool_middleware, *middleware)
    wrap_tool = {kind: _overridden(around, hook) for kind, hook in TOOL_HOOKS.items()}
    return Hooks(
        before_agent=_overridden(middleware, "before_agent"),
        before_model=_overridden(middleware, "before_model"),
        wrap_model=_overridden(middleware, "wrap_model"),
        after_model=_overridden(middleware, "after_model"),
        after_agent=_overridden(middleware, "after_agent"),
        wrap_tool=wrap_tool,
    )


def _overridden(middleware: Sequence[Middleware], hook: str) -> tuple[Hook, ...]:
    default = getattr(Middleware, hook)
    return tuple(
        (one.name, getattr(one, hook))
        for one in middleware
        if getattr(type(one), hook) is not default or hook in vars(one)
    )


async def call_hook(context: RunContext, stage: str, hook: Hook, argument: Any) -> Any:
    """Call one hook of a stage; an exception leaves as a `HookError` that names the hook."""
    name, function = hook
    token = CALL_SITE.set(CallSite(stage, name, context.state.iterations))
    try:
        return await function(argument)
    except HookError:
        raise
    except asyncio.CancelledError as error:
        if is_cancelled():
            raise
        raise HookError(name, stage, error) from error
    except Exception as error:
        raise HookError(name, stage, error) from error
    finally:
        CALL_SITE.reset(token)


def wrap_model(context: RunContext, hooks: Sequence[Hook], model: ModelHandler) -> ModelHandler:
    """Nest the model wrappers around a model, the first outermost."""
    for hook in reversed(hooks):
        model = _model_layer(context, hook, model)
    return model


def _model_layer(context: RunContext, hook: Hook, inner: ModelHandler) -> ModelHandler:
    name, function = hook

    async def handle(request: ModelRequest) -> Message:
        from_inside: list[Exception] = []

        async def watched(request: ModelRequest) -> Message:
            try:
                return await inner(request)
            except Exception as error:
                from_inside.append(error)
                raise

        token = CALL_SITE.set(CallSite("wrap_model", name, context.state.iterations))
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
            CALL_SITE.reset(token)

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
