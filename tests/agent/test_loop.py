"""The loop: what goes in, what comes out, and how a run ends."""

import asyncio

import anyio
import pytest

from taskloom.agent import (
    Agent,
    AgentError,
    Message,
    ModelReply,
    RunEnded,
    RunFailedError,
    RunStarted,
    Say,
    ScriptedModel,
    State,
    ToolCall,
    ToolExecutionError,
    ToolResult,
    Usage,
    before_model,
    call_tool,
    call_tools,
)
from tests.agent.samples import add, collect, of


@pytest.mark.spec("AG-101", "AG-102")
async def test_a_run_ends_with_its_final_message_all_messages_usage_and_reason() -> None:
    call = ToolCall("c1", "add", '{"a": 1, "b": 2}')
    model = ScriptedModel(
        [Say(calls=(call,), usage=Usage(10, 2)), Say(text="It is 3.", usage=Usage(20, 4))]
    )
    agent = Agent(model, [add], instruction="Be brief.")

    events = await collect(agent.run("1 + 2?"))

    assert isinstance(events[0], RunStarted)
    last = events[-1]
    assert isinstance(last, RunEnded)
    result = last.result
    assert (result.stop_reason, result.text) == ("completed", "It is 3.")
    assert result.usage == Usage(30, 6)
    assert result.iterations == 2
    assert [(message.role, message.text) for message in result.messages] == [
        ("user", "1 + 2?"),
        ("assistant", ""),
        ("tool", "3"),
        ("assistant", "It is 3."),
    ]
    first, second = model.requests
    assert first.instruction == "Be brief."
    assert [info.name for info in first.tools] == ["add"]
    assert [message.role for message in first.messages] == ["user"]
    assert [message.role for message in second.messages] == ["user", "assistant", "tool"]


@pytest.mark.spec("AG-101")
async def test_messages_may_be_given_instead_of_a_string() -> None:
    agent = Agent(ScriptedModel(lambda messages: str(len(messages))))
    assert (await agent.invoke([Message.system("s"), Message.user("u")])).text == "2"
    assert (await agent.invoke(Message.user("u"))).text == "1"
    with pytest.raises(AgentError, match="start from"):
        await agent.invoke()


@pytest.mark.spec("AG-103")
@pytest.mark.parametrize("parallel", [True, False])
async def test_results_are_in_call_order_whatever_order_they_finish_in(parallel: bool) -> None:
    released = anyio.Event()
    order: list[str] = []

    async def slow() -> str:
        order.append("slow begins")
        if parallel:
            await released.wait()  # Only a sibling that runs at the same time can release it.
        for _ in range(5):
            await asyncio.sleep(0)  # A sibling that could begin now would.
        order.append("slow ends")
        return "slow"

    async def quick() -> str:
        order.append("quick")
        released.set()
        return "quick"

    model = ScriptedModel([call_tools(("slow", {}), ("quick", {})), "done"])
    with anyio.fail_after(5):
        result = await Agent(model, [slow, quick], parallel_tools=parallel).invoke("go")

    assert [m.text for m in result.messages if m.role == "tool"] == ["slow", "quick"]
    one_by_one = ["slow begins", "slow ends", "quick"]
    assert order == (["slow begins", "quick", "slow ends"] if parallel else one_by_one)


@pytest.mark.spec("AG-104")
async def test_the_iteration_limit_ends_the_run_and_keeps_everything_done() -> None:
    model = ScriptedModel(lambda _: call_tool("add", a=1, b=2))
    result = await Agent(model, [add], max_iterations=3).invoke("go")
    assert result.stop_reason == "max_iterations"
    assert len(model.requests) == 3
    assert [m.text for m in result.messages if m.role == "tool"] == ["3", "3", "3"]
    assert result.message is None


@pytest.mark.spec("AG-104")
async def test_the_default_limit_is_twenty() -> None:
    model = ScriptedModel(lambda _: call_tool("add", a=1, b=2))
    result = await Agent(model, [add]).invoke("go")
    assert (result.stop_reason, result.iterations, len(model.requests)) == (
        "max_iterations",
        20,
        20,
    )


