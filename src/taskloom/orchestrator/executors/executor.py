"""What carries out a step: one protocol for chat-model agents, functions, programs and others.

A chat-model agent claims and reports by itself, with its Task tools. For everything else core
does it: it claims, starts and ends the step, and the executor only works.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from taskloom.agent import Event, Tool
from taskloom.board import StepView
from taskloom.ids import AgentId, RunId, StepId, TaskId
from taskloom.orchestrator.agent_definition import AgentDefinition


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
    """Working tools it may use; None is all that its definition has."""
    step: StepView | None = None
    """The step that core claimed for it; None for an executor that claims by itself."""
    inputs: Mapping[StepId, str] = {}
    """For a claimed step: the results of the steps it depends on."""
    task_tools: Sequence[Tool] = ()
    """For an executor that claims by itself: the four Task tools of this run."""
    board_text: Callable[[], Awaitable[str]] | None = None
    """For an executor with a prompt: the board in a few lines, as this worker may see it."""
    transcript: Path | None = None
    """A file of this run alone, for what was said in it."""


class Outcome(Struct, frozen=True, kw_only=True):
    """What a run gave back. For the board only what was written on the board counts."""

    text: str = ""
    data: Any = None
    artifact_ids: tuple[str, ...] = ()


Emit: TypeAlias = Callable[[Event | str], Awaitable[None]]
"""Tells what a run says while it goes on: events of an agent, or lines of output."""


class WorkerHandle(Protocol):
    """One run under way."""

    async def result(self) -> Outcome:
        """Work to the end. What it raises fails the step; cancelling it must stop the work."""
        ...

    def stop(self) -> None:
        """Ask it to stop at its next safe point. It need not obey; then it is cancelled."""
        ...


class Executor(Protocol):
    """How the steps of one kind of worker are carried out."""

    @property
    def claims(self) -> bool:
        """Whether its runs claim and report by themselves."""
        ...

    @property
    def tools(self) -> Sequence[str]:
        """The names of the working tools its runs can be given."""
        ...

    def begin(self, job: Job, emit: Emit) -> WorkerHandle:
        """Make ready for one run; nothing happens before its `result` is awaited."""
        ...
