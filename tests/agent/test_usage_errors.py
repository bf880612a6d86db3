"""Things people get wrong, and what they are told."""

import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

import pytest

from taskloom.agent import (
    Agent,
    FilePart,
    ImagePart,
    InvalidToolError,
    JsonPart,
    Message,
    Middleware,
    ModelError,
    ModelHandler,
    ModelRequest,
    Part,
    RichStreamingToolHandler,
    RichToolHandler,
    RunFailedError,
    ScriptedModel,
    State,
    StreamingToolHandler,
    TextPart,
    ToolCall,
    ToolHandler,
    ToolRequest,
    after_model,
    call_tool,
    tool,
    wrap_model,
    wrap_rich_streaming_tool_call,
    wrap_rich_tool_call,
    wrap_streaming_tool_call,
)
from tests.agent.samples import add


async def error_of(agent: Agent) -> str:
    with pytest.raises(RunFailedError) as raised:
        await agent.invoke("go")
    return str(raised.value.result.error)


@pytest.mark.spec("AG-206")
async def test_a_wrapper_that_forgets_to_return_is_told() -> None:
    @wrap_model
    async def forgetful(request: ModelRequest, call: ModelHandler) -> Message:
        await call(request)
        return cast("Message", None)

    agent = Agent(ScriptedModel(["hi"]), [], [forgetful])
    assert "must return" in await error_of(agent)


@pytest.mark.spec("AG-204")
async def test_after_model_must_leave_a_message() -> None:
    @after_model
    def empty(state: State) -> None:
        state.messages.clear()

    assert "left no message" in await error_of(Agent(ScriptedModel(["hi"]), [], [empty]))


@pytest.mark.spec("AG-204")
async def test_calls_that_a_hook_added_without_ids_get_some() -> None:
    @after_model
    def insist(state: State) -> None:
        if len(state.messages) == 2:
            calls = tuple(ToolCall("", "add", f'{{"a":{n},"b":0}}') for n in range(2))
            state.messages[-1] = state.messages[-1].replace(tool_calls=calls)

    result = await Agent(ScriptedModel(["x", "y"]), [add], [insist]).invoke("go")
    assert [m.text for m in result.messages if m.role == "tool"] == ["0", "1"]


def test_wrong_settings_are_refused_when_the_agent_is_made() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Agent(ScriptedModel([]), max_iterations=0)


@pytest.mark.spec("AG-601")
def test_without_the_extra_a_model_by_name_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['pydantic_ai'] = None\n"
        "from taskloom.agent import Agent, ModelError\n"
        "try: Agent('openai:x')\n"
        "except ModelError as error: print(error.kind, error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.startswith("missing_extra")
    assert "taskloom[models]" in done.stdout


@pytest.mark.spec("AG-201", "AG-213")
async def test_each_kind_of_tool_wrapper_can_be_a_function() -> None:
    async def words() -> AsyncIterator[str]:
        yield "a"

    async def part() -> TextPart:
        return TextPart("a")

    async def parts() -> AsyncIterator[TextPart]:
        yield TextPart("a")

    @wrap_streaming_tool_call
    async def stream(request: ToolRequest, call: StreamingToolHandler) -> AsyncIterator[str]:
        async for chunk in call(request):
            yield chunk + "1"

    @wrap_rich_tool_call
    async def rich(request: ToolRequest, call: RichToolHandler) -> Sequence[Part]:
        return [*await call(request), TextPart("2")]

    @wrap_rich_streaming_tool_call
    async def rich_stream(
        request: ToolRequest, call: RichStreamingToolHandler
    ) -> AsyncIterator[Part]:
        async for one in call(request):
            yield one
        yield TextPart("3")

    script = [call_tool("words"), call_tool("part"), call_tool("parts"), "ok"]
    agent = Agent(ScriptedModel(script), [words, part, parts], [stream, rich, rich_stream])
    result = await agent.invoke("go")
    assert [m.text for m in result.messages if m.role == "tool"] == ["a1", "a2", "a3"]


@pytest.mark.spec("AG-201")
async def test_the_hooks_of_the_class_above_do_nothing_but_can_be_called() -> None:
    class Polite(Middleware):
        async def wrap_model(self, request: ModelRequest, call: ModelHandler) -> Message:
            return await super().wrap_model(request, call)

        async def wrap_tool_call(self, request: ToolRequest, call: ToolHandler) -> str:
            return await super().wrap_tool_call(request, call)

        def wrap_streaming_tool_call(
            self, request: ToolRequest, call: StreamingToolHandler
        ) -> AsyncIterator[str]:
            return super().wrap_streaming_tool_call(request, call)

        async def wrap_rich_tool_call(
            self, request: ToolRequest, call: RichToolHandler
        ) -> Sequence[Part]:
            return await super().wrap_rich_tool_call(request, call)

        def wrap_rich_streaming_tool_call(
            self, request: ToolRequest, call: RichStreamingToolHandler
        ) -> AsyncIterator[Part]:
            return super().wrap_rich_streaming_tool_call(request, call)

    async def words() -> AsyncIterator[str]:
        yield "a"

    @tool(rich=True)
    async def part() -> str:
        return "b"

    @tool(rich=True)
    async def parts() -> AsyncIterator[object]:
        yield {"c": 1}

    script = [
        *(call_tool("add", a=1, b=1), call_tool("words"), call_tool("part"), call_tool("parts")),
        "ok",
    ]
    agent = Agent(ScriptedModel(script), [add, words, part, parts], [Polite()])
    contents: list[Any] = [
        m.content for m in (await agent.invoke("go")).messages if m.role == "tool"
    ]
    assert contents == ["2", "a", (TextPart("b"),), (JsonPart({"c": 1}),)]


async def test_the_text_of_a_message_is_that_of_its_text_parts() -> None:
    message = Message.user((TextPart("a"), ImagePart(url="x"), FilePart(url="y"), TextPart("b")))
    assert message.text == "ab"


async def test_a_result_that_has_no_json_is_shown_as_text() -> None:
    class Odd:
        def __str__(self) -> str:
            return "an odd thing"

    async def odd() -> object:
        return Odd()

    result = await Agent(ScriptedModel([call_tool("odd"), "ok"]), [odd]).invoke("go")
    assert result.messages[2].text == "an odd thing"


def test_a_type_that_is_not_known_is_named() -> None:
    async def late(x: str) -> str:
        return x

    late.__annotations__["x"] = "Unknown"
    with pytest.raises(InvalidToolError, match="Unknown"):
        Agent(ScriptedModel([]), [late])


def test_a_failure_of_a_model_says_whether_to_try_again() -> None:
    failed = ModelError("x", kind="rate_limit", retry_after_s=3)
    assert (failed.kind, failed.retryable, failed.retry_after_s) == ("rate_limit", True, 3)
    assert failed.as_dict()["code"] == "model_error"
