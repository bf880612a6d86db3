"""The agent: a model, tools, middleware and an instruction, ready to run any number of times.

An agent is configuration and nothing else; the state of a run is in the run, so one agent may
serve many runs at once.
"""

import asyncio
import atexit
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from taskloom.agent.chat_model import ChatModel
from taskloom.agent.checkpoints import CheckpointStore
from taskloom.agent.errors import AgentError, RunFailedError
from taskloom.agent.language import Language
from taskloom.agent.loop.config import AgentConfig, Failover, OnToolError, make_toolset
from taskloom.agent.loop.hooks import collect_hooks
from taskloom.agent.loop.run_source import RunSource
from taskloom.agent.loop.subagent import agent_tool
from taskloom.agent.messages import Message, new_id
from taskloom.agent.middleware import Middleware
from taskloom.agent.model_texts import texts
from taskloom.agent.providers import open_model
from taskloom.agent.result import Result
from taskloom.agent.retry import Retry
from taskloom.agent.run import Run
from taskloom.agent.tools.tool import Tool, ToolLike

Prompt: TypeAlias = str | Message | Sequence[Message]
"""What a run starts from: a text of the user, a message, or a conversation."""

MAX_ITERATIONS: Final = 20
"""Model calls of one run: enough for real work, few enough to stop one that goes in circles."""

_THREAD: Final = threading.local()


class Agent:
    """A chat-model agent.

    agent = Agent("anthropic:claude-…", tools=[search], instruction="Be brief.")
    result = await agent.invoke("What is new?")

    async for event in agent.run("What is new?"):
        ...
    """

    def __init__(
        self,
        model: ChatModel | str,
        tools: Sequence[ToolLike] = (),
        middleware: Sequence[Middleware] = (),
        instruction: str = "",
        *,
        name: str = "agent",
        description: str = "",
        max_iterations: int = MAX_ITERATIONS,
        return_directly: Sequence[str] = (),
        parallel_tools: bool = True,
        on_tool_error: OnToolError = "report",
        tool_middleware: Sequence[Middleware] = (),
        retry: Retry | None = None,
        failover: Failover = (),
        checkpoints: CheckpointStore | None = None,
        settings: Mapping[str, Any] | None = None,
        language: Language | None = None,
    ) -> None:
        """Configure an agent.

        Args:
            model: a model, or a string such as `openai:gpt-…` (extra `models`).
            tools: typed functions, tool objects, or other agents (`Agent.as_tool`).
            middleware: hooks, in order; the first wraps outermost.
            instruction: the system prompt.
            name: the name in events, in traces and as a tool.
            description: what the agent is good for, as a tool of another agent.
            max_iterations: model calls of one run, retries not counted.
            return_directly: tools whose result ends the run.
            parallel_tools: run the calls of one reply in parallel.
            on_tool_error: `report` it to the model, or `raise` and end the run.
            tool_middleware: tool wrappers outside those of the middleware.
            retry: when to repeat a failed model call.
            failover: models to try when this one fails.
            checkpoints: where to keep the state of interrupted and cancelled runs.
            settings: temperature, max_tokens and the like, passed to the model.
            language: of the built-in texts; by default that of the process.
        """
        if max_iterations < 1:
            raise ValueError("max_iterations must be at least 1")
        self.name = name
        self.description = description
        self._checkpoints = checkpoints
        hooks = collect_hooks(middleware, tool_middleware)
        self._config = AgentConfig(
            name=name,
            model=open_model(model) if isinstance(model, str) else model,
            toolset=make_toolset(instruction, tools, return_directly, hooks),
            hooks=hooks,
            max_iterations=max_iterations,
            parallel_tools=parallel_tools,
            on_tool_error=on_tool_error,
            retry=retry,
            failover=failover,
            language=language,
            settings=settings or {},
        )

    def run(
        self,
        prompt: Prompt | None = None,
        *,
        journal: str | os.PathLike[str] | None = None,
        answers: Mapping[str, Any] | None = None,
        stream: bool = True,
    ) -> Run:
        """Return a run: read its events with `async for`, or `await run.wait()`.

        With a journal the run is durable. The same call in a new process, with the same prompt
        or none, resumes where the last one stopped; a finished run returns its result.

        Args:
            prompt: what to start from; may be left out to resume a journal.
            journal: a file for this run alone; it is created if missing.
            answers: to the interrupts of a journalled run, by interrupt id.
            stream: emit the chunks of replies and tool results as events.
        """
        messages = None if prompt is None else _messages(prompt)
        source = RunSource(new_id("run_"), self.name, messages, journal, answers=answers)
        return Run(self._config, source, checkpoints=self._checkpoints, stream=stream)

    def resume(
        self, run_id: str, answers: Mapping[str, Any] | None = None, *, stream: bool = True
    ) -> Run:
        """Return a run that resumes from its checkpoint, with answers to its interrupts."""
        store = self._checkpoints
        if store is None:
            raise AgentError(
                "This agent keeps no checkpoints: give it `checkpoints=DirectoryCheckpoints(...)`."
            )
        source = RunSource(run_id, self.name, checkpoints=store, answers=answers)
        return Run(self._config, source, checkpoints=store, stream=stream)

    async def invoke(
        self,
        prompt: Prompt | None = None,
        *,
        journal: str | os.PathLike[str] | None = None,
        answers: Mapping[str, Any] | None = None,
    ) -> Result:
        """Run to the end and return the result.

        Raises:
            RunFailedError: the run failed; its `result` holds everything done before.
        """
        result = await self.run(prompt, journal=journal, answers=answers).wait()
        if result.error is not None:
            raise RunFailedError(result) from result.error
        return result

    def invoke_sync(
        self,
        prompt: Prompt | None = None,
        *,
        journal: str | os.PathLike[str] | None = None,
        answers: Mapping[str, Any] | None = None,
    ) -> Result:
        """Do `invoke` in a program without an event loop.

        Raises:
            AgentError: an event loop is running in this thread.
            RunFailedError: the run failed; its `result` holds everything done before.
        """
        runner = _event_loop()
        return runner.run(self.invoke(prompt, journal=journal, answers=answers))

    def as_tool(self, *, name: str = "", description: str = "", idempotent: bool = False) -> Tool:
        """Return this agent as a tool of another: its argument is a task, its result the answer."""
        tool = name or self.name
        purpose = description or self.description
        if not purpose:
            purpose = texts(self._config.language).agent_tool.format(name=tool)
        return agent_tool(self._config, tool, purpose, idempotent=idempotent)


def _messages(prompt: Prompt) -> tuple[Message, ...]:
    if isinstance(prompt, str):
        return (Message.user(prompt),)
    return (prompt,) if isinstance(prompt, Message) else tuple(prompt)


def _event_loop() -> asyncio.Runner:
    """Return this thread's event loop.

    The same for every call: the connections that a model keeps open belong to the loop they were
    opened on, and are dead on another.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise AgentError("An event loop is running here: use `await agent.invoke(...)` instead.")
    runner: asyncio.Runner | None = getattr(_THREAD, "runner", None)
    if runner is None:
        runner = _THREAD.runner = asyncio.Runner()
        atexit.register(runner.close)
    return runner
