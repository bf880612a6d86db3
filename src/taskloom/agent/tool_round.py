"""The tool calls of one reply: which run, side by side or one by one, and what they leave.

Order of things for each call: its start is durable, it runs, its end is durable, then the
listener is told. A call that was under way when the process died is known by a start without
an end: an idempotent tool runs again, any other is reported to the model.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextvars import copy_context
from typing import Any, cast

import anyio
import anyio.lowlevel

from taskloom.agent.agent_config import AgentConfig, Toolset
from taskloom.agent.cancellation import encodable, is_stray_cancellation
from taskloom.agent.context import await_in_context
from taskloom.agent.errors import RunInterrupt, ToolError, ToolExecutionError
from taskloom.agent.events import ToolResult, ToolStarted
from taskloom.agent.journal_entries import CallEnded, CallsStarted, Paused, TurnClosed
from taskloom.agent.messages import Content, Message, ToolCall, new_id
from taskloom.agent.run_context import SCOPE, CallSite, RunContext
from taskloom.agent.tools.call import Prepared, Refusal, endpoint, invoke, prepare
from taskloom.agent.tools.schema import ToolArgumentsError
from taskloom.agent.tools.tool import Tool
from taskloom.agent.tracing import EXECUTE_TOOL, TOOL_CALL_ID, TOOL_NAME, active_tracer, span


class ToolRounds:
    """Carries out the calls of the last message; one object serves a whole run."""

    def __init__(self, plan: AgentConfig, kit: Toolset, live: RunContext) -> None:
        """Wrap each tool when it is first called."""
        self._plan = plan
        self._kit = kit
        self._live = live
        self._tracer = active_tracer()
        self._endpoints: dict[str, Callable[[Prepared], Any]] = {}
        self._interrupts: list[tuple[str, RunInterrupt]] = []
        self._errors: list[ToolExecutionError] = []

    async def run_plan(self) -> bool:
        """Run what is still to run; tell whether the turn is closed, else it is paused.

        Raises:
            ToolExecutionError: a tool raised and the agent was told to end the run then.
        """
        live, progress = self._live, self._live.progress
        self._interrupts, self._errors = [], []
        calls = progress.messages[-1].tool_calls
        ready = await self._prepared(calls)
        if self._plan.parallel_tools and len(ready) > 1:
            await self._side_by_side(ready)
        else:
            for prepared in ready:
                await self._start(prepared)
                await await_in_context(self._carry_out(prepared), copy_context())
        if self._interrupts:
            live.note(self._paused())
            return False
        if self._errors:
            raise self._errors[0]
        direct = [
            call.id
            for call in calls
            if call.name in self._kit.return_directly and call.id in progress.started
        ]
        live.note(TurnClosed(direct[-1] if direct else ""))
        return True

    async def _prepared(self, calls: tuple[ToolCall, ...]) -> list[Prepared]:
        """Give their results to the calls that will not run; return the others."""
        progress, texts = self._live.progress, self._live.texts
        offered = self._offered()
        ready: list[Prepared] = []
        for call in calls:
            if call.id in progress.finished:
                continue
            prepared = prepare(call, offered, texts)
            again = isinstance(prepared, Prepared) and prepared.tool.idempotent
            if call.id in progress.started and not again:
                unknown = texts.outcome_unknown.format(name=call.name)
                await self._end(call, unknown, is_error=True)
            elif isinstance(prepared, Refusal):
                await self._end(call, prepared.text, is_error=True)
            else:
                ready.append(prepared)
        return ready

    def _offered(self) -> dict[str, Tool]:
        names, tools = self._live.progress.tools, self._kit.tools
        if names is None:
            return tools
        return {info.name: tools[info.name] for info in names if info.name in tools}

    async def _side_by_side(self, ready: list[Prepared]) -> None:
        await self._start(*ready)
        try:
            async with anyio.create_task_group() as group:
                for prepared in ready:
                    group.start_soon(self._carry_out, prepared)
        except ExceptionGroup as failures:
            # Tools cannot raise here; it is the journal, and all say the same.
            raise failures.exceptions[0] from None

    async def _start(self, *ready: Prepared) -> None:
        live = self._live
        await self._stop_if_cancelled()
        live.note(CallsStarted(tuple([prepared.call.id for prepared in ready])))
        if live.journal is not None:
            await live.settle()
        if live.sink is not None:
            for prepared in ready:
                await live.sink(ToolStarted(prepared.call))

    async def _stop_if_cancelled(self) -> None:
        """Let nothing new begin in a run that was cancelled since the last await."""
        if self._live.stopping:
            await anyio.lowlevel.checkpoint()  # The run's scope is cancelled: this raises.

    async def _carry_out(self, prepared: Prepared) -> None:
        await self._stop_if_cancelled()
        call, progress = prepared.call, self._live.progress
        saved = progress.saved.get(call.id)
        SCOPE.set(CallSite("tool", call.name, progress.iterations, call.id, saved))
        try:
            content = await self._traced(prepared)
        except (RunInterrupt, BaseExceptionGroup) as stopped:
            await self._stopped(call, stopped)
        except ToolArgumentsError as error:
            wrong = self._live.texts.bad_arguments.format(name=call.name, reason=error)
            await self._end(call, wrong, is_error=True)
        except asyncio.CancelledError as error:
            if not is_stray_cancellation():
                raise
            await self._failed(call, error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool may raise anything; the model reads it
            await self._failed(call, error)
        else:
            await self._end(call, content, is_error=False)

    async def _traced(self, prepared: Prepared) -> Content:
        call, tool = prepared.call, prepared.tool
        run = self._endpoints.get(call.name)
        if run is None:
            run = endpoint(tool, self._plan.hooks.wrap_tool[tool.kind])
            self._endpoints[call.name] = run
        if self._tracer is None:
            return await invoke(self._live, prepared, run)
        attributes = {TOOL_NAME: call.name, TOOL_CALL_ID: call.id}
        with span(self._tracer, EXECUTE_TOOL, call.name, attributes):
            return await invoke(self._live, prepared, run)

    async def _stopped(
        self, call: ToolCall, stopped: RunInterrupt | BaseExceptionGroup[BaseException]
    ) -> None:
        """Keep an interrupt; a tool's own task group may have wrapped it up."""
        if isinstance(stopped, RunInterrupt):
            self._interrupts.append((call.id, stopped))
            return
        asked, others = stopped.split(RunInterrupt)
        if asked is not None and others is None:
            self._interrupts += [(call.id, one) for one in _leaves(asked)]
        elif isinstance(stopped, Exception):
            await self._failed(call, stopped)
        else:
            raise stopped

    async def _failed(self, call: ToolCall, error: BaseException) -> None:
        error = _unwrapped(error)
        if self._plan.on_tool_error == "raise":
            failed = ToolExecutionError(call.name, call.id, error)
            failed.__cause__ = error
            self._errors.append(failed)
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        text = self._live.texts.tool_raised.format(name=call.name, reason=reason)
        if isinstance(error, ToolError) and str(error):
            text = str(error)
        await self._end(call, text, is_error=True)

    async def _end(self, call: ToolCall, content: Content, *, is_error: bool) -> None:
        live = self._live
        if isinstance(content, str):
            content = encodable(content)
        message = Message("tool", content, (), call.id, call.name, is_error, new_id("m_"))
        live.note(CallEnded(message))
        if live.journal is not None:
            await live.settle()
        if live.sink is not None:
            await live.sink(ToolResult(message))

    def _paused(self) -> Paused:
        order = {call.id: n for n, call in enumerate(self._live.progress.messages[-1].tool_calls)}
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
    """Return the one error in a task group's wrapping, which says nothing to a model."""
    if not isinstance(error, ExceptionGroup):
        return error
    first, *others = cast("ExceptionGroup[Exception]", error).exceptions
    return cast("BaseException", error) if others else _unwrapped(first)
