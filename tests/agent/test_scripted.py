"""The scripted model: what it says, how it says it, and what it keeps."""

from collections.abc import Sequence

import anyio
import pytest

from taskloom.agent import (
    Delta,
    Message,
    ModelError,
    ModelRequest,
    Say,
    ScriptedModel,
    ToolCall,
    Usage,
    call_tool,
    call_tools,
)

REQUEST = ModelRequest((Message.user("hello"),))


async def read_stream(model: ScriptedModel) -> tuple[list[Delta], Message]:
    deltas: list[Delta] = []

    async def on_delta(delta: Delta) -> None:
        deltas.append(delta)

    return deltas, await model.generate(REQUEST.replace(on_delta=on_delta))


@pytest.mark.spec("AG-602")
async def test_replies_come_in_order_and_a_call_after_the_last_is_an_error() -> None:
    model = ScriptedModel(["one", Message.assistant("two"), Say(text="three", usage=Usage(1, 2))])
    said = [await model.generate(REQUEST) for _ in range(3)]
    assert [message.text for message in said] == ["one", "two", "three"]
    assert said[2].usage == Usage(1, 2)
    assert model.requests == [REQUEST] * 3
    with pytest.raises(ModelError, match="no reply for call 4"):
        await model.generate(REQUEST)


@pytest.mark.spec("AG-602")
async def test_a_function_of_the_messages_may_be_sync_or_async() -> None:
    async def later(messages: Sequence[Message]) -> str:
        return messages[-1].text + " later"

    sync = ScriptedModel(lambda messages: messages[-1].text + " now")
    assert (await sync.generate(REQUEST)).text == "hello now"
    assert (await ScriptedModel(later).generate(REQUEST)).text == "hello later"


@pytest.mark.spec("AG-602")
async def test_tool_calls_are_data() -> None:
    one = call_tool("add", a=1)
    assert one.tool_calls == (ToolCall(one.tool_calls[0].id, "add", '{"a":1}'),)
    two = call_tools(("a", {}), ("b", {"x": None}), text="both")
    assert [(call.name, call.arguments) for call in two.tool_calls] == [
        ("a", "{}"),
        ("b", '{"x":null}'),
    ]
    assert len({call.id for call in two.tool_calls}) == 2
    assert two.text == "both"


@pytest.mark.spec("AG-602")
async def test_chunks_have_the_configured_size() -> None:
    call = ToolCall("c1", "add", '{"a":12}')
    deltas, whole = await read_stream(
        ScriptedModel([Say(text="abcde", thinking="hm", calls=(call,))], chunk_chars=3)
    )
    assert deltas == [
        Delta(thinking="hm"),
        Delta(text="abc"),
        Delta(text="de"),
        Delta(call_index=0, tool_name="add", arguments='{"a'),
        Delta(call_index=0, arguments='":1'),
        Delta(call_index=0, arguments="2}"),
    ]
    assert whole == Message.assistant("abcde", call)
    deltas, _ = await read_stream(ScriptedModel([Say(text="abc", chunks=("a", "bc"))]))
    assert [delta.text for delta in deltas] == ["a", "bc"]


@pytest.mark.spec("AG-602")
async def test_errors_are_raised_at_once_or_half_way() -> None:
    with pytest.raises(TimeoutError, match="slow"):
        await ScriptedModel([TimeoutError("slow")]).generate(REQUEST)
    broken = Say(chunks=("a", "b", "c"), breaks_with=OSError("cut"))
    deltas: list[str] = []

    async def on_delta(delta: Delta) -> None:
        deltas.append(delta.text)

    with pytest.raises(OSError, match="cut"):
        await ScriptedModel([broken]).generate(REQUEST.replace(on_delta=on_delta))
    assert deltas == ["a", "b"]


@pytest.mark.spec("AG-602")
async def test_a_delay_takes_its_time() -> None:
    model = ScriptedModel([Say(text="late", delay_s=3600)])
    with anyio.move_on_after(0) as scope:
        await model.generate(REQUEST)
    assert scope.cancelled_caught
