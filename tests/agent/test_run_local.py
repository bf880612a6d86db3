"""Run-local values, events of one's own, and a stream of events that stays bounded."""

import asyncio
import threading
from collections.abc import Sequence

import anyio
import pytest

from taskloom.agent import (
    Agent,
    CustomEvent,
    Event,
    InvalidValueError,
    Message,
    Middleware,
    ModelDelta,
    ModelReply,
    NoActiveRunError,
    RunEnded,
    RunSetup,
    ScriptedModel,
    State,
    ToolResult,
    ToolStarted,
    call_id,
    call_tool,
    delete_value,
    get_value,
    has_value,
    interrupt,
    run_id,
    send_event,
    send_event_from_thread,
    set_value,
)
from taskloom.agent.loop.channel import EVENTS_MAX
from tests.agent.samples import collect


@pytest.mark.spec("AG-301")
async def test_values_are_shared_by_all_hooks_and_tools_of_one_run() -> None:
    class Counter(Middleware):
        async def before_agent(self, setup: RunSetup) -> None:
            set_value("count", 1)

        async def before_model(self, state: State) -> State | None:
            set_value("count", (get_value("count") or 0) + 1)
            return None

    async def look() -> str:
        return str(get_value("count"))

    def look_from_a_thread() -> str:
        delete_value("count")
        return f"{has_value('count')} {get_value('count')} {get_value('count', 'none')}"

    script = [call_tool("look"), call_tool("look_from_a_thread"), "ok"]

    result = await Agent(ScriptedModel(script), [look, look_from_a_thread], [Counter()]).invoke(
        "go"
    )
    assert [m.text for m in result.messages if m.role == "tool"] == ["2", "False None none"]


@pytest.mark.spec("AG-301", "AG-303")
async def test_outside_a_run_all_of_it_is_a_clear_error() -> None:
    await Agent(ScriptedModel(["hi"])).invoke("go")  # A run that is over leaves nothing behind.
    for call in (
        lambda: set_value("a", 1),
        lambda: get_value("a"),
        lambda: has_value("a"),
        lambda: delete_value("a"),
        lambda: interrupt("?"),
        lambda: send_event_from_thread("x"),
        run_id,
        call_id,
    ):
        with pytest.raises(NoActiveRunError, match="only inside a run"):
            call()
    with pytest.raises(NoActiveRunError, match="send_event"):
        await send_event("x")


@pytest.mark.spec("AG-302")
@pytest.mark.parametrize(
    ("value", "word"),
    [
        (object(), "object"),
        ({"a": [1, {2, 3}]}, "`state.a[1]` is of type set"),
        ({1: "a"}, "keys"),
        (float("nan"), "nan"),
    ],
)
async def test_a_value_that_cannot_be_kept_is_refused_when_it_is_set(
    value: object, word: str
) -> None:
    async def keep() -> str:
        with pytest.raises(InvalidValueError, match="state") as refused:
            set_value("state", value)
        return str(refused.value)

    result = await Agent(ScriptedModel([call_tool("keep"), "ok"]), [keep]).invoke("go")
    assert word in result.messages[2].text


@pytest.mark.spec("AG-301")
async def test_a_hundred_runs_of_one_agent_at_once_do_not_mix() -> None:
    async def remember(what: str) -> str:
        set_value("what", what)
        await asyncio.sleep(0)
        return str(get_value("what"))

    def reply(messages: Sequence[Message]) -> Message | str:
        first, last = messages[0], messages[-1]
        return call_tool("remember", what=first.text) if last.role == "user" else last.text

    agent = Agent(ScriptedModel(reply), [remember])
    results: dict[str, str] = {}

    async def one(name: str) -> None:
        run = agent.run(name)
        emitted = [event.message.text async for event in run if isinstance(event, ToolResult)]
        assert emitted == [name]
        results[name] = run.result.text
        assert len(run.result.messages) == 4

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for number in range(100):
                group.start_soon(one, f"run {number}")
    assert results == {f"run {n}": f"run {n}" for n in range(100)}


