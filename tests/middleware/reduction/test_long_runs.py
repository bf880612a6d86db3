"""Whole runs: bounded requests, stable prefixes, and every result kept."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskloom.agent import Agent, ImagePart, Message, ModelRequest, Part, TextPart, ToolCall, tool
from taskloom.files import Backend, LocalFiles, MemoryFiles
from taskloom.middleware.reduction import ToolContent, ToolReduction, from_saved, utf8_tokens
from taskloom.middleware.reduction.tokens import TokenCache
from tests.middleware.reduction.reduction_runs import (
    LookingModel,
    calls_have_results,
    clear,
    run_agent,
    start_run,
    tool_chars,
)

SAVED = re.compile(r"saved to: (\S+)")


async def original(files: Backend, message: Message) -> ToolContent:
    """Follow the notices from a message to the tool's result."""
    content: ToolContent = message.content
    while isinstance(content, str) and content.startswith("<persisted-output>"):
        path = SAVED.search(content)
        assert path is not None
        content = from_saved(await files.read(path[1]))
    return content


def results_of(messages: Sequence[Message]) -> list[Message]:
    return [message for message in messages if message.role == "tool"]


@pytest.mark.spec("TR-201", "TR-302")
async def test_thirty_results_of_20000_characters_never_send_more_than_38000(
    figure: Callable[[str], None],
) -> None:
    @tool
    async def look(n: int) -> str:
        """Look."""
        return f"{n:04}" + "x" * 19_992 + f"{n:04}"

    files = MemoryFiles()
    model = LookingModel(30)
    reduction = ToolReduction(files, max_length_for_trunc=10_000)
    messages, _ = await run_agent(Agent(model, [look], [reduction], max_iterations=40))
    most = max(map(tool_chars, model.requests))
    assert len(model.requests) == 31
    assert most <= 38_000
    figure(f"at most {most:,} characters of tool results in a request")
    for n, message in enumerate(results_of(messages), 1):
        text = await original(files, message)
        assert text == f"{n:04}" + "x" * 19_992 + f"{n:04}"


@pytest.mark.spec("TR-301", "TR-302", "TR-303")
async def test_a_conversation_of_200_turns_stays_under_its_limit(
    figure: Callable[[str], None],
) -> None:
    @tool
    async def look(n: int) -> str:
        """Look."""
        return f"result {n}\n" * (200 + 37 * n % 900)

    files = MemoryFiles()
    model = LookingModel(200)
    reduction = ToolReduction(files, max_length_for_trunc=6_000, max_tokens_for_clear=12_000)
    agent = Agent(model, [look], [reduction], max_iterations=300)
    messages, _ = await run_agent(agent)
    tokens = [sum(TokenCache(utf8_tokens).count(one) for one in sent) for sent in model.requests]
    assert max(tokens) <= 12_000
    assert all(map(calls_have_results, model.requests))
    for n, message in enumerate(results_of(messages), 1):
        assert await original(files, message) == f"result {n}\n" * (200 + 37 * n % 900)
    changed = sum(
        later[: len(earlier)] != earlier
        for earlier, later in zip(model.requests, model.requests[1:], strict=False)
    )
    figure(f"the beginning changed {changed} times in 200 turns, at most {max(tokens):,} tokens")
    assert changed < 20


@pytest.mark.spec("TR-302", "TR-304")
async def test_sent_messages_do_not_change_between_two_clearings() -> None:
    @tool
    async def look(n: int) -> str:
        """Look."""
        return f"{n:04}" * 1_000  # A thousand tokens each.

    model = LookingModel(40)
    reduction = ToolReduction(MemoryFiles(), max_tokens_for_clear=10_000)
    await run_agent(Agent(model, [look], [reduction], max_iterations=50))
    stable = [
        all(now is then for now, then in zip(later, earlier, strict=False))
        for earlier, later in zip(model.requests, model.requests[1:], strict=False)
    ]
    # Ten rounds fit; nine are cleared at once, and eight or so come before the next time.
    assert stable.count(False) <= 5
    assert stable[:8] == [True] * 8


