"""Tool names that providers forbid: mapped on the way out, and back on the way in."""

import json
import re
from collections.abc import Callable
from typing import Any

import anyio
import msgspec
import pytest
from msgspec import structs
from pydantic_ai import messages as library

from taskloom.agent import (
    Agent,
    Message,
    ModelDelta,
    Tool,
    ToolCall,
    ToolInfo,
    ToolStarted,
    as_tool,
)
from taskloom.agent.providers.messages import from_library, to_library
from taskloom.agent.providers.model import provider_model
from taskloom.agent.providers.tool_names import ToolNames
from tests.agent.provider_server import FORMATS, Anthropic, OpenAI, serving
from tests.agent.samples import collect

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

Format = type[OpenAI] | type[Anthropic]

LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")


async def create(title: str) -> str:
    """Create a Task."""
    return f"created {title}"


async def agent_task_create(title: str) -> str:
    """Something else, under the name the other one would like."""
    return f"not created {title}"


def named(function: Callable[..., Any], name: str) -> Tool:
    made = as_tool(function)
    info = ToolInfo(name, made.info.description, made.info.parameters)
    return structs.replace(made, info=info)


CREATE = named(create, "agent.task_create")


def names_in(asked: dict[str, Any]) -> set[str]:
    """Every tool name in a request, in either format."""
    found = {each.get("name") or each["function"]["name"] for each in asked["tools"]}
    for message in asked["messages"]:
        found |= {call["function"]["name"] for call in message.get("tool_calls") or ()}
        if isinstance(message["content"], list):
            found |= {block["name"] for block in message["content"] if "name" in block}
    return found


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("form", FORMATS)
async def test_a_name_with_a_dot_goes_out_mapped_and_comes_back_whole(
    form: Format, streamed: bool
) -> None:
    make = form.streamed if streamed else form.whole
    call = ToolCall("t1", "agent_task_create", '{"title":"x"}')
    async with serving([make("", call), make("done")]) as server:
        base_url = server.base_url + form.path
        async with provider_model(form.model, base_url=base_url, api_key="k") as model:
            run = Agent(model, [CREATE], settings={"max_retries": 0}).run("go")
            with anyio.fail_after(20):
                events = await collect(run) if streamed else []
                result = run.result if streamed else await run.wait()
    assert result.error is None
    assert result.text == "done"
    assert [call.name for call in result.messages[1].tool_calls] == ["agent.task_create"]
    assert [m.text for m in result.messages if m.role == "tool"] == ["created x"]
    assert names_in(server.asked[0]) == names_in(server.asked[1]) == {"agent_task_create"}
    if streamed:
        emitted = [event.delta.tool_name for event in events if isinstance(event, ModelDelta)]
        assert [name for name in emitted if name] == ["agent.task_create"]
        started = [event for event in events if isinstance(event, ToolStarted)]
        assert len(started) == 1
        assert "agent.task_create" in str(started[0])


@pytest.mark.parametrize("form", FORMATS)
async def test_two_tools_with_the_same_allowed_name_get_different_ones(form: Format) -> None:
    probe = ToolNames(["agent.task_create", "agent_task_create"])
    mapped = probe.sent("agent.task_create")
    calls = (ToolCall("t1", mapped, '{"title":"a"}'),
             ToolCall("t2", "agent_task_create", '{"title":"b"}'))  # fmt: skip  # side by side
    async with serving([form.whole("", *calls), form.whole("done")]) as server:
        base_url = server.base_url + form.path
        async with provider_model(form.model, base_url=base_url, api_key="k") as model:
            agent = Agent(model, [CREATE, agent_task_create], settings={"max_retries": 0})
            with anyio.fail_after(20):
                result = await agent.invoke("go")
    assert [m.text for m in result.messages if m.role == "tool"] == ["created a", "not created b"]
    sent = names_in(server.asked[1])
    assert len(sent) == 2
    assert all(LEGAL.fullmatch(name) for name in sent)


def test_every_name_gets_a_legal_one_of_its_own_whatever_the_order() -> None:
    hard = ["a.b", "a_b", "a/b", "a b", "名前", "别名", "x" * 64, "x" * 65, "x" * 66, "", "."]
    for names in (hard, hard[::-1]):
        made = ToolNames(names)
        sent = [made.sent(name) for name in names]
        assert all(LEGAL.fullmatch(name) for name in sent), sent
        assert len(set(sent)) == len(names)
        assert [made.received(name) for name in sent] == names
        assert made.sent("a_b") == "a_b"
    assert made.received("nobody_has_this") == "nobody_has_this"


def test_a_conversation_follows_to_a_request_that_names_its_tools_otherwise() -> None:
    call = ToolCall("t1", "a.b", "{}")
    history = [Message.assistant("", call), Message.tool(call, "ok")]
    plain, crowded = ToolNames(["a.b"]), ToolNames(["a.b", "a_b"])
    for names in (plain, crowded, plain):
        (_, response, request) = to_library(history, "", names)
        assert isinstance(response, library.ModelResponse)
        (part,) = request.parts
        assert isinstance(part, library.ToolReturnPart)
        assert [made.tool_name for made in response.tool_calls] == [names.sent("a.b")]
        assert part.tool_name == names.sent("a.b")
    assert plain.sent("a.b") != crowded.sent("a.b")


def test_what_a_journal_kept_of_the_provider_is_used_under_any_mapping() -> None:
    response = library.ModelResponse(
        parts=[
            library.ThinkingPart("hmm", signature="sealed", provider_name="anthropic"),
            library.ToolCallPart("a_b", "{}", tool_call_id="t1"),
        ]
    )
    message = from_library(response, ToolNames(["a.b"]))
    assert message.tool_calls[0].name == "a.b"
    restored = msgspec.json.decode(msgspec.json.encode(message), type=Message)
    crowded = ToolNames(["a.b", "a_b"])
    (_, again) = to_library([restored], "", crowded)
    assert isinstance(again, library.ModelResponse)
    assert "sealed" in json.dumps(
        library.ModelMessagesTypeAdapter.dump_python([again], mode="json")
    )
    assert again.tool_calls[0].tool_name == crowded.sent("a.b")
