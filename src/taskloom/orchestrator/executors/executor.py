"""How a worker carries out a step: one protocol for chat models, functions, programs and others.

A chat-model agent claims and reports its step itself, with its Task tools. For every other executor
the worker runner claims, starts and completes the step, and the executor does the work in between.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

import msgspec
from msgspec import Struct

from taskloom.agent import Event, Tool, ToolArgumentsError
from taskloom.agent.tools import check_schema
from taskloom.board import StepView
from taskloom.ids import AgentId, RunId, StepId, TaskId
from taskloom.orchestrator.errors import InvalidResultError

_FENCE: Final = re.compile(r"\A\s*```[a-zA-Z]*\n(?P<body>.*?)\n?```\s*\Z", re.DOTALL)


class AgentDefinition(Struct, frozen=True, kw_only=True):
    """A kind of worker. In a project it is a Markdown file; `body` is the text below its head."""

    id: str
    name: str
    description: str
    body: str = ""
    """The instruction of a chat-model agent."""
    model: str = ""
    """Such as `openai:gpt-…`; empty for the configured model."""
    tools: tuple[str, ...] | None = None
    """Working tools beside the Task tools; None for all that the executor has."""
    tags: tuple[str, ...] = ()
    executor: Mapping[str, Any] | None = None
    """What carries out its steps if it is not a chat-model agent."""
    source: str = ""
    """The file it came from, for messages to people."""


class Job(Struct, frozen=True, kw_only=True):
    """One dispatch, as its executor sees it."""

    run_id: RunId
    worker_agent_id: AgentId
    definition: AgentDefinition
    task_id: TaskId
    task_title: str
    worker_pool_id: str
    instruction: str
    context: str = ""
    constraints: Mapping[str, Any] | None = None
    allowed_step_ids: tuple[StepId, ...] | None = None
    expected_output_schema: Mapping[str, Any] | None = None
    allowed_tools: frozenset[str] | None = None
    """Working tools it may use; None for all of its definition."""
    step: StepView | None = None
    """The step that was claimed for it; None for an executor that claims itself."""
    inputs: Mapping[StepId, str] = {}
    """For a claimed step: the results of the steps it depends on."""
    task_tools: Sequence[Tool] = ()
    """For an executor that claims itself: the four Task tools of this run."""
    board_text: Callable[[], Awaitable[str]] | None = None
    """For an executor with a prompt: the board as this worker may see it, within its budget."""
    transcript: Path | None = None
    """The file of this run's transcript."""


class Outcome(Struct, frozen=True, kw_only=True):
    """What a run returns. Its text, data and artifacts become the result of a claimed step."""

    text: str = ""
    data: Any = None
    artifact_ids: tuple[str, ...] = ()


Emit: TypeAlias = Callable[[Event | str], Awaitable[None]]
"""Adds to the output of a run: an event of an agent, or a line of text."""


class WorkerHandle(Protocol):
    """One run of an executor."""

    async def result(self) -> Outcome:
        """Work to the end. An exception fails the step; cancelling this must stop the work."""
        ...

    def stop(self) -> None:
        """Stop at the next safe point. A run that does not stop in time is cancelled."""
        ...


@runtime_checkable
class ReceivesMessages(Protocol):
    """A `WorkerHandle` that a person can write to while it runs."""

    async def message(self, text: str) -> bool:
        """Return True when the run has received the message, False if it no longer can."""
        ...


class Executor(Protocol):
    """How the steps of one kind of worker are carried out."""

    @property
    def claims(self) -> bool:
        """Whether its runs claim and report their steps themselves."""
        ...

    @property
    def tools(self) -> Sequence[str]:
        """The names of the working tools that its runs can use."""
        ...

    def begin(self, job: Job, emit: Emit) -> WorkerHandle:
        """Return a handle for one run; the work starts when its `result` is awaited."""
        ...


def read_result(text: str, data: Any, schema: Mapping[str, Any]) -> Any:
    """Return a run's result as data that matches `expected_output_schema`.

    Raises:
        InvalidResultError: it does not match, or is not JSON.
    """
    value = data
    if value is None:
        fenced = _FENCE.match(text)
        try:
            value = msgspec.json.decode((fenced["body"] if fenced else text).strip())
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            if schema.get("type") == "string":
                value = text
            else:
                raise InvalidResultError(f"it is not JSON: {error}") from None
    if schema.get("type") == "string" and not isinstance(value, str):
        value = text  # A text that happens to be JSON is still a text.
    try:
        # The checker reads objects, so the value is checked as the property of one.
        check_schema({"type": "object", "properties": {"result": dict(schema)}})({"result": value})
    except ToolArgumentsError as error:
        raise InvalidResultError(str(error)) from None
    except (RecursionError, TypeError, ValueError, AttributeError, KeyError) as error:
        raise InvalidResultError(f"the schema itself cannot be used: {error}") from None
    return value