@pytest.mark.spec("TR-206", "TR-304")
async def test_one_instance_serves_many_runs_at_once(tmp_path: Path) -> None:
    """The same call ids with different results in one storage."""
    files = LocalFiles(tmp_path)
    reduction = ToolReduction(files, max_length_for_trunc=1_500, max_tokens_for_clear=1_000)

    def answer(messages: Sequence[Message]) -> Message:
        done = sum(message.role == "assistant" for message in messages)
        if done == 8:
            return Message.assistant("done")
        name = messages[0].text
        return Message.assistant(
            "", ToolCall(f"call_{done}", "look", f'{{"text":"{name}{done} "}}')
        )

    class Model:
        name = "repeats its ids"

        async def generate(self, request: ModelRequest) -> Message:
            await anyio.lowlevel.checkpoint()
            return answer(request.messages)

    @tool
    async def look(text: str) -> str:
        """Look."""
        return text * 300

    agent = Agent(Model(), [look], [reduction])
    found: dict[str, list[Message]] = {}

    async def run(name: str) -> None:
        result = await agent.invoke(name)
        found[name] = results_of(result.messages)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for number in range(12):
                group.start_soon(run, f"run{number}-")
    for name, messages in found.items():
        for n, message in enumerate(messages):
            assert await original(files, message) == f"{name}{n} " * 300


CONTENT = st.one_of(
    st.text(max_size=300),
    st.text(max_size=60).map(lambda text: text * 20),
    st.tuples(st.builds(TextPart, st.text(max_size=200)), st.just(ImagePart(data=b"1"))),
    st.just("<persisted-output>\nTool result saved to: x\n</persisted-output>" * 5),
)
CALL_ID = st.sampled_from(["c1", "c2", "../c1", "", "C1"]) | st.text(max_size=5)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Rounds with unique ids in each round, and plain messages, in any order."""
    messages: list[Message] = []
    for _ in range(draw(st.integers(1, 6))):
        if draw(st.booleans()):
            messages.append(Message.user(draw(st.text(max_size=20))))
        ids = draw(st.lists(CALL_ID, unique=True, max_size=3))
        calls = [
            ToolCall(id_, "look", '{"text":"' + "x" * draw(st.integers(0, 3_000)) + '"}')
            for id_ in ids
        ]
        messages.append(Message.assistant("", *calls))
        messages += [Message.tool(call, draw(CONTENT)) for call in draw(st.permutations(calls))]
    return messages


async def unfold(files: MemoryFiles, message: Message) -> Message:
    """Return a message as it was before it was cleared, from the saved files."""
    if message.finish_reason == "cleared":
        path = SAVED.search(message.text)
        assert path is not None
        content = from_saved(await files.read(path[1]))
        message = message.replace(content=content, finish_reason="")
    calls: list[ToolCall] = []
    for call in message.tool_calls:
        path = re.search(r"saved with the other arguments to: (\S+)\]", call.arguments)
        arguments = await files.read(path[1]) if path else call.arguments
        calls.append(ToolCall(call.id, call.name, arguments))
    return message.replace(tool_calls=tuple(calls))


@pytest.mark.spec("TR-303", "TR-304", "TR-306", "TR-307")
@settings(max_examples=150)
@given(st.lists(conversations(), min_size=1, max_size=4), st.integers(0, 2), st.data())
def test_any_conversation_cleared_any_number_of_times_can_be_restored(
    pieces: list[list[Message]], keep: int, data: st.DataObject
) -> None:
    async def check() -> None:
        files = MemoryFiles()
        truth: list[Message] = []
        messages: list[Message] = []
        for piece in pieces:
            truth += piece
            messages += piece
            for _ in range(data.draw(st.integers(0, 3))):
                reduction = ToolReduction(
                    files,
                    max_tokens_for_clear=data.draw(st.sampled_from([0, 50, 500])),
                    clear_retention_suffix_limit=keep,
                    clear_down_to_tokens=data.draw(st.sampled_from([0, 100])),
                )
                await start_run(reduction)
                for _ in range(2):
                    messages = await clear(reduction, messages)
        assert calls_have_results(messages) == calls_have_results(truth)
        assert calls_have_results(messages)
        assert [await unfold(files, message) for message in messages] == truth

    anyio.run(check)


async def test_media_is_counted_so_that_images_are_cleared_too() -> None:
    image: Part = ImagePart(data=b"\x00" * 100_000)
    assert 1_000 < TokenCache(utf8_tokens).count(Message.user((image,))) < 3_000
