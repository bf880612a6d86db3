"""Real providers over real HTTP: both formats, whole and streamed, and everything that fails."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
import pytest
from pydantic_ai import messages as library
from pydantic_ai.models.function import (
    AgentInfo,
    DeltaThinkingCalls,
    DeltaThinkingPart,
    FunctionModel,
)

from taskloom.agent import (
    Agent,
    Attempt,
    FilePart,
    ImagePart,
    JsonPart,
    Message,
    ModelDelta,
    ModelError,
    ModelSuperseded,
    Retry,
    RunFailedError,
    TextPart,
    ToolCall,
    Usage,
    open_model,
)
from taskloom.agent.providers.messages import from_library, to_library
from taskloom.agent.providers.model import ProviderModel, provider_model
from tests.agent.provider_server import (
    FORMATS,
    Answer,
    Anthropic,
    OpenAI,
    Server,
    reply,
    serving,
    stream,
)
from tests.agent.samples import add, collect

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

CALLS = (ToolCall("t1", "add", '{"a":1,"b":2}'), ToolCall("t2", "add", '{"a":30,"b":4}'))

Format = type[OpenAI] | type[Anthropic]


@asynccontextmanager
async def talking(
    form: Format,
    answers: Sequence[Answer],
    **options: Any,  # noqa: ANN401 - of Agent
) -> AsyncGenerator[tuple[Agent, Server]]:
    """An agent and the provider it talks to; connections are closed at the end."""
    async with serving(answers) as server:
        base_url = server.base_url + form.path
        model = provider_model(form.model, base_url=base_url, api_key="secret-key")
        async with model:
            options.setdefault("settings", {"max_retries": 0})
            yield Agent(model, [add], instruction="Be brief.", **options), server


def tool_results(asked: dict[str, Any]) -> list[tuple[str, str]]:
    """What the provider was sent as tool results, in either format."""
    found: list[tuple[str, str]] = []
    for message in asked["messages"]:
        if message["role"] == "tool":
            found.append((message["tool_call_id"], message["content"]))
        elif isinstance(message["content"], list):
            for block in message["content"]:
                if block["type"] == "tool_result":
                    content = block["content"]
                    text = content if isinstance(content, str) else content[0]["text"]
                    found.append((block["tool_use_id"], text))
    return found


@pytest.mark.spec("AG-601", "AG-109")
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("form", FORMATS)
async def test_parallel_tool_calls_and_an_answer_over_http(form: Format, streamed: bool) -> None:
    make = form.streamed if streamed else form.whole
    answers = [make("Let me see.", *CALLS), make("3 and 34.")]
    async with talking(form, answers) as (agent, server):
        run = agent.run("Add.")
        with anyio.fail_after(20):
            events = await (collect(run) if streamed else run.wait())
        result = run.result
        assert result.error is None
        assert result.text == "3 and 34."
        assert result.messages[1].tool_calls == CALLS
        assert [m.text for m in result.messages if m.role == "tool"] == ["3", "34"]
        assert tool_results(server.asked[1]) == [("t1", "3"), ("t2", "34")]
        first = server.asked[0]
        assert "Be brief." in str(first.get("system", first["messages"][0]))
        assert "secret-key" in str(server.headers[0])
        assert len(first["tools"]) == 1
        if streamed:
            assert isinstance(events, list)
            deltas = [event.delta for event in events if isinstance(event, ModelDelta)]
            by_call = [
                "".join(delta.arguments for delta in deltas if delta.call_index == index)
                for index in range(2)
            ]
            assert by_call == [call.arguments for call in CALLS]
            assert "".join(delta.text for delta in deltas) == "Let me see.3 and 34."
        else:
            assert result.usage == Usage(22, 14)


@pytest.mark.spec("AG-601")
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("answer", "kind", "retryable", "word"),
    [
        (reply({"error": {"message": "bad key", "type": "authentication_error"}}, 401),
         "authentication", False, "key"),
        (reply({"error": {"message": "slow down", "type": "rate_limit_error"}}, 429,
               retry_after="7"), "rate_limit", True, "Too many"),
        (reply({"error": {"message": "oops", "type": "api_error"}}, 500), "server", True, "later"),
        (reply({"error": {"message": "no such model", "type": "not_found_error"}}, 404),
         "not_found", False, "name"),
        (Answer(b"<html>busy</html>", 503), "server", True, "later"),
        (Answer(b'{"id": "r1", "choi', 200, {"content-type": "application/json"}), "", True, ""),
    ],
)  # fmt: skip  # a table reads better
async def test_a_failure_says_what_it_is_and_whether_to_try_again(
    form: Format, answer: Answer, kind: str, retryable: bool, word: str
) -> None:
    async with talking(form, [answer]) as (agent, _):
        with anyio.fail_after(20), pytest.raises(RunFailedError) as raised:
            await agent.invoke("hi")
    error = raised.value.result.error
    assert isinstance(error, ModelError), error
    assert error.retryable is retryable
    assert error.kind == kind or not kind, error
    assert word in str(error)
    if kind == "rate_limit":
        assert error.retry_after_s == 7


@pytest.mark.spec("AG-601", "AG-401")
@pytest.mark.parametrize("form", FORMATS)
async def test_a_429_is_asked_again_when_the_provider_says(form: Format) -> None:
    waited: list[float] = []

    class Noted(Retry, frozen=True):
        def wait_s(self, attempt: Attempt) -> float:
            waited.append(super().wait_s(attempt))
            return 0.0

    limited = reply({"error": {"message": "slow", "type": "x"}}, 429, retry_after="7")
    async with talking(form, [limited, form.whole("hello")], retry=Noted()) as (agent, _):
        with anyio.fail_after(20):
            result = await agent.invoke("hi")
    assert (result.text, waited) == ("hello", [7.0])


@pytest.mark.spec("AG-403", "AG-601")
@pytest.mark.parametrize("form", FORMATS)
async def test_a_stream_that_is_cut_off_is_tried_again(form: Format) -> None:
    cut = form.streamed("a rather long answer that never ends", cut=True)
    retry = Retry(backoff=lambda _: 0.0)
    async with talking(form, [cut, form.streamed("whole")], retry=retry) as (agent, _):
        run = agent.run("hi")
        with anyio.fail_after(20):
            events = await collect(run)
    assert run.result.text == "whole", run.result.error
    assert sum(isinstance(event, ModelSuperseded) for event in events) == 1


@pytest.mark.spec("AG-601")
@pytest.mark.parametrize("form", FORMATS)
async def test_a_stream_that_is_cut_off_without_retry_is_a_clear_error(form: Format) -> None:
    async with talking(form, [form.streamed("a rather long answer", cut=True)]) as (agent, _):
        run = agent.run("hi")
        with anyio.fail_after(20):
            await collect(run)
    assert isinstance(run.result.error, ModelError)
    assert run.result.error.kind == "connection"


@pytest.mark.spec("AG-601")
@pytest.mark.parametrize("form", FORMATS)
async def test_a_silent_server_is_a_timeout(form: Format) -> None:
    settings = {"max_retries": 0, "timeout": 0.05}
    async with talking(form, [Answer(b"", silent=True)], settings=settings) as (agent, _):
        with anyio.fail_after(20), pytest.raises(RunFailedError) as raised:
            await agent.invoke("hi")
    error = raised.value.result.error
    assert isinstance(error, ModelError)
    assert error.kind in ("timeout", "connection")


@pytest.mark.spec("AG-110", "AG-601")
@pytest.mark.parametrize("form", FORMATS)
async def test_cancelling_while_a_provider_is_silent_ends_the_run(form: Format) -> None:
    before = asyncio.all_tasks()
    async with talking(form, [Answer(b"", silent=True)]) as (agent, server):
        run = agent.run("hi")
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(run.wait)
                await server.silent.wait()
                run.cancel()
        assert run.result.stop_reason == "cancelled"
    for task in asyncio.all_tasks() - before:
        await asyncio.wait([task])


@pytest.mark.spec("AG-601")
async def test_a_port_without_a_server_is_a_connection_error() -> None:
    async with provider_model("openai:x", base_url="http://127.0.0.1:9/v1", api_key="k") as model:
        with anyio.fail_after(20), pytest.raises(RunFailedError) as raised:
            await Agent(model, settings={"max_retries": 0}).invoke("hi")
    assert isinstance(raised.value.result.error, ModelError)
    assert raised.value.result.error.kind == "connection"


@pytest.mark.spec("AG-601")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("google:gemini-x", {"api_key": "k"}),
        ("ollama:llama", {"base_url": "http://127.0.0.1:9/v1"}),
        ("vllm:llama", {"base_url": "http://127.0.0.1:9/v1"}),
        ("openai-responses:x", {"api_key": "k"}),
    ],
)
def test_other_providers_are_opened_by_their_names(name: str, options: dict[str, str]) -> None:
    assert open_model(name, **options).name == name


@pytest.mark.spec("AG-601")
async def test_base_url_and_key_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving([OpenAI.whole("from the environment")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url + "/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "env-key")
        async with provider_model("openai:any") as model:
            result = await Agent(model, settings={"max_retries": 0}).invoke("hi")
        assert result.text == "from the environment"
        assert server.headers[0]["authorization"] == "Bearer env-key"


@pytest.mark.spec("AG-601")
def test_a_model_that_cannot_be_opened_says_what_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for name, word in (("openai:x", "OPENAI_API_KEY"), ("nope:x", "nope"), ("x", "provider:model")):
        with pytest.raises(ModelError, match=word) as failed:
            Agent(name)
        assert failed.value.kind == "configuration"


@pytest.mark.spec("AG-603", "AG-601")
@pytest.mark.parametrize("form", FORMATS)
async def test_pictures_reach_the_provider(form: Format) -> None:
    async with talking(form, [form.whole("a dot")]) as (agent, server):
        picture = ImagePart(data=b"\x89PNG....")
        message = Message.user((TextPart("What is this?"), picture))
        await agent.invoke(message)
        assert "iVBORy4uLi4=" in str(server.asked[0])


@pytest.mark.spec("AG-702", "AG-601")
def test_what_only_the_provider_understands_survives_a_journal() -> None:
    response = library.ModelResponse(
        parts=[
            library.ThinkingPart("hmm", signature="sealed", provider_name="anthropic"),
            library.TextPart("yes"),
            library.ToolCallPart("add", '{"a":1}', tool_call_id="t1"),
        ]
    )
    message = from_library(response)
    assert to_library([message], "")[1] is response
    restored = msgspec.json.decode(msgspec.json.encode(message), type=Message)
    assert restored.twin is None
    (_, again) = to_library([restored], "")
    assert again.parts == response.parts
    changed = restored.replace(content="no")
    (_, plain) = to_library([changed], "")
    assert [type(part).__name__ for part in plain.parts] == ["TextPart", "ToolCallPart"]


@pytest.mark.spec("AG-601")
async def test_thinking_is_not_text_and_goes_back_to_the_provider() -> None:
    async def think(_: object, info: AgentInfo) -> AsyncIterator[str | DeltaThinkingCalls]:
        yield {0: DeltaThinkingPart(content="Let me ")}
        yield {0: DeltaThinkingPart(content="think.", signature="sealed")}
        yield "Yes."

    model = ProviderModel(FunctionModel(stream_function=think))
    run = Agent(model).run("hm?")
    deltas = [event.delta for event in await collect(run) if isinstance(event, ModelDelta)]
    assert "".join(delta.thinking for delta in deltas) == "Let me think."
    assert "".join(delta.text for delta in deltas) == run.result.text == "Yes."
    assert "sealed" in str(run.result.messages[1].provider)


@pytest.mark.spec("AG-603")
def test_every_kind_of_part_has_a_form_for_the_provider() -> None:
    parts = (
        TextPart("see"),
        JsonPart({"n": 1}),
        ImagePart(url="http://127.0.0.1/a.png"),
        FilePart(url="http://127.0.0.1/a.pdf"),
        FilePart(media_type="application/pdf", data=b"%PDF"),
    )
    call = ToolCall("t1", "show", "{}")
    history = [
        Message.assistant("hello"),
        Message.system("Be kind."),
        Message.user(parts),
        Message.assistant("", call),
        Message.tool(call, parts, is_error=True),
    ]
    opening, _, request, response, results = to_library(history, "")
    assert opening.parts == []
    system, user = request.parts
    assert isinstance(system, library.SystemPromptPart)
    assert isinstance(user, library.UserPromptPart)
    assert [type(item).__name__ for item in user.content] == [
        *("str", "str", "ImageUrl", "DocumentUrl", "BinaryContent"),
    ]
    assert user.content[1] == '{"n":1}'
    assert [type(part).__name__ for part in response.parts] == ["ToolCallPart"]
    (returned,) = results.parts
    assert isinstance(returned, library.ToolReturnPart)
    assert (returned.outcome, returned.tool_call_id) == ("failed", "t1")


@pytest.mark.spec("AG-601")
async def test_each_message_is_converted_once() -> None:
    async with talking(OpenAI, [OpenAI.whole("", CALLS[0]), OpenAI.whole("ok")]) as (agent, _):
        result = await agent.invoke("hi")
    twins = [message.twin for message in result.messages]
    to_library(result.messages, "")
    assert all(twin is not None for twin in twins[:-1])
    assert [message.twin for message in result.messages] == twins


@pytest.mark.spec("AG-601")
@pytest.mark.parametrize("data", [[], None, '"text"'])
async def test_a_stream_of_another_shape_is_a_clear_error(data: object) -> None:
    async with talking(OpenAI, [stream([("", data)])]) as (agent, _):
        run = agent.run("hi")
        with anyio.fail_after(20):
            await collect(run)
    assert isinstance(run.result.error, ModelError)
    assert run.result.error.kind == "bad_reply"