@pytest.mark.spec("AG-303")
async def test_custom_events_are_in_order_with_the_others() -> None:
    async def work() -> str:
        await send_event({"half": "way"})
        return "done"

    def sync_work() -> str:
        assert threading.current_thread() is not threading.main_thread()
        send_event_from_thread("from a thread")
        return f"{call_id()} {run_id()}"

    class Hello(Middleware):
        async def before_agent(self, setup: RunSetup) -> None:
            await send_event("hello")

    model = ScriptedModel([call_tool("work"), call_tool("sync_work"), "ok"])
    run = Agent(model, [work, sync_work], [Hello()]).run("go", stream=False)
    events = await collect(run)
    kinds = (CustomEvent, ModelReply, ToolStarted, ToolResult)
    assert [
        event.data if isinstance(event, CustomEvent) else type(event).__name__
        for event in events
        if isinstance(event, kinds)
    ] == [
        "hello",
        *("ModelReply", "ToolStarted", {"half": "way"}, "ToolResult"),
        *("ModelReply", "ToolStarted", "from a thread", "ToolResult"),
        "ModelReply",
    ]
    result = run.result.messages[4]
    assert result.text == f"{result.tool_call_id} {run.id}"


@pytest.mark.spec("AG-304")
async def test_streaming_gives_the_chunks_then_the_whole() -> None:
    model = ScriptedModel(["one two three"], chunk_chars=4)
    events = await collect(Agent(model).run("go"))
    chunks = [event for event in events if isinstance(event, ModelDelta)]
    whole = [event for event in events if isinstance(event, ModelReply)]
    assert "".join(chunk.delta.text for chunk in chunks) == "one two three"
    assert len(chunks) == 4
    assert {chunk.message_id for chunk in chunks} == {whole[0].message.id}
    assert events.index(whole[0]) > events.index(chunks[-1])


@pytest.mark.spec("AG-305")
async def test_a_slow_reader_slows_the_run_down() -> None:
    sent = 0

    async def talk() -> str:
        nonlocal sent
        for _ in range(10 * EVENTS_MAX):
            await send_event("x")
            sent += 1
        return ""

    run = Agent(ScriptedModel([call_tool("talk"), "ok"]), [talk]).run("go")
    read = 0
    async for event in run:
        read += isinstance(event, CustomEvent)
        for _ in range(5):
            await asyncio.sleep(0)  # Give the run every chance to get ahead.
        assert sent - read <= EVENTS_MAX
    assert read == 10 * EVENTS_MAX


@pytest.mark.spec("AG-305", "AG-110")
async def test_a_reader_that_leaves_ends_the_run() -> None:
    ended = anyio.Event()
    begun: list[str] = []

    async def endless() -> str:
        try:
            while True:
                begun.append("turn")
                await send_event("x")
                await asyncio.sleep(0)
        finally:
            ended.set()

    before = asyncio.all_tasks()
    agent = Agent(ScriptedModel([call_tool("endless")]), [endless])
    async for event in agent.run("go"):
        if isinstance(event, CustomEvent):
            break
    with anyio.fail_after(5):
        await ended.wait()
        for task in asyncio.all_tasks() - before:
            await asyncio.wait([task])
    assert asyncio.all_tasks() == before


@pytest.mark.spec("AG-305")
async def test_a_reader_that_leaves_a_full_channel_ends_the_run_too() -> None:
    async def flood() -> str:
        while True:
            await send_event("x")

    before = asyncio.all_tasks()
    with anyio.fail_after(5):
        async with Agent(ScriptedModel([call_tool("flood")]), [flood]).run("go") as run:
            async for event in run:
                if isinstance(event, CustomEvent):
                    for _ in range(5):
                        await asyncio.sleep(0)  # The run fills the channel and waits.
                    break
        assert run.result.stop_reason == "cancelled"
        for task in asyncio.all_tasks() - before:
            await asyncio.wait([task])  # The closing of the iterator itself.


@pytest.mark.spec("AG-305")
async def test_the_end_of_the_block_ends_the_run() -> None:
    before = asyncio.all_tasks()

    async def endless() -> str:
        await asyncio.Event().wait()
        return ""

    events: list[Event] = []
    async with Agent(ScriptedModel([call_tool("endless")]), [endless]).run("go") as run:
        async for event in run:
            events.append(event)
            if isinstance(event, ToolStarted):
                break
    assert asyncio.all_tasks() == before
    assert not any(isinstance(event, RunEnded) for event in events)
    assert run.result.stop_reason == "cancelled"
