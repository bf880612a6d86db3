"""The ReAct loop: `state.stage` says what comes next, and each stage sets the next one.

    model ──▶ after_model ──▶ tools ──▶ model …
                          └─▶ done ◀┘ (a tool that returns directly)

A new run starts at `model`, a resumed one where it stopped. `run` always returns a result; only
the cancellation of its caller leaves as an exception.
"""

import asyncio
from contextlib import suppress
from contextvars import copy_context
from operator import is_not
from typing import Self

import anyio.lowlevel

from taskloom.agent.chat_model import ModelRequest, ToolInfo
from taskloom.agent.errors import AgentError, HookError, JournalError, RunInterrupt
from taskloom.agent.events import ModelReply, RunFailed, RunStarted
from taskloom.agent.loop.config import AgentConfig, Toolset, make_toolset
from taskloom.agent.loop.hooks import Hook, call_hook
from taskloom.agent.loop.journal_entries import Decided, Ended, Offered, Paused, Replied
from taskloom.agent.loop.model_call import ModelCaller, with_call_ids
from taskloom.agent.loop.run_context import (
    CURRENT_RUN,
    RunContext,
    Sink,
    await_in_context,
    is_cancelled,
)
from taskloom.agent.loop.run_source import RunSource
from taskloom.agent.loop.run_state import SUCCESS, diff, make_result
from taskloom.agent.loop.tool_round import ToolRound
from taskloom.agent.loop.tracing import AGENT_NAME, CONVERSATION_ID, INVOKE_AGENT, span
from taskloom.agent.middleware import RunSetup, State
from taskloom.agent.result import Result, StopReason
from taskloom.errors import StorageError


