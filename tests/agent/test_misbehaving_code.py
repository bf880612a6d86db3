"""Models, tools and hooks that misbehave: the run continues, or its error says why not."""

import asyncio
import functools
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest

from taskloom.agent import (
    Agent,
    CheckpointError,
    DirectoryCheckpoints,
    HookError,
    JournalError,
    JsonPart,
    Message,
    Middleware,
    ModelError,
    Result,
    Retry,
    RunSetup,
    ScriptedModel,
    State,
    TextPart,
    ToolCall,
    ToolInfo,
    ToolLike,
    before_model,
    call_tool,
    call_tools,
    interrupt,
    tool,
)
from tests.agent.samples import add


async def cancelled_elsewhere() -> str:
    """Await a task that other code cancelled."""
    task = asyncio.ensure_future(asyncio.Event().wait())
    task.cancel()
    await task
    return "never"


def leaves() -> str:
    """Call what ends the program."""
    sys.exit(3)


async def run(reply: Message, *tools: ToolLike, journal: Path | None = None) -> Result:
    with anyio.fail_after(20):
        return await Agent(ScriptedModel([reply, "end"]), tools).run("go", journal=journal).wait()


def call(name: str, arguments: object = "{}") -> Message:
    return Message.assistant("", ToolCall("c1", name, cast("str", arguments)))


@pytest.mark.spec("AG-106")
@pytest.mark.parametrize("bad", [cancelled_elsewhere, leaves])
@pytest.mark.parametrize("parallel", [False, True])
async def test_what_a_tool_raises_ends_neither_the_run_nor_the_program(
    bad: Callable[..., Any], parallel: bool
) -> None:
    calls = call_tools((bad.__name__, {}), ("add", {"a": 1, "b": 2}))
    agent = Agent(ScriptedModel([calls, "end"]), [bad, add], parallel_tools=parallel)
    result = await agent.run("go").wait()
    assert result.stop_reason == "completed"
    failed, fine = result.messages[2:4]
    assert failed.is_error
    assert fine.text == "3"


@pytest.mark.spec("AG-209")
async def test_a_hook_that_awaits_something_cancelled_is_named() -> None:
    class Careless(Middleware):
        async def before_agent(self, setup: RunSetup) -> None:
            await cancelled_elsewhere()

    result = await Agent(ScriptedModel(["hi"]), [], [Careless()]).run("go").wait()
    assert isinstance(result.error, HookError)
    assert result.error.middleware == "Careless"


async def test_a_model_that_awaits_something_cancelled_fails_the_run() -> None:
    async def reply(_: object) -> str:
        return await cancelled_elsewhere()

    result = await Agent(ScriptedModel(cast("Any", reply))).run("go").wait()
    assert result.stop_reason == "failed"


@pytest.mark.spec("AG-209")
async def test_a_hook_that_returns_no_state_is_named() -> None:
    @before_model
    async def wrong(state: State) -> State | None:
        return cast("State", {"messages": state.messages})

    result = await Agent(ScriptedModel(["hi"]), [], [wrong]).run("go").wait()
    assert isinstance(result.error, HookError)
    assert "not a State" in str(result.error)


@pytest.mark.spec("AG-701")
async def test_lone_surrogates_are_replaced_so_that_the_text_can_be_written(tmp_path: Path) -> None:
    async def names() -> str:
        """Name a file whose name is no text."""
        return "bad\udcff"

    journal = tmp_path / "run.journal"
    reply = Message.assistant("on \ud800 it", ToolCall("c1", "names", '{"x": "\ud800"}'))
    assert (await run(reply, names, journal=journal)).messages[2].is_error
    result = await run(call("names"), names, journal=tmp_path / "other.journal")
    assert result.messages[2].text == "bad?"


@pytest.mark.spec("AG-701")
async def test_what_is_not_json_is_refused_and_the_journal_closed(tmp_path: Path) -> None:
    journal = tmp_path / "run.journal"

    async def ask() -> str:
        """Ask."""
        return str(interrupt("sure?"))

    agent = Agent(ScriptedModel([call_tool("ask"), "end"]), [ask])
    with anyio.fail_after(20):
        (question,) = (await agent.invoke("go", journal=journal)).interrupts
        with pytest.raises(JournalError, match="no JSON"):
            await agent.invoke(journal=journal, answers={question.id: object()})
        result = await agent.invoke(journal=journal, answers={question.id: "yes"})
    assert result.messages[2].text == "yes"


@pytest.mark.spec("AG-701")
async def test_a_part_that_has_no_json_fails_the_run_and_does_not_hang_it(tmp_path: Path) -> None:
    async def odd() -> list[JsonPart]:
        """Give what cannot be written down."""
        return [JsonPart(object())]

    result = await run(call("odd"), odd, journal=tmp_path / "run.journal")
    assert result.stop_reason == "failed"
    assert isinstance(result.error, JournalError)


