"""The tool calls of one reply: which of them run, in parallel or in order, and their results.

For each call its start becomes durable, it runs, its result becomes durable, and then the reader
gets the event. So a start without a result means that the process died inside the call: an
idempotent tool runs again, any other is reported to the model.
"""

import asyncio
from collections.abc import Iterator
from contextvars import copy_context
from typing import cast

import anyio
import anyio.lowlevel

from taskloom.agent.errors import RunInterrupt, ToolArgumentsError, ToolError, ToolExecutionError
from taskloom.agent.events import ToolResult, ToolStarted
from taskloom.agent.loop.config import AgentConfig, Toolset
from taskloom.agent.loop.journal_entries import CallEnded, CallsStarted, Paused, RoundClosed
from taskloom.agent.loop.run_context import (
    CALL_SITE,
    CallSite,
    RunContext,
    await_in_context,
    is_cancelled,
)
from taskloom.agent.loop.tool_call import PreparedCall, RefusedCall, prepare_call, run_call
from taskloom.agent.loop.tracing import EXECUTE_TOOL, TOOL_CALL_ID, TOOL_NAME, span
from taskloom.agent.messages import Content, Message, ToolCall, encodable, new_id
from taskloom.agent.tools.tool import Tool


class ToolRound:
    """Runs the tool calls of the last message."""

    __slots__ = ("_calls", "_config", "_context", "_errors", "_interrupts", "_toolset")

    def __init__(self, config: AgentConfig, toolset: Toolset, context: RunContext) -> None:
        self._config = config
        self._toolset = toolset
        self._context = context
        self._calls = context.state.messages[-1].tool_calls
        self._interrupts: list[tuple[str, RunInterrupt]] = []
        self._errors: list[ToolExecutionError] = []

    async def run_calls(self) -> bool:
        """Run the calls that have no result yet; return False if one of them was interrupted.

        Raises:
            ToolExecutionError: a tool raised and the agent's `on_tool_error` is `raise`.
        """
        context, calls = self._context, self._calls
        prepared = await self._prepare(calls)
        if self._config.parallel_tools and len(prepared) > 1:
            await self._run_in_parallel(prepared)
        else:
            for one in prepared:
                await self._start(one)
                await await_in_context(self._run_call(one), copy_context())
        if self._interrupts:
            context.record(self._paused())
            return False
        if self._errors:
            raise self._errors[0]
        direct = [
            call.id
            for call in calls
            if call.name in self._toolset.return_directly and call.id in context.state.started
        ]
        context.record(RoundClosed(direct[-1] if direct else ""))
        return True

    async def _prepare(self, calls: tuple[ToolCall, ...]) -> list[PreparedCall]:
        """Return the calls that can run; give the others their error results."""
        state, texts = self._context.state, self._context.texts
        offered = self._offered()
        ready: list[PreparedCall] = []
        for call in calls:
            if call.id in state.finished:
                continue
            prepared = prepare_call(call, offered, texts)
            again = isinstance(prepared, PreparedCall) and prepared.tool.idempotent
            if call.id in state.started and not again:
                unknown = texts.outcome_unknown.format(name=call.name)
                await self._finish(call, unknown, is_error=True)
            elif isinstance(prepared, RefusedCall):
                await self._finish(call, prepared.text, is_error=True)
            else:
                ready.append(prepared)
        return ready

    def _offered(self) -> dict[str, Tool]:
        infos, tools = self._context.state.tools, self._toolset.tools
        if infos is None:
            return tools
        return {info.name: tools[info.name] for info in infos if info.name in tools}

    async def _run_in_parallel(self, prepared: list[PreparedCall]) -> None:
        await self._start(*prepared)
        try:
            async with anyio.create_task_group() as group:
                for one in prepared:
                    group.start_soon(self._run_call, one)
        except ExceptionGroup as failures:
            # What tools raise is caught in `_run_call`. This is the journal, which fails for all.
            raise failures.exceptions[0] from None

    async def _start(self, *prepared: PreparedCall) -> None:
        context = self._context
        await self._stop_if_cancelled()
        context.record(CallsStarted(tuple([one.call.id for one in prepared])))
        if context.journal is not None:
            await context.sync()
        if context.sink is not None:
            for one in prepared:
                await context.sink(ToolStarted(one.call))

    async def _stop_if_cancelled(self) -> None:
        """Start nothing new in a run that was cancelled since the last await."""
        if self._context.stopping:
            await anyio.lowlevel.checkpoint()  # The run's scope is cancelled: this raises.

    async def _run_call(self, prepared: PreparedCall) -> None:
        await self._stop_if_cancelled()
        context, call = self._context, prepared.call
        saved = context.state.saved.get(call.id)
        CALL_SITE.set(CallSite("tool", call.name, context.state.iterations, call.id, saved))
        endpoint = self._toolset.endpoints[call.name]
        attributes = {TOOL_NAME: call.name, TOOL_CALL_ID: call.id}
        try:
            with span(context.tracer, EXECUTE_TOOL, call.name, attributes):
                content = await run_call(context, prepared, endpoint)
        except (RunInterrupt, BaseExceptionGroup) as stopped:
            await self._keep_interrupt(call, stopped)
        except ToolArgumentsError as error:
            wrong = context.texts.bad_arguments.format(name=call.name, reason=error)
            await self._finish(call, wrong, is_error=True)
        except asyncio.CancelledError as error:
            if is_cancelled():
                raise
            await self._fail(call, error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool may raise anything; the model reads it
            await self._fail(call, error)
        else:
            await self._finish(call, content, is_error=False)

    async def _keep_interrupt(
        self, call: ToolCall, stopped: RunInterrupt | BaseExceptionGroup[BaseException]
    ) -> None:
        """Keep an interrupt, also one that a task group of the tool wrapped in a group."""
        if isinstance(stopped, RunInterrupt):
            self._interrupts.append((call.id, stopped))
            return
        asked, others = stopped.split(RunInterrupt)
        if asked is not None and others is None:
            self._interrupts += [(call.id, one) for one in _leaves(asked)]
        elif isinstance(stopped, Exception):
            await self._fail(call, stopped)
        else:
            raise stopped

    async def _fail(self, call: ToolCall, error: BaseException) -> None:
        error = _unwrapped(error)
        if self._config.on_tool_error == "raise":
            failure = ToolExecutionError(call.name, call.id, error)
            failure.__cause__ = error
            self._errors.append(failure)
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        text = self._context.texts.tool_raised.format(name=call.name, reason=reason)
        if isinstance(error, ToolError) and error.message:
            text = error.message
        await self._finish(call, text, is_error=True)

    async def _finish(self, call: ToolCall, content: Content, *, is_error: bool) -> None:
        """Record the result of a call, make it durable, and emit it."""
        context = self._context
        if isinstance(content, str):
            content = encodable(content)
        message = Message("tool", content, (), call.id, call.name, is_error, new_id("m_"))
        context.record(CallEnded(message))
        if context.journal is not None:
            await context.sync()
        if context.sink is not None:
            await context.sink(ToolResult(message))

    def _paused(self) -> Paused:
        order = {call.id: n for n, call in enumerate(self._calls)}
        found = sorted(self._interrupts, key=lambda pair: order[pair[0]])
        return Paused(
            interrupts=tuple(one for _, interrupt in found for one in interrupt.interrupts),
            calls=tuple(call_id for call_id, _ in found),
            saved={id_: stop.state for id_, stop in found if stop.state is not None},
        )


def _leaves(group: BaseExceptionGroup[RunInterrupt]) -> Iterator[RunInterrupt]:
    for one in group.exceptions:
        if isinstance(one, BaseExceptionGroup):
            yield from _leaves(one)
        else:
            yield one


def _unwrapped(error: BaseException) -> BaseException:
    """Return the only error inside a task group's `ExceptionGroup`: a model can act on that."""
    if not isinstance(error, ExceptionGroup):
        return error
    first, *others = cast("ExceptionGroup[Exception]", error).exceptions
    return cast("BaseException", error) if others else _unwrapped(first)