class Loop:
    """The loop of one run; made by `Loop.open`."""

    def __init__(self, config: AgentConfig, context: RunContext, *, resumed: bool) -> None:
        self.context = context
        self._config = config
        self._toolset = config.toolset
        self._resumed = resumed
        self._models = ModelCaller(config, context)
        self._hooks_done = 0
        hooks = config.hooks
        self._isolate = bool(hooks.before_model or hooks.wrap_model or hooks.after_model)

    @classmethod
    async def open(
        cls, config: AgentConfig, source: RunSource, sink: Sink | None, *, stream: bool
    ) -> Self:
        """Load a run, or start it, and return its loop; nothing runs yet."""
        loaded = await source.load()
        journal = loaded.journal
        context = RunContext(
            loaded.state, config.language, journal=journal, sink=sink, stream=stream
        )
        try:
            for entry in loaded.entries:
                context.record(entry)
            await context.sync()
        except BaseException:
            if journal is not None:
                journal.close()
            raise
        return cls(config, context, resumed=loaded.resumed)

    async def run(self) -> Result:
        """Run to the end and return the result."""
        context = self.context
        CURRENT_RUN.set(context)
        if context.state.ended in SUCCESS:
            return make_result(context.state, context.texts)
        name = self._config.name
        attributes = {AGENT_NAME: name, CONVERSATION_ID: context.state.run_id}
        try:
            with span(context.tracer, INVOKE_AGENT, name, attributes):
                return await self._run_stages()
        except RunInterrupt as stop:
            context.record(Paused(stop.interrupts))
            return await self._end("interrupted")
        except asyncio.CancelledError as error:
            if is_cancelled():
                raise
            failure = AgentError(
                "A hook or the model awaited a task that other code cancelled; catch "
                "`asyncio.CancelledError` there."
            )
            failure.__cause__ = error
            return await self._fail(failure)
        except Exception as error:  # noqa: BLE001 - a failed run has a result as well
            return await self._fail(error)

    async def end_cancelled(self) -> Result:
        """Return the result of a run whose scope was cancelled."""
        return await self._end("cancelled")

    async def _run_stages(self) -> Result:
        config, context, state = self._config, self.context, self.context.state
        await context.emit(RunStarted(state.run_id, config.name, self._resumed))
        self._toolset = await self._prepare()
        while True:
            if context.stopping:
                await anyio.lowlevel.checkpoint()  # The run's scope is cancelled: this raises.
            stop = self._stop_before_stage()
            if stop is not None:
                return await self._end(stop)
            if state.stage == "done":
                return await self._complete()
            if state.stage == "tools":
                if not await ToolRound(config, self._toolset, context).run_calls():
                    return await self._end("interrupted")
            elif self._isolate:
                await await_in_context(self._model_stage(), copy_context())
            else:
                await self._model_stage()

    def _stop_before_stage(self) -> StopReason | None:
        """Return why the run must stop before its next stage; None if it need not."""
        context, state = self.context, self.context.state
        if state.stage == "tools" and "model" in context.stop_after:
            return "cancelled"
        if state.stage == "model":
            if "tools" in context.stop_after:
                return "cancelled"
            if state.iterations >= self._config.max_iterations:
                return "max_iterations"
        return None

    async def _prepare(self) -> Toolset:
        """Run the before_agent hooks, and return the tools and the instruction they leave."""
        toolset, hooks = self._config.toolset, self._config.hooks
        if not hooks.before_agent:
            return toolset
        state = self.context.state
        setup = RunSetup(
            run_id=state.run_id,
            instruction=toolset.instruction,
            tools=list(toolset.tools.values()),
            return_directly=set(toolset.return_directly),
            messages=tuple(state.messages),
            resumed=self._resumed,
        )
        for hook in hooks.before_agent:
            await call_hook(self.context, "before_agent", hook, setup)
        return make_toolset(setup.instruction, setup.tools, setup.return_directly, hooks)

    async def _model_stage(self) -> None:
        context, hooks = self.context, self._config.hooks
        if context.state.stage == "model":
            if hooks.before_model:
                await self._run_state_hooks("before_model", hooks.before_model)
            reply = await self._models.ask(self._request())
            context.record(Replied(reply))
            self._hooks_done = 0
            # Without a reader or a hook nothing sees the reply before the next entry is durable,
            # and that sync covers the reply too.
            if context.sink is not None or hooks.after_model:
                await context.sync()
            if context.sink is not None:
                await context.sink(ModelReply(reply))
        if hooks.after_model:
            await self._run_state_hooks("after_model", hooks.after_model)
            self._check_last_message()
        context.record(Decided())
        self._hooks_done = 0

    def _request(self) -> ModelRequest:
        # A copy: the list grows while models and wrappers may still look at theirs.
        messages = tuple(self.context.state.messages)
        settings = self._config.settings
        return ModelRequest(messages, self._toolset.instruction, self._offered(), settings)

    def _offered(self) -> tuple[ToolInfo, ...]:
        changed = self.context.state.tools
        return self._toolset.infos if changed is None else changed

    async def _run_state_hooks(self, stage: str, hooks: tuple[Hook, ...]) -> None:
        """Run the hooks of one stage over the messages and tools, and record what they leave."""
        run = self.context.state
        state = State(list(run.messages), list(self._offered()))
        self._hooks_done = run.hooks_done
        for hook in hooks[self._hooks_done :]:
            try:
                returned = await call_hook(self.context, stage, hook, state)
            except RunInterrupt:
                self._record_changes(state)
                raise
            if returned is not None:
                if not isinstance(returned, State):
                    wrong = TypeError(f"it returned a {type(returned).__name__}, not a State")
                    raise HookError(hook[0], stage, wrong)
                state = returned
            self._hooks_done += 1
        self._record_changes(state)

    def _record_changes(self, state: State) -> None:
        edited = diff(self.context.state.messages, state.messages)
        if edited is not None:
            self.context.record(edited)
        offered = self._offered()
        if len(state.tools) != len(offered) or any(map(is_not, state.tools, offered)):
            self.context.record(Offered(tuple(state.tools)))

    def _check_last_message(self) -> None:
        """Check that the after_model hooks left a message, and give its tool calls ids."""
        messages = self.context.state.messages
        if not messages:
            raise AgentError("The after_model hooks left no message; leave at least the reply.")
        fixed = with_call_ids(messages[-1])
        if fixed is not messages[-1]:
            edited = diff(messages, [*messages[:-1], fixed])
            assert edited is not None
            self.context.record(edited)

    async def _complete(self) -> Result:
        context, hooks = self.context, self._config.hooks.after_agent
        reason: StopReason = "returned_directly" if context.state.direct else "completed"
        result = make_result(context.state, context.texts, reason)
        if hooks:
            await context.sync()  # However long the hooks take, the final answer is durable.
        for hook in hooks:
            await call_hook(context, "after_agent", hook, result)
        context.record(Ended(reason))
        await context.sync()
        return result

    async def _end(self, reason: StopReason) -> Result:
        self.context.record(Ended(reason, hooks_done=self._hooks_done))
        await self.context.sync()
        return make_result(self.context.state, self.context.texts, reason)

    async def _fail(self, error: Exception) -> Result:
        context = self.context
        # The journal may be what failed; the error that came first is the one to report.
        with suppress(StorageError, JournalError):
            context.record(Ended("failed", str(error), self._hooks_done))
            await context.sync()
        hook = error if isinstance(error, HookError) else None
        await context.emit(
            RunFailed(error, hook.middleware if hook else "", hook.hook if hook else "")
        )
        return make_result(context.state, context.texts, "failed", error)
