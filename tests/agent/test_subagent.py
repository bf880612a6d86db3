"""An agent as a tool of another."""

import asyncio
from collections.abc import Sequence

import anyio
import pytest

from taskloom.agent import (
    Agent,
    MemoryCheckpoints,
    Message,
    ModelDelta,
    ModelReply,
    NestedEvent,
    RunEnded,
    ScriptedModel,
    call_tool,
    get_value,
    interrupt,
    set_value,
)
from tests.agent.samples import add, collect


@pytest.mark.spec("AG-604")
async def test_the_inner_agent_answers_and_its_events_are_visible() -> None:
    inner = Agent(
        ScriptedModel([call_tool("add", a=1, b=2), "three"]), [add], name="maths", description="M."
    )
    tool = inner.as_tool()
    assert (tool.name, tool.info.description) == ("maths", "M.")
    outer = Agent(ScriptedModel([call_tool("maths", task="1+2"), "ok"]), [tool])
    run = outer.run("go")
    events = await collect(run)
    nested = [event for event in events if isinstance(event, NestedEvent)]
    call = run.result.messages[1].tool_calls[0]
    assert {(event.agent, event.call_id) for event in nested} == {("maths", call.id)}
    replies = [e.event.message.text for e in nested if isinstance(e.event, ModelReply)]
    assert replies == ["", "three"]
    assert any(isinstance(event.event, ModelDelta) for event in nested)
    assert run.result.messages[2].text == "three"
    assert run.result.text == "ok"
    assert isinstance(events[-1], RunEnded)


@pytest.mark.spec("AG-604", "AG-301")
async def test_inner_and_outer_runs_have_values_of_their_own() -> None:
    async def mark(name: str) -> str:
        before = get_value("mark")
        set_value("mark", name)
        return str(before)

    inner = Agent(ScriptedModel([call_tool("mark", name="inner"), "in"]), [mark], name="inner")
    outer = Agent(
        ScriptedModel(
            [
                call_tool("mark", name="outer"),
                call_tool("inner", task="x"),
                call_tool("mark", name="again"),
                "out",
            ]
        ),
        [mark, inner.as_tool()],
    )
    result = await outer.invoke("go")
    assert [m.text for m in result.messages if m.role == "tool"] == ["None", "in", "outer"]


@pytest.mark.spec("AG-604", "AG-110")
async def test_cancelling_the_outer_run_cancels_the_inner() -> None:
    started, ended = anyio.Event(), anyio.Event()

    async def forever() -> str:
        try:
            started.set()
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    inner = Agent(ScriptedModel([call_tool("forever")]), [forever], name="inner")
    run = Agent(ScriptedModel([call_tool("inner", task="x")]), [inner.as_tool()]).run("go")
    before = asyncio.all_tasks()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(run.wait)
            await started.wait()
            run.cancel()
    assert ended.is_set()
    assert run.result.stop_reason == "cancelled"
    assert asyncio.all_tasks() == before


@pytest.mark.spec("AG-604", "AG-502")
async def test_an_interrupt_of_the_inner_run_is_one_of_the_outer() -> None:
    ran: list[str] = []

    def agent() -> Agent:
        async def first() -> str:
            ran.append("first")
            return "1"

        async def ask() -> str:
            ran.append("ask")
            return str(interrupt("name?"))

        def reply(messages: Sequence[Message]) -> Message | str:
            turns = [call_tool("first"), call_tool("ask"), messages[-1].text]
            return turns[len(messages) // 2]

        inner = Agent(ScriptedModel(reply), [first, ask], name="inner")
        script = [call_tool("inner", task="x"), "fine"] if not ran else ["fine"]
        return Agent(ScriptedModel(script), [inner.as_tool()], checkpoints=store)

    store = MemoryCheckpoints()
    stopped = await agent().invoke("go")
    (question,) = stopped.interrupts
    assert question.where == "tool inner > tool ask"
    result = await agent().resume(stopped.run_id, {question.id: "Ada"}).wait()
    assert result.messages[2].text == "Ada"
    assert ran == ["first", "ask", "ask"]


@pytest.mark.spec("AG-604", "AG-106")
async def test_an_inner_failure_is_a_result_the_outer_model_reads() -> None:
    inner = Agent(ScriptedModel([OSError("no line")]), name="inner")
    outer = Agent(ScriptedModel([call_tool("inner", task="x"), "I see"]), [inner.as_tool()])
    result = await outer.invoke("go")
    assert result.messages[2].is_error
    assert "no line" in result.messages[2].text