@pytest.mark.spec("AG-110", "AG-702")
async def test_a_run_cancelled_while_it_opens_its_journal_closes_it(tmp_path: Path) -> None:
    journal = tmp_path / "run.journal"
    for steps in range(12):
        one = Agent(ScriptedModel(["hi"])).run("go", journal=journal)
        async with anyio.create_task_group() as group:
            group.start_soon(one.wait)
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            one.cancel()
    assert (await Agent(ScriptedModel(["hi"])).invoke("go", journal=journal)).text == "hi"


@pytest.mark.spec("AG-702")
async def test_an_interrupted_call_whose_tool_is_gone_has_an_unknown_outcome(
    tmp_path: Path,
) -> None:
    journal = tmp_path / "run.journal"

    class Died(BaseException):
        pass

    @tool
    async def pay() -> str:
        """Pay."""
        raise Died

    with pytest.raises(Died):
        await run(call("pay"), pay, journal=journal)
    result = await Agent(ScriptedModel(["end"]), [add]).invoke(journal=journal)
    assert "unknown" in result.messages[2].text


@pytest.mark.spec("AG-108")
@pytest.mark.parametrize(
    "arguments", ['{"n": 1' + "0" * 400 + "}", '{"t":' * 900 + "{}" + "}" * 900]
)
async def test_huge_numbers_and_deep_arguments_do_not_end_the_run(arguments: str) -> None:
    class Tree:
        info = ToolInfo(
            "tree",
            "A tree.",
            {
                "type": "object",
                "properties": {"n": {"type": "integer"}, "t": {"$ref": "#/$defs/t"}},
                "$defs": {"t": {"type": "object", "properties": {"t": {"$ref": "#/$defs/t"}}}},
            },
        )

        async def call(self, arguments: Mapping[str, Any]) -> str:
            return f"{len(arguments)} argument"

    assert (await run(call("tree", arguments), Tree())).stop_reason == "completed"


@pytest.mark.parametrize("reply", [call("add", {"a": 1}), Message.assistant(cast("Any", None))])
async def test_a_malformed_reply_is_a_failure_of_the_model(reply: Message, tmp_path: Path) -> None:
    journal = tmp_path / "run.journal"
    result = await run(reply, add, journal=journal)
    assert isinstance(result.error, ModelError)
    again = await Agent(ScriptedModel(["better"]), [add]).invoke("go", journal=journal)
    assert again.text == "better"


@pytest.mark.spec("AG-603")
async def test_a_decorated_async_function_is_awaited() -> None:
    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inner(**arguments: object) -> object:
            return function(**arguments)

        return inner

    result = await run(call_tool("add", a=1, b=2), decorated(add))
    assert result.messages[2].text == "3"


@pytest.mark.spec("AG-603", "AG-701")
async def test_the_chunks_of_a_tool_object_become_parts(tmp_path: Path) -> None:
    class Pieces:
        info = ToolInfo("pieces", "Pieces.", {"type": "object"})

        async def stream_rich(self, arguments: Mapping[str, Any]) -> AsyncIterator[Any]:
            yield "text"
            yield dict(arguments)

    journal = tmp_path / "run.journal"
    result = await run(call("pieces"), Pieces(), journal=journal)
    assert result.messages[2].content == (TextPart("text"), JsonPart({}))
    assert (await run(call("pieces"), Pieces(), journal=journal)).messages == result.messages


@pytest.mark.spec("AG-503")
@pytest.mark.parametrize("reply", ["done", call_tool("ask")])
async def test_checkpoints_that_cannot_be_kept_are_a_clear_error_and_no_loss(
    reply: str | Message, tmp_path: Path
) -> None:
    async def ask() -> str:
        """Ask."""
        return str(interrupt("sure?"))

    (tmp_path / "file").write_text("no directory")
    store = DirectoryCheckpoints(tmp_path / "file")
    one = Agent(ScriptedModel([reply]), [ask], checkpoints=store).run("go")
    with pytest.raises(CheckpointError, match="could not be"):
        await one.wait()
    assert one.result.stop_reason == ("completed" if reply == "done" else "interrupted")
    with pytest.raises(CheckpointError):
        await Agent(ScriptedModel([]), checkpoints=store).resume("run_x").wait()


@pytest.mark.spec("AG-401")
@pytest.mark.parametrize("asked_s", [86_400.0, float("inf")])
async def test_a_provider_that_asks_for_a_wait_of_a_day_has_failed(asked_s: float) -> None:
    busy = ModelError("busy", kind="rate_limit", retry_after_s=asked_s)
    model = ScriptedModel([busy, "never asked for"])
    other = ScriptedModel(["from the other"])
    with anyio.fail_after(20):
        result = await Agent(model, retry=Retry(), failover=[other]).invoke("go")
    assert result.text == "from the other"
    assert len(model.requests) == 1
