"""A worker that is a chat-model agent: it queries, claims, works and reports with its tools."""

import json
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, TypeAlias

from taskloom.agent import (
    Agent,
    ChatModel,
    Language,
    Middleware,
    Result,
    Retry,
    Run,
    Tool,
    ToolLike,
    as_tool,
    open_model,
)
from taskloom.errors import Code, TaskloomError
from taskloom.orchestrator.executors.executor import Emit, Job, Outcome
from taskloom.orchestrator.inbox import Inbox
from taskloom.orchestrator.prompt.board_in_prompt import BoardInPrompt
from taskloom.orchestrator.prompt.texts import agent_texts, guide

MakeTools: TypeAlias = Callable[[str], Sequence[ToolLike]]
"""Makes the working tools of the worker with this id."""

MAX_ITERATIONS: Final = 60
"""Model calls of one worker run."""


class AgentExecutor:
    """Runs workers as agents on a model, with working tools beside their Task tools."""

    def __init__(
        self,
        model: ChatModel | str,
        tools: Sequence[ToolLike] | MakeTools = (),
        *,
        middleware: Callable[[Job], Sequence[Middleware]] | None = None,
        language: Language = "en",
        retry: Retry | None = None,
        max_iterations: int = MAX_ITERATIONS,
        open_named: Callable[[str], ChatModel] = open_model,
    ) -> None:
        """Configure the runs of these workers.

        Args:
            model: a model, or a string such as `openai:gpt-…`.
            tools: the working tools, or what makes them for one worker; a definition, a pool and a
                dispatch can narrow them.
            middleware: makes the middlewares of one run.
            language: of the built-in texts.
            retry: when a failed model call is made again.
            max_iterations: model calls of one run.
            open_named: opens the model that a definition names instead of this one.
        """
        self._model = model
        self._make_tools: MakeTools = tools if callable(tools) else _same(tools)
        self._names = tuple(as_tool(tool).name for tool in self._make_tools("worker"))
        self._middleware = middleware
        self._language: Language = language
        self._retry = retry
        self._max_iterations = max_iterations
        self._open_named = cache(open_named)

    @property
    def claims(self) -> bool:
        """Its runs claim and report their steps themselves."""
        return True

    @property
    def tools(self) -> Sequence[str]:
        """The working tools."""
        return self._names

    def begin(self, job: Job, emit: Emit) -> "_AgentRun":
        """Return a run of a new agent."""
        inbox = Inbox()
        middleware: list[Middleware] = [inbox]
        if self._middleware is not None:
            middleware += self._middleware(job)
        if job.board_text is not None:
            middleware.append(BoardInPrompt(job.board_text))
        agent = Agent(
            self._open_named(job.definition.model) if job.definition.model else self._model,
            tools=[*job.task_tools, *self._chosen(job)],
            middleware=middleware,
            instruction=job.definition.body or guide("worker", self._language),
            name=job.worker_agent_id,
            max_iterations=self._max_iterations,
            retry=self._retry,
            language=self._language,
        )
        prompt = _prompt(job, agent_texts(self._language).job)
        return _AgentRun(agent.run(prompt, journal=job.transcript), inbox, emit)

    def _chosen(self, job: Job) -> list[Tool]:
        allowed = job.allowed_tools
        tools = map(as_tool, self._make_tools(job.worker_agent_id))
        return [tool for tool in tools if allowed is None or tool.name in allowed]


class _AgentRun:
    """One run of an agent as a worker."""

    def __init__(self, run: Run, inbox: Inbox, emit: Emit) -> None:
        self._run = run
        self._inbox = inbox
        self._emit = emit

    async def result(self) -> Outcome:
        with self._inbox:
            async for event in self._run:
                await self._emit(event)
        return _outcome(self._run.result)

    async def message(self, text: str) -> bool:
        return await self._inbox.deliver(text)

    def stop(self) -> None:
        # A model call has no effects, so it is cut short; tool calls finish first.
        self._run.cancel("now" if self._inbox.awaits_model else "safe_point")


def _outcome(result: Result) -> Outcome:
    if result.error is not None:
        raise result.error
    if result.stop_reason == "max_iterations":
        raise TaskloomError(
            Code.INTERNAL_ERROR,
            f"The worker reached its limit of {result.iterations} model calls before it finished.",
        )
    if result.stop_reason == "interrupted":
        asked = ", ".join(one.where for one in result.interrupts)
        raise TaskloomError(
            Code.INTERNAL_ERROR, f"The worker asked a person ({asked}), but cannot get an answer."
        )
    return Outcome(text=result.text)


def _same(tools: Sequence[ToolLike]) -> MakeTools:
    def make(_: str) -> Sequence[ToolLike]:
        return tools

    return make


def _prompt(job: Job, template: str) -> str:
    parts = [
        template.format(task_id=job.task_id, title=job.task_title, pool=job.worker_pool_id),
        job.instruction,
    ]
    if job.allowed_step_ids is not None:
        parts.append(f"allowed_step_ids: {', '.join(job.allowed_step_ids)}")
    if job.context:
        parts.append(f"<context>\n{job.context}\n</context>")
    if job.constraints:
        parts.append(f"<constraints>\n{_json(job.constraints)}\n</constraints>")
    if job.expected_output_schema:
        parts.append(f"<output_schema>\n{_json(job.expected_output_schema)}\n</output_schema>")
    return "\n\n".join(parts)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)