@pytest.mark.spec("AG-105")
async def test_a_tool_that_returns_directly_ends_the_run_with_the_last_such_result() -> None:
    async def ask(what: str) -> str:
        return f"answer to {what}"

    model = ScriptedModel(
        [call_tools(("ask", {"what": "a"}), ("ask", {"what": "b"}), ("add", {"a": 1, "b": 1}))]
    )
    result = await Agent(model, [ask, add], return_directly=["ask"]).invoke("go")
    assert (result.stop_reason, result.text) == ("returned_directly", "answer to b")
    assert [m.text for m in result.messages if m.role == "tool"] == [
        "answer to a",
        "answer to b",
        "2",
    ]
    assert len(model.requests) == 1


@pytest.mark.spec("AG-105")
async def test_a_call_that_never_reached_its_tool_does_not_return_directly() -> None:
    model = ScriptedModel([call_tool("add", a="x", b=1), "sorry"])
    result = await Agent(model, [add], return_directly=["add"]).invoke("go")
    assert (result.stop_reason, result.text) == ("completed", "sorry")


async def boom() -> str:
    raise ValueError("no such file: plan.txt")


@pytest.mark.spec("AG-106")
async def test_a_tools_exception_is_a_result_the_model_reads() -> None:
    model = ScriptedModel([call_tools(("boom", {}), ("add", {"a": 1, "b": 1})), "I see."])
    result = await Agent(model, [boom, add]).invoke("go")
    failed, fine = (m for m in result.messages if m.role == "tool")
    assert failed.is_error
    assert "no such file: plan.txt" in failed.text
    assert (fine.is_error, fine.text) == (False, "2")
    assert result.text == "I see."


@pytest.mark.spec("AG-106")
async def test_on_request_a_tools_exception_ends_the_run_after_its_siblings_finished() -> None:
    model = ScriptedModel([call_tools(("boom", {}), ("add", {"a": 1, "b": 1}))])
    with pytest.raises(RunFailedError, match=r"plan\.txt") as raised:
        await Agent(model, [boom, add], on_tool_error="raise").invoke("go")
    result = raised.value.result
    assert result.stop_reason == "failed"
    assert isinstance(result.error, ToolExecutionError)
    assert isinstance(result.error.__cause__, ValueError)
    assert [m.text for m in result.messages if m.role == "tool"][1] == "2"


@pytest.mark.spec("AG-107")
async def test_an_unknown_tool_is_answered_with_the_tools_there_are() -> None:
    model = ScriptedModel([call_tools(("subtract", {}), ("add", {"a": 1, "b": 1})), "ok"])
    result = await Agent(model, [add]).invoke("go")
    unknown, sibling = (m for m in result.messages if m.role == "tool")
    assert unknown.is_error
    assert "`subtract`" in unknown.text
    assert "add" in unknown.text
    assert sibling.text == "2"


@pytest.mark.spec("AG-107")
async def test_a_hidden_tool_cannot_be_called() -> None:
    ran: list[str] = []

    async def secret() -> str:
        ran.append("secret")
        return "s"

    @before_model
    async def hide(state: State) -> None:
        state.tools[:] = [info for info in state.tools if info.name != "secret"]

    model = ScriptedModel([call_tool("secret"), "ok"])
    result = await Agent(model, [secret, add], [hide]).invoke("go")
    assert ran == []
    assert [info.name for info in model.requests[0].tools] == ["add"]
    refused = result.messages[2]
    assert refused.is_error
    assert "secret" not in refused.text.partition("The tools are")[2]


