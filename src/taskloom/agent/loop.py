"""The ReAct loop: what comes next is `progress.stage`, and each stage moves it on.

    model ──▶ after_model ──▶ tools ──▶ model …
                          └─▶ done ◀┘ (a tool that returns directly)

A fresh run starts at `model`; a resumed one wherever it stopped. Whatever happens, `drive`
returns a result; only the caller's own cancellation goes through.
"""

import asyncio
from contextlib import suppress
from contextvars import copy_context
from operator import is_not

import anyio.lowlevel

from taskloom.agent.agent_config import AgentConfig, Toolset, make_toolset
from taskloom.agent.cancellation import is_stray_cancellation
from taskloom.agent.chat_model import ModelRequest, ToolInfo
from taskloom.agent.context import await_in_context
from taskloom.agent.errors import AgentError, HookError, JournalError, RunInterrupt
from taskloom.agent.events import ModelReply, RunFailed, RunStarted
from taskloom.agent.journal_entries import Decided, Ended, Offered, Paused, Replied
from taskloom.agent.middleware import RunSetup, State
from taskloom.agent.middleware_chain import Hook, call_hook
from taskloom.agent.model_call import ModelCaller, with_call_ids
from taskloom.agent.result import Result, StopReason
from taskloom.agent.run_context import LIVE, RunContext
from taskloom.agent.run_result import SUCCESS, result_of
from taskloom.agent.run_state import edit
from taskloom.agent.tool_round import ToolRounds
from taskloom.agent.tracing import AGENT_NAME, CONVERSATION_ID, INVOKE_AGENT, active_tracer, span
from taskloom.errors import StorageError


