"""A model that sends garbage to every tool gets structured errors, and changes nothing by it."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Generator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskloom.agent import Agent, Message, ScriptedModel, ToolCall
from taskloom.errors import Code
from taskloom.orchestrator import AgentExecutor, Orchestrator
from taskloom.orchestrator.tools.schemas import SCHEMAS
from tests.orchestrator.orchestrators import (
    LONG_S,
    Doing,
    Json,
    at_once,
    boss,
    dispatched,
    orchestrator,
    plan,
    pool,
    read,
    step,
)

WORKERS = ("task_get", "task_query_steps", "task_claim_step", "task_update_step")
CODES = {code.value for code in Code} - {Code.INTERNAL_ERROR.value}
TASK = "<the task>"
"""Stands for the id of a Task that is there."""

WORDS = st.sampled_from(
    [TASK, "a", "b", "c", "w0", "default", "ready", "blocked", "completed", "add_step", "../x", ""]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 70), 1 << 70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | WORDS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["op", "step", "step_id", "fields", "title", "status", "type"])
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)
PLAUSIBLE: dict[str, st.SearchStrategy[Json]] = {
    "task_id": st.just(TASK),
    "step_id": st.sampled_from(["a", "b", "c"]),
    "timeout_ms": st.integers(0, 50),
    "instruction": st.just("Do it."),
    "background": st.booleans(),
    "status": st.sampled_from(["running", "blocked", "completed", "failed", "pending"]),
}


def arguments(name: str) -> st.SearchStrategy[dict[str, Json]]:
    """Objects with some of a tool's fields, right or wrong, and perhaps others."""
    known = SCHEMAS[name]["properties"]
    fields = {one: PLAUSIBLE.get(one, VALUES) | VALUES for one in known}
    some = st.fixed_dictionaries({}, optional=fields) | st.fixed_dictionaries(fields)
    return st.builds(merged, some, st.dictionaries(st.text(max_size=8), VALUES, max_size=1))


def merged(right: dict[str, Json], wrong: dict[str, Json]) -> dict[str, Json]:
    return {**right, **wrong} if len(right) % 2 else right


def requests(names: tuple[str, ...]) -> st.SearchStrategy[tuple[str, str]]:
    """A tool's name, and the text a model sends as its arguments."""
    return st.sampled_from(names).flatmap(
        lambda name: st.tuples(
            st.just(name), arguments(name).map(json.dumps) | VALUES.map(json.dumps) | st.text()
        )
    )


@pytest.fixture
def run() -> Generator[Callable[[Coroutine[Json, Json, Json]], Json]]:
    """Runs coroutines on one loop, however many examples there are."""
    with asyncio.Runner() as runner:
        yield lambda work: runner.run(asyncio.wait_for(work, LONG_S))


async def marks(it: Orchestrator) -> dict[str, tuple[str, object]]:
    page = await it.board.list(boss(it))
    return {line.task_id: (line.status, line.updated_at) for line in page.tasks}


def check(answer: str, before: Json, after: Json) -> None:
    found: Json = read(answer)
    if isinstance(found, dict) and "error" in found and "outcome" not in found:
        assert found["error"]["code"] in CODES, answer
        assert str(found["error"]["message"])[10:]  # pyright: ignore[reportUnknownArgumentType]  # JSON
        assert after == before  # A refusal changes nothing.
    elif not isinstance(found, dict):
        assert "agent." in answer, answer  # Not even an object: the agent says what to send.
        assert after == before


@pytest.mark.slow
@pytest.mark.spec("TB-619", "TB-623", "TB-502", "TB-504")
def test_garbage_from_an_orchestrator_s_model_is_answered_and_changes_nothing(
    run: Callable[[Coroutine[Json, Json, Json]], Json],
) -> None:
    numbers = count()

    async def play(it: Orchestrator, name: str, text: str) -> None:
        task_id = f"t{next(numbers)}"
        await plan(it, step("a"), step("b", "a"), step("c"), task_id=task_id)
        call = ToolCall("c1", f"agent.{name}", text.replace(TASK, task_id))
        before = await marks(it)

        def follow(messages: Json) -> Json:
            return Message.assistant("", call) if len(messages) == 1 else "end"

        result = await Agent(ScriptedModel(follow), it.tools()).invoke("go")
        (answer,) = [message.text for message in result.messages if message.role == "tool"]
        check(answer, before, await marks(it))

    with TemporaryDirectory() as place:
        stage = orchestrator(Path(place), pool(Doing(at_once), Doing(at_once)))
        it: Orchestrator = run(stage.__aenter__())

        @given(requests(tuple(SCHEMAS)))
        def look(request: tuple[str, str]) -> None:
            run(play(it, *request))

        look()
        run(stage.__aexit__(None, None, None))


@pytest.mark.slow
@pytest.mark.spec("TB-503", "TB-619", "TB-623")
def test_garbage_from_a_worker_s_model_is_answered_and_changes_nothing(
    run: Callable[[Coroutine[Json, Json, Json]], Json],
) -> None:
    numbers = count()
    calls: list[ToolCall] = []
    told: list[str] = []
    seen: list[Json] = []

    async def play(it: Orchestrator, name: str, text: str) -> None:
        task_id = f"t{next(numbers)}"
        await plan(it, step("a"), step("b", "a"), step("c"), task_id=task_id)
        calls[:] = [ToolCall("c1", f"agent.{name}", text.replace(TASK, task_id))]
        ending = await dispatched(it, task_id=task_id)
        assert ending["outcome"] == "completed"
        check(told[0], seen[0], seen[1])

    with TemporaryDirectory() as place:

        async def follow(messages: Json) -> Json:
            turn = sum(message.role == "assistant" for message in messages)
            seen[turn:] = [await marks(it)]
            told[:] = [message.text for message in messages if message.role == "tool"]
            return Message.assistant("", *calls) if turn == 0 else "end"

        stage = orchestrator(Path(place), pool(AgentExecutor(ScriptedModel(follow))))
        it: Orchestrator = run(stage.__aenter__())

        @given(requests(WORKERS))
        def look(request: tuple[str, str]) -> None:
            run(play(it, *request))

        look()
        run(stage.__aexit__(None, None, None))