@pytest.mark.spec("AG-108")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('{"a": "one", "b": 2}', ["`a`", "int", "str"]),
        ('{"a": 1}', ["`b`", "missing"]),
        ('{"a": 1, "b": 2, "c": 3}', ["`c`"]),
        ('{"a": 1,', ["JSON"]),
        ("[1, 2]", ["JSON object"]),
    ],
)
async def test_wrong_arguments_are_answered_with_which_and_why(
    arguments: str, words: list[str]
) -> None:
    reply = Message.assistant("", ToolCall("c1", "add", arguments))
    result = await Agent(ScriptedModel([reply, "ok"]), [add]).invoke("go")
    assert result.messages[2].is_error
    for word in words:
        assert word in result.messages[2].text


@pytest.mark.spec("AG-109")
async def test_reading_events_or_not_gives_the_same_messages() -> None:
    def script() -> ScriptedModel:
        call = ToolCall("c1", "add", '{"a":1,"b":2}')
        return ScriptedModel([Message.assistant("Let me see.", call), "It is three, I think."])

    quiet = await Agent(script(), [add]).invoke("go")
    runs = [Agent(script(), [add]).run("go", stream=stream) for stream in (True, False)]
    for run in runs:
        await collect(run)
    for run in runs:
        assert [m.replace(id="") for m in run.result.messages] == [
            m.replace(id="") for m in quiet.messages
        ]


@pytest.mark.spec("AG-111")
async def test_the_messages_of_a_run_continue_the_conversation() -> None:
    agent = Agent(ScriptedModel(lambda messages: f"{len(messages)} so far"))
    first = await agent.invoke("hello")
    second = await agent.invoke([*first.messages, Message.user("again")])
    assert [m.text for m in second.messages] == ["hello", "1 so far", "again", "3 so far"]


@pytest.mark.spec("AG-304")
async def test_events_and_messages_share_their_ids() -> None:
    model = ScriptedModel([call_tool("add", a=1, b=2), "three"])
    run = Agent(model, [add]).run("go")
    events = await collect(run)
    emitted = [
        event.message.id
        for event in [*of(ModelReply, events), *of(ToolResult, events)]
        if isinstance(event, ModelReply | ToolResult)
    ]
    kept = [message.id for message in run.result.messages if message.role != "user"]
    assert sorted(emitted) == sorted(kept)
    assert len(set(kept)) == 3


async def test_a_model_that_gives_no_call_ids_or_the_same_twice_is_helped() -> None:
    calls = (ToolCall("", "add", '{"a":1,"b":1}'), ToolCall("x", "add", '{"a":2,"b":2}'))
    reply = Message.assistant("", *calls, ToolCall("x", "add", '{"a":3,"b":3}'))
    result = await Agent(ScriptedModel([reply, "ok"]), [add]).invoke("go")
    assert [m.text for m in result.messages if m.role == "tool"] == ["2", "4", "6"]
    assert len({m.tool_call_id for m in result.messages if m.role == "tool"}) == 3


def test_a_run_without_an_event_loop() -> None:
    loops: set[object] = set()

    def reply(_: object) -> str:
        loops.add(asyncio.get_running_loop())
        return "hi"

    agent = Agent(ScriptedModel(reply))
    assert [agent.invoke_sync("hello").text for _ in range(2)] == ["hi", "hi"]
    assert len(loops) == 1  # Connections that were made on it stay alive.


async def test_invoke_sync_inside_an_event_loop_says_what_to_write() -> None:
    with pytest.raises(AgentError, match="await agent"):
        Agent(ScriptedModel(["hi"])).invoke_sync("hello")


async def test_a_run_runs_once() -> None:
    run = Agent(ScriptedModel(["hi"])).run("hello")
    await run.wait()
    with pytest.raises(AgentError, match="once"):
        await run.wait()


async def test_a_model_error_is_the_callers_to_see() -> None:
    with pytest.raises(RunFailedError, match="out of order") as raised:
        await Agent(ScriptedModel([RuntimeError("out of order")])).invoke("go")
    assert raised.value.result.stop_reason == "failed"


@pytest.mark.spec("AG-101")
async def test_a_run_in_a_block_can_be_waited_for() -> None:
    async with Agent(ScriptedModel(["hi"])).run("go") as run:
        assert (await run.wait()).text == "hi"
    assert run.result.stop_reason == "completed"
