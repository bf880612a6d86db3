"""The agent: a model, tools, middleware and an instruction, ready to run any number of times.

An agent is configuration and nothing else: what belongs to a run lives in the run, so one
agent may serve many runs at once.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from taskloom.agent.agent_config import AgentConfig, Failover, OnToolError, make_toolset
from taskloom.agent.chat_model import ChatModel
from taskloom.agent.checkpoints import CheckpointStore, pack
from taskloom.agent.errors import AgentError, RunFailedError
from taskloom.agent.loop import Loop
from taskloom.agent.messages import Message, new_id
from taskloom.agent.middleware import Middleware
from taskloom.agent.middleware_chain import resolve
from taskloom.agent.model_texts import Language, texts
from taskloom.agent.providers.open_model import open_model
from taskloom.agent.result import Result
from taskloom.agent.retry import Retry
from taskloom.agent.run import Run
from taskloom.agent.run_context import RunContext, Sink
from taskloom.agent.run_source import RunSource
from taskloom.agent.sync_runner import run_sync
from taskloom.agent.tools.subagent import agent_tool
from taskloom.agent.tools.tool import Tool, ToolLike

Input: TypeAlias = str | Message | Sequence[Message]
"""What a run starts from: a text of the user, a message, or a conversation."""

MAX_ITERATIONS = 20
"""Model calls of one run: enough for real work, few enough to stop one that goes in circles."""


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
        """Put an agent together.

        Args:
            model: a model, or a string such as `openai:gpt-…` (extra `models`).
            tools: typed functions, tool objects, or agents made tools with `as_tool`.
            middleware: hooks, in order; the first wraps outermost.
            instruction: what the model is told before the conversation.
            name: the name in events, traces and as a tool.
            description: what it is good for, as a tool of another agent.
            max_iterations: model calls of one run, retries not counted.
            return_directly: tools whose result ends the run.
            parallel_tools: run the calls of one reply side by side.
            on_tool_error: `report` it to the model, or `raise` and end the run.
            tool_middleware: tool wrappers outside those of the middleware.
            retry: when a failed model call is made again.
            failover: models to go on with when this one fails.
            checkpoints: where a run that was interrupted or cancelled is kept.
            settings: temperature, max_tokens and the like, handed to the model.
            language: of the built-in texts; by default that of the process.
        """
        if max_iterations < 1:
            raise ValueError("max_iterations must be at least 1")
        self.name = name
        self.description = description
        self._checkpoints = checkpoints
        self._plan = AgentConfig(
            name=name,
            model=open_model(model) if isinstance(model, str) else model,
            kit=make_toolset(instruction, tools, return_directly),
            hooks=resolve(middleware, tool_middleware),
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
        input_: Input | None = None,
        *,
        journal: str | os.PathLike[str] | None = None,
        answers: Mapping[str, Any] | None = None,
        stream: bool = True,
    ) -> Run:
        """Return a run: listen to it with `async for`, or `await run.wait()`.

        With a journal the run is durable. The same call in a new process, with the same
        input or none, goes on where the last one stopped; a finished run gives its result.

        Args:
            input_: what to start from; may be left out to go on with a journal.
            journal: a file of this run alone; it is made if missing.
            answers: to the interrupts of a journalled run, by interrupt id.
            stream: hand over pieces of replies and tool results to the listener.
        """
        messages = None if input_ is None else _messages(input_)
        run_id = new_id("run_")
        return self._run(RunSource(run_id, self.name, messages, journal, None, answers), stream)

    def resume(
        self, run_id: str, answers: Mapping[str, Any] | None = None, *, stream: bool = True
    ) -> Run:
        """Return a run that goes on from its checkpoint, with answers to its interrupts."""
        if self._checkpoints is None:
            raise AgentError(
                "This agent keeps no checkpoints: give `checkpoints=DirectoryCheckpoints(...)`."
            )
        origin = RunSource(run_id, self.name, None, None, self._checkpoints, answers)
        return self._run(origin, stream)

    async def invoke(
        self,
        input_: Input | None = None,
        *,
        journal: str | os.PathLike[str] | None = None,
        answers: Mapping[str, Any] | None = None,
    ) -> Result:
        """Run to the end and return the result.

        Raises:
            RunFailedError: the run failed; its `result` holds what was done before.
        """
        result = await self.run(input_, journal=journal, answers=answers).wait()
        if result.error is not None:
            raise RunFailedError(result) from result.error
        return result

    def invoke_sync(
        self,
        input_: Input | None = None,
        *,
        journal: str | os.PathLike[str] | None = None,
        answers: Mapping[str, Any] | None = None,
    ) -> Result:
        """Do `invoke` where there is no event loop, and return the result."""
        return run_sync(self.invoke(input_, journal=journal, answers=answers))

    def as_tool(self, *, name: str = "", description: str = "", idempotent: bool = False) -> Tool:
        """Return this agent as a tool of another: it is given a task and gives its answer."""
        language = self._plan.language
        tool = name or self.name
        told = description or self.description or texts(language).agent_tool.format(name=tool)
        return agent_tool(self._open, tool, told, language=language, idempotent=idempotent)

    def _run(self, origin: RunSource, stream: bool) -> Run:
        async def open_loop(sink: Sink | None) -> Loop:
            return await self._open(origin, sink, stream=stream)

        return Run(origin.run_id, open_loop, self._save)

    async def _open(self, origin: RunSource, sink: Sink | None, *, stream: bool) -> Loop:
        opened = await origin.open()
        live = RunContext(
            opened.progress,
            texts(self._plan.language),
            journal=opened.journal,
            sink=sink,
            stream=stream,
        )
        try:
            for entry in opened.entries:
                live.note(entry)
            await live.settle()
        except BaseException:
            if opened.journal is not None:
                opened.journal.close()
            raise
        return Loop(self._plan, live, resumed=opened.resumed)

    async def _save(self, loop: Loop, result: Result) -> Result:
        if self._checkpoints is not None:
            if result.stop_reason in ("interrupted", "cancelled"):
                await self._checkpoints.save(result.run_id, pack(loop.live.progress))
            else:
                await self._checkpoints.delete(result.run_id)
        return result


def _messages(input_: Input) -> tuple[Message, ...]:
    if isinstance(input_, str):
        return (Message.user(input_),)
    return (input_,) if isinstance(input_, Message) else tuple(input_)
