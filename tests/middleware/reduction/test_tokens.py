"""Token counts: approximate by default, exact with the extra, always incremental."""

import sys

import anyio
import pytest

from taskloom.agent import FilePart, JsonPart, Message, State, TextPart, ToolCall, ToolInfo
from taskloom.files import MemoryFiles
from taskloom.middleware.reduction import ToolReduction, utf8_tokens
from taskloom.middleware.reduction.tokens import TokenCache
from tests.conventions.tree import ROOT
from tests.middleware.reduction.reduction_runs import clear, conversation, start_run, tool_round


class Counting:
    """A counter that records its texts."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, text: str, /) -> int:
        self.asked.append(text)
        return utf8_tokens(text)


@pytest.mark.spec("TR-403")
async def test_no_message_is_counted_twice() -> None:
    counter = Counting()
    one = ToolReduction(MemoryFiles(), token_counter=counter)
    await start_run(one)
    messages = conversation(*["result"] * 100)
    tools = [ToolInfo("look", "Look.", {})]
    await one.before_model(State(list(messages), list(tools)))
    assert len(counter.asked) == len(messages) + 1
    counter.asked.clear()
    await one.before_model(State(list(messages), list(tools)))
    assert counter.asked == []
    messages += tool_round("new", "a new result")
    await one.before_model(State(list(messages), list(tools)))
    assert counter.asked == ["assistant\n\nlook\n{}", "tool\na new result"]


@pytest.mark.spec("TR-403")
async def test_a_message_that_another_middleware_changed_is_counted_again() -> None:
    counter = Counting()
    one = ToolReduction(MemoryFiles(), token_counter=counter, max_tokens_for_clear=1_000)
    await start_run(one)
    messages = conversation(*["result"] * 10)
    assert await clear(one, list(messages)) == messages
    counter.asked.clear()
    messages[2] = messages[2].replace(content="x" * 5_000)
    after = await clear(one, list(messages))
    assert after[2].text.startswith("<persisted-output>")
    assert counter.asked.count("tool\n" + "x" * 5_000) == 1
    assert len(counter.asked) < 5


@pytest.mark.spec("TR-403")
async def test_after_clearing_nothing_is_counted_again() -> None:
    counter = Counting()
    one = ToolReduction(MemoryFiles(), token_counter=counter, max_tokens_for_clear=100)
    await start_run(one)
    after = await clear(one, conversation(*["x" * 500] * 10))
    counter.asked.clear()
    await clear(one, list(after))
    assert counter.asked == []


@pytest.mark.spec("TR-403", "TR-304")
async def test_checked_messages_that_change_are_checked_again() -> None:
    one = ToolReduction(MemoryFiles(), max_tokens_for_clear=100)
    await start_run(one)
    after = await clear(one, conversation(*["x" * 500] * 10))
    after[2] = after[2].replace(content="y" * 5_000, finish_reason="")
    assert (await clear(one, after))[2].text.startswith("<persisted-output>")


@pytest.mark.spec("TR-403")
async def test_over_the_limit_checked_messages_are_not_checked_again() -> None:
    asked: list[str] = []
    one = ToolReduction(
        MemoryFiles(), max_tokens_for_clear=0, clear_path=lambda d: _note(asked, d.call_id)
    )
    await start_run(one)
    messages = conversation(*["short"] * 50)
    await clear(one, messages)
    assert len(asked) == 49
    asked.clear()
    messages = [*messages, *tool_round("new", "short")]
    await clear(one, messages)
    assert asked == ["c50"]


def _note(asked: list[str], call_id: str) -> str:
    asked.append(call_id)
    return f".taskloom/reduction/clear/{call_id}"


@pytest.mark.spec("TR-101")
async def test_a_counter_of_messages_gets_whole_messages() -> None:
    class Exact:
        def __call__(self, text: str, /) -> int:
            raise AssertionError(text)

        def count_message(self, message: Message) -> int:
            return 1_000 if message.role == "tool" else 0

        def count_tool(self, tool: ToolInfo) -> int:
            return 500

    one = ToolReduction(MemoryFiles(), token_counter=Exact(), max_tokens_for_clear=2_400)
    await start_run(one)
    state = State(conversation("x" * 500, "y" * 500), [])
    assert await one.before_model(state) is None
    state.tools.append(ToolInfo("t", "d", {}))
    assert await one.before_model(state) is not None


def test_everything_a_model_reads_is_counted() -> None:
    call = ToolCall("c", "name", "x" * 400)
    assert TokenCache(utf8_tokens).count(Message.assistant("", call)) >= 100
    parts = (TextPart("x" * 400), JsonPart(["x" * 400]), FilePart("text/plain", b"x" * 400))
    assert TokenCache(utf8_tokens).count(Message.user(parts)) >= 300
    assert utf8_tokens("\ud800") == 0
    assert TokenCache(utf8_tokens).count(Message.user((JsonPart({1j}),))) > 0


RECORDED = {
    "a plan that survives": (4, 4),
    "计划必须能够存活下来。": (7, 14),
    "def main() -> None:\n    return None\n": (10, 10),
    "<|endoftext|>": (7, 7),
    "👩‍👩‍👧‍👦": (11, 18),
    "": (0, 0),
    "a" * 10_000: (1_250, 1_250),
}


@pytest.mark.spec("TR-101")
def test_the_extra_counts_like_the_models() -> None:
    from taskloom.middleware.reduction.splintr_counter import SplintrCounter

    big, small = SplintrCounter("o200k_base"), SplintrCounter("cl100k_base")
    assert {text: (big(text), small(text)) for text in RECORDED} == RECORDED
    assert big("\ud800half") > 0
    with pytest.raises(ValueError, match="no-such"):
        SplintrCounter("no-such")


async def test_the_middleware_does_not_load_the_extra() -> None:
    code = (
        "import sys, taskloom.middleware.reduction; "
        "sys.exit(any(name.startswith('splintr') for name in sys.modules))"
    )
    with anyio.fail_after(30):
        done = await anyio.run_process([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert done.returncode == 0