class Loop:
    """One run of an agent."""

    def __init__(self, plan: AgentConfig, live: RunContext, *, resumed: bool = False) -> None:
        """Nothing runs yet."""
        self.live = live
        self._plan = plan
        self._resumed = resumed
        self._models = ModelCaller(plan, live)
        self._hooks_done = 0
        hooks = plan.hooks
        self._isolate = bool(hooks.before_model or hooks.wrap_model or hooks.after_model)

    async def drive(self) -> Result:
        """Run to the end and return the result."""
        live = self.live
        LIVE.set(live)
        if live.progress.ended in SUCCESS:
            return result_of(live.progress, live.texts)
        try:
            return await self._traced()
        except RunInterrupt as stop:
            live.note(Paused(stop.interrupts))
            return await self._end("interrupted")
        except asyncio.CancelledError as error:
            if not is_stray_cancellation():
                raise
            stray = AgentError("A hook or the model awaited something that others had cancelled.")
            stray.__cause__ = error
            return await self._fail(stray)
        except Exception as error:  # noqa: BLE001 - a failed run has a result as well
            return await self._fail(error)

    async def cancelled(self) -> Result:
        """Return the result of a run whose scope was cancelled."""
        return await self._end("cancelled")

    async def _traced(self) -> Result:
        tracer = active_tracer()
        if tracer is None:
            return await self._stages()
        progress = self.live.progress
        attributes = {AGENT_NAME: self._plan.name, CONVERSATION_ID: progress.run_id}
        with span(tracer, INVOKE_AGENT, self._plan.name, attributes):
            return await self._stages()

    async def _stages(self) -> Result:
        live, progress = self.live, self.live.progress
        await live.emit(RunStarted(progress.run_id, self._plan.name, self._resumed))
        self._kit = await self._prepare()
        turn = ToolRounds(self._plan, self._kit, live)
        while True:
            if live.stopping:
                await anyio.lowlevel.checkpoint()  # The run's scope is cancelled: this raises.
            stop = self._stop_here()
            if stop is not None:
                return await self._end(stop)
            if progress.stage == "done":
                return await self._complete()
            if progress.stage == "tools":
                if not await turn.run_plan():
                    return await self._end("interrupted")
            elif self._isolate:
                await await_in_context(self._model_stage(), copy_context())
            else:
                await self._model_stage()

    def _stop_here(self) -> StopReason | None:
        """Return why the run must not go on with its next stage, if so."""
        live, progress = self.live, self.live.progress
        if progress.stage == "tools" and "model" in live.stop_after:
            return "cancelled"
        if progress.stage == "model":
            if "tools" in live.stop_after:
                return "cancelled"
            if progress.iterations >= self._plan.max_iterations:
                return "max_iterations"
        return None

    async def _prepare(self) -> Toolset:
        kit, hooks = self._plan.kit, self._plan.hooks.before_agent
        if not hooks:
            return kit
        progress = self.live.progress
        setup = RunSetup(
            run_id=progress.run_id,
            instruction=kit.instruction,
            tools=list(kit.tools.values()),
            return_directly=set(kit.return_directly),
            messages=tuple(progress.messages),
            resumed=self._resumed,
        )
        for hook in hooks:
            await call_hook(self.live, "before_agent", hook, setup)
        return make_toolset(setup.instruction, setup.tools, setup.return_directly)

    async def _model_stage(self) -> None:
        live, progress, hooks = self.live, self.live.progress, self._plan.hooks
        if progress.stage == "model":
            if hooks.before_model:
                await self._rewrite("before_model", hooks.before_model)
            reply = await self._models.ask(self._request())
            live.note(Replied(reply))
            self._hooks_done = 0
            # Nobody can know of the reply before the next entry is durable, unless somebody
            # listens or a hook sees it: then the reply must be durable by itself.
            if live.sink is not None or hooks.after_model:
                await live.settle()
            if live.sink is not None:
                await live.sink(ModelReply(reply))
        if hooks.after_model:
            await self._rewrite("after_model", hooks.after_model)
            self._check_last()
        live.note(Decided())
        self._hooks_done = 0

    def _request(self) -> ModelRequest:
        # A copy: the list grows while models and wrappers may still look at theirs.
        messages = tuple(self.live.progress.messages)
        return ModelRequest(messages, self._kit.instruction, self._offered(), self._plan.settings)

    def _offered(self) -> tuple[ToolInfo, ...]:
        changed = self.live.progress.tools
        return self._kit.infos if changed is None else changed

    async def _rewrite(self, stage: str, hooks: tuple[Hook, ...]) -> None:
        """Run the hooks of one stage over the state, and keep what they leave."""
        progress = self.live.progress
        state = State(list(progress.messages), list(self._offered()))
        self._hooks_done = progress.hooks_done
        for hook in hooks[self._hooks_done :]:
            try:
                returned = await call_hook(self.live, stage, hook, state)
            except RunInterrupt:
                self._keep(state)
                raise
            if returned is not None:
                if not isinstance(returned, State):
                    wrong = TypeError(f"it returned a {type(returned).__name__}, not a State")
                    raise HookError(hook[0], stage, wrong)
                state = returned
            self._hooks_done += 1
        self._keep(state)

    def _keep(self, state: State) -> None:
        edited = edit(self.live.progress.messages, state.messages)
        if edited is not None:
            self.live.note(edited)
        offered = self._offered()
        if len(state.tools) != len(offered) or any(map(is_not, state.tools, offered)):
            self.live.note(Offered(tuple(state.tools)))

    def _check_last(self) -> None:
        """See that what the after_model hooks left can be gone on with."""
        messages = self.live.progress.messages
        if not messages:
            raise AgentError("The after_model hooks left no message; leave at least the reply.")
        fixed = with_call_ids(messages[-1])
        if fixed is not messages[-1]:
            edited = edit(messages, [*messages[:-1], fixed])
            assert edited is not None
            self.live.note(edited)

    async def _complete(self) -> Result:
        direct = self.live.progress.direct
        reason: StopReason = "returned_directly" if direct else "completed"
        result = result_of(self.live.progress, self.live.texts, reason)
        if self._plan.hooks.after_agent:
            await self.live.settle()  # However long they take, the final answer is safe.
        for hook in self._plan.hooks.after_agent:
            await call_hook(self.live, "after_agent", hook, result)
        self.live.note(Ended(reason))
        await self.live.settle()
        return result

    async def _end(self, reason: StopReason) -> Result:
        self.live.note(Ended(reason, hooks_done=self._hooks_done))
        await self.live.settle()
        return result_of(self.live.progress, self.live.texts, reason)

    async def _fail(self, error: Exception) -> Result:
        named = error if isinstance(error, HookError) else None
        # The journal may be what failed; the error that came first is the one to tell.
        with suppress(StorageError, JournalError):
            self.live.note(Ended("failed", str(error), self._hooks_done))
            await self.live.settle()
        await self.live.emit(
            RunFailed(error, named.middleware if named else "", named.hook if named else "")
        )
        return result_of(self.live.progress, self.live.texts, "failed", error)
