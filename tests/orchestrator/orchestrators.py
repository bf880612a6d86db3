"""Orchestrators on real files, workers and scripted models, for the tests of this directory.

Scripts are functions of the messages, so a run that goes on after a crash finds its place.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

from taskloom import NewStep, StepView, open_board
from taskloom.agent import Agent, Message, ScriptedModel, ToolLike, call_tools
from taskloom.board import Actor, CreateTask, Rules
from taskloom.orchestrator import (
    AgentDefinition,
    AgentExecutor,
    Emit,
    Executor,
    Job,
    Listener,
    Orchestrator,
    Outcome,
    Pool,
    SessionEvent,
    Settings,
    Worker,
)
from taskloom.runtime import Clock

LONG_S: Final = 30.0
"""After this long, whoever waits is taken to hang."""
PATIENT: Final = Settings()
QUICK: Final = Settings(child_cancel_timeout_ms=50)
"""For workers that ignore their stop: they are abandoned soon."""

Json: TypeAlias = Any
"""What goes into tools and comes out of them."""
Work: TypeAlias = Callable[[Job, Emit, asyncio.Event], Awaitable[Outcome]]
Call: TypeAlias = tuple[str, dict[str, Json]]


class Doing:
    """An executor for which core claims: it awaits a function, which may look at `asked`."""

    def __init__(self, work: Work, *, tools: Sequence[str] = (), claims: bool = False) -> None:
        self._work = work
        self.tools = tools
        self.claims = claims
        self.jobs: list[Job] = []

    def begin(self, job: Job, emit: Emit) -> "_Doing":
        self.jobs.append(job)
        return _Doing(self._work, job, emit)


class _Doing:
    def __init__(self, work: Work, job: Job, emit: Emit) -> None:
        self._work, self._job, self._emit = work, job, emit
        self._asked = asyncio.Event()

    async def result(self) -> Outcome:
        return await self._work(self._job, self._emit, self._asked)

    def stop(self) -> None:
        self._asked.set()


async def at_once(job: Job, _emit: Emit, _asked: asyncio.Event) -> Outcome:
    """Do the step in no time."""
    assert job.step is not None
    return Outcome(text=f"did {job.step.step_id}")


async def until_asked(_job: Job, _emit: Emit, asked: asyncio.Event) -> Outcome:
    """Work until somebody asks to stop, and obey."""
    await asked.wait()
    return Outcome(text="stopped when asked")


class Stubborn:
    """Work that swallows every cancellation until `let_go` is set, or its block is left."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.let_go = asyncio.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.let_go.set()

    async def __call__(self, _job: Job, _emit: Emit, _asked: asyncio.Event) -> Outcome:
        self.begun.set()
        while not self.let_go.is_set():
            try:
                await self.let_go.wait()
            except asyncio.CancelledError:
                self.cancelled.set()
        return Outcome(text="done after all")


def pool(*executors: Executor, pool_id: str = "default", prefix: str = "w") -> Pool:
    """A pool with one worker for each executor: w0, w1, …"""
    return Pool(
        pool_id=pool_id,
        workers=tuple(
            Worker(definition=kind(f"kind-{at}"), executor=one, worker_id=f"{prefix}{at}")
            for at, one in enumerate(executors)
        ),
    )


def kind(name: str = "kind", **more: Json) -> AgentDefinition:
    return AgentDefinition(id=name, name=name.title(), description=f"Does {name}.", **more)


@asynccontextmanager
async def orchestrator(
    project: Path,
    *pools: Pool,
    settings: Settings = PATIENT,
    lease_s: float = 300,
    clock: Clock | None = None,
    **more: Json,
) -> AsyncGenerator[Orchestrator]:
    """Orchestrator mode on a board in a directory."""
    rules = Rules(lease=timedelta(seconds=lease_s))
    async with (
        open_board(project, session="s1", rules=rules, clock=clock) as board,
        Orchestrator(board, pools, settings=settings, **more) as it,
    ):
        yield it


def boss(it: Orchestrator) -> Actor:
    return it.board.orchestrator(it.agent_id, run_id="run_test")


async def plan(it: Orchestrator, *steps: NewStep, task_id: str = "plan") -> None:
    """Create a Task as a program would."""
    command = CreateTask(task_id=task_id, wal_name=task_id, title="The plan", steps=steps)
    await it.board.send(command, boss(it))


