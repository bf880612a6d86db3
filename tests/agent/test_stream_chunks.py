"""However a reply or a tool's result is cut into chunks, the messages are the same."""

from collections.abc import AsyncIterator

import anyio
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskloom.agent import (
    Agent,
    Message,
    ModelDelta,
    ModelReply,
    Say,
    ScriptedModel,
    ToolCall,
    ToolDelta,
    ToolResult,
)
from tests.agent.samples import collect


@pytest.mark.spec("AG-109", "AG-304")
@given(
    text=st.text(min_size=1),
    arguments=st.dictionaries(st.text(min_size=1), st.text(), max_size=3),
    chunk=st.integers(1, 40),
    chunks=st.lists(st.text(), min_size=1, max_size=5),
)
def test_the_messages_do_not_depend_on_the_chunking(
    text: str, arguments: dict[str, str], chunk: int, chunks: list[str]
) -> None:
    call = ToolCall("c1", "echo", msgspec.json.encode({"values": arguments}).decode())

    async def echo(values: dict[str, str]) -> AsyncIterator[str]:
        assert values == arguments
        for chunk in chunks:
            yield chunk

    def agent(size: int) -> Agent:
        model = ScriptedModel([Message.assistant(text, call), Say(text=text)], chunk_chars=size)
        return Agent(model, [echo])

    async def compare() -> None:
        quiet = await agent(1).invoke("go")
        run = agent(chunk).run("go")
        events = await collect(run)
        assert [m.replace(id="") for m in run.result.messages] == [
            m.replace(id="") for m in quiet.messages
        ]
        for reply in (event for event in events if isinstance(event, ModelReply)):
            deltas = [
                event.delta
                for event in events
                if isinstance(event, ModelDelta) and event.message_id == reply.message.id
            ]
            assert "".join(delta.text for delta in deltas) == reply.message.text
            if reply.message.tool_calls:
                written = "".join(delta.arguments for delta in deltas)
                assert written == reply.message.tool_calls[0].arguments
        streamed = "".join(str(event.chunk) for event in events if isinstance(event, ToolDelta))
        (result,) = (event.message for event in events if isinstance(event, ToolResult))
        assert streamed == result.text == "".join(chunks)

    anyio.run(compare)