def step(step_id: str, *after: str, **more: Json) -> NewStep:
    return NewStep(step_id=step_id, title=f"Do {step_id}", depends_on_step_ids=after, **more)


async def steps(it: Orchestrator, task_id: str = "plan") -> dict[str, StepView]:
    view = await it.board.get(task_id, boss(it))
    return {each.step_id: each for each in view.steps}


async def statuses(it: Orchestrator, task_id: str = "plan") -> dict[str, str]:
    return {name: each.status.value for name, each in (await steps(it, task_id)).items()}


# Asking as a model does.


def answers(messages: Sequence[Message]) -> list[Json]:
    """What the tools of the last turn answered, in order."""
    said = [at for at, message in enumerate(messages) if message.role == "assistant"]
    last = said[-1] if said else len(messages)
    return [read(message.text) for message in messages[last:] if message.role == "tool"]


def read(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return text


def turns(*replies: Callable[[list[Json]], Message | str] | Message | str) -> ScriptedModel:
    """A model that says the n-th reply at its n-th turn, whatever process it is in."""

    def follow(messages: Sequence[Message]) -> Message | str:
        turn = sum(message.role == "assistant" for message in messages)
        if turn >= len(replies):
            return "I have nothing more to say."
        reply = replies[turn]
        return reply(answers(messages)) if callable(reply) else reply

    return ScriptedModel(follow)


def calls(*wanted: Call) -> Message:
    """A reply that calls several of our tools at once."""
    return call_tools(*((f"agent.{name}", arguments) for name, arguments in wanted))


async def ask_all(it: Orchestrator, *wanted: Call) -> list[Json]:
    """What our tools answer when a model calls them side by side."""
    got: list[Json] = []

    def end(found: list[Json]) -> str:
        got.extend(found)
        return "ok"

    await Agent(turns(calls(*wanted), end), it.tools()).invoke("go")
    assert len(got) == len(wanted)
    return got


async def ask(it: Orchestrator, name: str, **arguments: Json) -> Json:
    """What one of our tools answers to a model."""
    return (await ask_all(it, (name, arguments)))[0]


def dispatch(task_id: str = "plan", **more: Json) -> Call:
    return "dispatch_worker", {"task_id": task_id, "instruction": "Do your step.", **more}


def agent_worker(
    *replies: Callable[[list[Json]], Message | str] | Message | str,
    tools: Sequence[ToolLike] = (),
    **more: Json,
) -> AgentExecutor:
    """A chat-model worker whose every run says these replies."""
    return AgentExecutor(turns(*replies), tools, **more)


def claims_first(found: list[Json]) -> Message:
    """Claim the first step that a query showed."""
    step_id = found[0]["steps"][0]["step_id"]
    return calls(("task_claim_step", {"task_id": "plan", "step_id": step_id}))


def reports(status: str, **more: Json) -> Callable[[list[Json]], Message]:
    """Report on the step that was claimed just now."""

    def reply(found: list[Json]) -> Message:
        step_id = found[0]["step"]["step_id"]
        given = {"task_id": "plan", "step_id": step_id, "status": status, **more}
        return calls(("task_update_step", given))

    return reply


QUERY: Final = calls(("task_query_steps", {"task_id": "plan", "statuses": ["ready"]}))


def diligent_model() -> ScriptedModel:
    """The model of a worker that queries, claims, completes and ends."""
    return turns(
        QUERY, claims_first, reports("completed", result_summary="all well"), "It is done."
    )


def everything_in(directory: Path) -> dict[Path, bytes]:
    """Every file below a directory, with what it holds."""
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


async def until(listener: Listener[SessionEvent], event_type: str) -> SessionEvent:
    """The next happening of this name."""
    async for session_event in listener:
        if session_event.event_type == event_type:
            return session_event
    raise AssertionError(f"no {event_type} came")


def names(session_events: Sequence[SessionEvent]) -> list[str]:
    return [each.event_type for each in session_events]


async def dispatched(it: Orchestrator, **more: Json) -> Json:
    """What a model is told of one dispatch."""
    return (await ask_all(it, dispatch(**more)))[0]


async def last_seq(it: Orchestrator, task_id: str = "plan") -> int:
    return await it.board.read(task_id, lambda task: task.seq, boss(it))


async def turn_until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until something is so that nobody is told of."""
    while not condition():  # noqa: ASYNC110  # it is nobody's event
        await asyncio.sleep(0)
