"""Clearing before a model call: when, what, and without loss."""

from collections.abc import AsyncIterator

import pytest

from taskloom.agent import Agent, ImagePart, Language, Message, State, TextPart, ToolCall, ToolInfo
from taskloom.files import MemoryFiles
from taskloom.middleware.reduction import (
    ClearResult,
    ToolConfig,
    ToolDetail,
    ToolReduction,
    from_saved,
    utf8_tokens,
)
from tests.middleware.reduction.reduction_runs import (
    FailingFiles,
    LookingModel,
    calls_have_results,
    clear,
    contents,
    conversation,
    request,
    run_agent,
    start_run,
    tool_round,
)

LONG = "0123456789" * 200
CLEAR = ".taskloom/reduction/clear"


def pointer(call_id: str) -> str:
    return (
        f"<persisted-output>\nTool result saved to: {CLEAR}/{call_id}\n"
        "Use read_file to view\n</persisted-output>"
    )


async def started(files: MemoryFiles | None, limit: int = 500, keep: int = 1) -> ToolReduction:
    one = ToolReduction(
        files,
        skip_truncation=files is None,
        max_tokens_for_clear=limit,
        clear_retention_suffix_limit=keep,
    )
    await start_run(one)
    return one


@pytest.mark.spec("TR-301")
async def test_at_the_limit_nothing_happens_and_one_above_it_does() -> None:
    # "user\ngo", then twice "assistant\n\nlook\n{}" and "tool\n" with the result.
    before = conversation("a" * 995, "b" * 5)
    total = 1 + 4 + 250 + 4 + 2
    tools = [ToolInfo("t", "d", {})]
    definition = utf8_tokens('{"name":"t","description":"d","parameters":{}}')
    for offered, size in (([], total), (tools, total + definition)):
        calm = await started(MemoryFiles(), size)
        assert await calm.before_model(State(before, offered)) is None
        busy = await started(MemoryFiles(), size - 1)
        after = await busy.before_model(State(before, offered))
        assert after is not None
        assert after.messages[2].text == pointer("c1")


@pytest.mark.spec("TR-302", "TR-303")
@pytest.mark.parametrize("keep", [0, 1, 2, 3, 9])
async def test_old_rounds_are_cleared_and_the_last_ones_never(keep: int) -> None:
    files = MemoryFiles()
    one = await started(files, keep=keep)
    results = [f"{n}" + LONG for n in range(4)]
    before = conversation(*results)
    before.insert(5, Message.user("a word between"))  # Plain messages are in no round.
    before.append(Message.assistant("an answer"))
    before.append(Message.user("and another thing"))
    after = await clear(one, before)
    cleared = max(0, 4 - keep)
    shown = [message.text for message in after if message.role == "tool"]
    assert shown == [pointer(f"c{n + 1}") for n in range(cleared)] + results[cleared:]
    assert await contents(files, CLEAR) == {f"{CLEAR}/c{n + 1}": results[n] for n in range(cleared)}
    assert calls_have_results(after)


@pytest.mark.spec("TR-302")
async def test_a_call_without_a_result_is_accepted() -> None:
    one = await started(MemoryFiles(), keep=0)
    open_call = Message.assistant("", ToolCall("c9", "look"))
    stray = Message.tool(ToolCall("nobody", "look"), LONG)
    before = [*conversation(LONG), open_call]
    assert (await clear(one, before))[2].text == pointer("c1")
    again = await started(MemoryFiles(), keep=0)
    assert (await clear(again, [stray, open_call]))[0] is stray


@pytest.mark.spec("TR-303")
async def test_the_post_process_is_called_once_and_only_if_something_was_cleared() -> None:
    seen: list[int] = []

    async def after_clearing(state: State) -> State:
        seen.append(len(state.messages))
        return State([*state.messages, Message.user("cleared")], state.tools)

    one = ToolReduction(MemoryFiles(), max_tokens_for_clear=500, clear_post_process=after_clearing)
    await start_run(one)
    after = await clear(one, conversation(LONG, LONG, LONG))
    assert seen == [7]
    assert after[-1].text == "cleared"
    await clear(one, after)
    await clear(one, conversation("short"))
    assert seen == [7]


@pytest.mark.spec("TR-304")
async def test_what_was_cleared_once_is_never_cleared_again() -> None:
    files = MemoryFiles()
    messages = conversation(LONG)
    for turn in range(2, 8):
        one = await started(files)  # A new run each time: a conversation of many runs.
        messages += [Message.assistant("an answer"), Message.user("more")]
        messages += tool_round(f"c{turn}", LONG + str(turn))
        after = await clear(one, messages)
        assert [one.text for one in after if one.role == "tool"][:-1] == [
            pointer(f"c{n}") for n in range(1, turn)
        ]
        messages = after
    saved = await contents(files, CLEAR)
    assert saved[f"{CLEAR}/c1"] == LONG
    assert all(text.startswith(LONG) for text in saved.values())


@pytest.mark.spec("TR-304")
async def test_a_pointer_is_recognized_without_its_mark_and_in_another_language() -> None:
    files = MemoryFiles()
    one = await started(files, limit=10)
    after = await clear(one, conversation(LONG, "new"))
    bare = [message.replace(finish_reason="") for message in after]  # Unmarked.
    chinese = ToolReduction(files, max_tokens_for_clear=0, read_file_tool_name="r", language="zh")
    await start_run(chinese)
    assert await clear(chinese, bare) == bare
    assert await contents(files, CLEAR) == {f"{CLEAR}/c1": LONG}


@pytest.mark.spec("TR-304")
async def test_the_result_of_a_handler_is_marked_too() -> None:
    asked: list[str] = []

    def handler(detail: ToolDetail) -> ClearResult:
        asked.append(detail.call_id)
        return ClearResult(
            need_clear=True,
            tool_result="a long story, told again " * 20,
            need_offload=True,
            offload_file_path=f"x/{detail.call_id}",
            offload_content=str(detail.tool_result),
        )

    files = MemoryFiles()
    config = {"look": ToolConfig(clear_handler=handler)}
    messages = conversation(LONG, "new")
    for _ in range(3):
        one = ToolReduction(files, max_tokens_for_clear=10, tool_config=config)
        await start_run(one)
        messages = await clear(one, messages)
    assert asked == ["c1"]
    assert await files.read("x/c1") == LONG


@pytest.mark.spec("TR-305")
async def test_a_result_shorter_than_its_pointer_is_not_changed() -> None:
    files = MemoryFiles()
    size = len(pointer("c1"))
    one = await started(files, limit=1)
    before = conversation("x" * size, "y" * (size + 1), "", "new")
    after = await clear(one, before)
    assert after[2] is before[2]
    assert after[4].text == pointer("c2")
    assert after[6] is before[6]
    assert list(await contents(files, CLEAR)) == [f"{CLEAR}/c2"]


@pytest.mark.spec("TR-306")
async def test_the_callers_messages_are_not_changed() -> None:
    one = await started(MemoryFiles())
    before = conversation(LONG, LONG)
    kept, copies = list(before), [message.replace() for message in before]
    after = await clear(one, before)
    assert after != before
    assert all(now is then for now, then in zip(before, kept, strict=True))
    assert before == copies


@pytest.mark.spec("TR-306")
async def test_a_storage_that_fails_leaves_the_message_unchanged_and_is_tried_again() -> None:
    files = FailingFiles(after=2)
    one = ToolReduction(files, max_tokens_for_clear=500)
    await start_run(one)
    before = conversation(*[f"{n}{LONG}" for n in range(5)])
    after = await clear(one, before)
    assert [message.text for message in after if message.role == "tool"] == [
        pointer("c1"),
        pointer("c2"),
        *(f"{n}{LONG}" for n in (2, 3, 4)),
    ]
    files.left = 9
    again = await clear(one, after)
    assert [message.text for message in again if message.role == "tool"][:4] == [
        pointer(f"c{n}") for n in range(1, 5)
    ]


@pytest.mark.spec("TR-306", "TR-205")
async def test_a_failing_storage_warns_and_the_run_continues() -> None:
    async def look(n: int) -> str:
        """Look."""
        return LONG + str(n)

    one = ToolReduction(FailingFiles(), max_tokens_for_clear=500)
    messages, warnings = await run_agent(Agent(LookingModel(5), [look], [one]))
    assert sum(LONG in message.text for message in messages) == 5
    assert {warning.phase for warning in warnings} == {"clear"}


@pytest.mark.spec("TR-307")
async def test_parallel_calls_keep_their_results_whatever_their_order() -> None:
    one = await started(MemoryFiles())
    calls = [ToolCall(f"c{n}", "look", f'{{"n":{n}}}') for n in range(4)]
    results = [Message.tool(call, f"{call.id}{LONG}", is_error=call.id == "c1") for call in calls]
    before = [Message.user("go"), Message.assistant("", *calls), *reversed(results)]
    before += tool_round("c1", "the same id once more")
    after = await clear(one, before)
    assert calls_have_results(after)
    for message in after[2:6]:
        assert message.text == pointer(message.tool_call_id)
        assert message.is_error == (message.tool_call_id == "c1")
        assert message.tool_name == "look"
    assert after[1] is before[1]


async def test_large_arguments_of_old_calls_are_cleared_too() -> None:
    files = MemoryFiles()
    one = await started(files)
    arguments = (
        '{"path":"a.py","content":"' + "line\\n" * 1_000 + '","lines":[' + "1," * 500 + "1]}"
    )
    before = [*tool_round("w1", "ok", "write_file", arguments), *tool_round("c2", "new")]
    after = await clear(one, before)
    assert after[0].tool_calls == (
        ToolCall(
            "w1",
            "write_file",
            '{"path":"a.py","content":"[5000 characters, saved with the other arguments to: '
            f'{CLEAR}/w1-arguments]","lines":"[1003 characters, saved with the other arguments '
            f'to: {CLEAR}/w1-arguments]"}}',
        ),
    )
    assert after[1] is before[1]
    assert await files.read(f"{CLEAR}/w1-arguments") == arguments
    assert await clear(one, after) is after
    never = ToolReduction(files, max_tokens_for_clear=500, clear_arguments_over=None)
    await start_run(never)
    assert await clear(never, before) is before


@pytest.mark.spec("TR-304")
async def test_a_handler_that_clears_arguments_only_is_called_once() -> None:
    asked: list[str] = []

    def handler(detail: ToolDetail) -> ClearResult:
        asked.append(detail.tool_argument)
        return ClearResult(
            need_clear=True,
            tool_argument='{"gone":true}',
            need_offload=True,
            offload_file_path="kept/1",
            offload_content=detail.tool_argument,
        )

    files = MemoryFiles()
    config = {"look": ToolConfig(clear_handler=handler)}
    messages = [*tool_round("c1", "ok", arguments='{"text":"long"}'), *tool_round("c2", "new")]
    for _ in range(2):
        one = ToolReduction(files, max_tokens_for_clear=1, tool_config=config)
        await start_run(one)
        messages = await clear(one, messages)
    assert asked == ['{"text":"long"}']
    assert messages[1].text == "ok"


@pytest.mark.spec("TR-307")
async def test_two_calls_with_one_id_keep_their_own_arguments() -> None:
    one = await started(MemoryFiles())
    first = ToolCall("c1", "look", '{"text":"' + "a" * 5_000 + '"}')
    second = ToolCall("c1", "look", '{"text":"b"}')
    before = [Message.assistant("", first, second), Message.tool(first, LONG)]
    before += [Message.tool(second, LONG), *tool_round("c2", "new")]
    after = await clear(one, before)
    assert after[0].tool_calls[1] == second
    assert len(after) == len(before)


async def test_parts_are_saved_with_their_images_and_can_be_restored() -> None:
    files = MemoryFiles()
    one = await started(files)
    parts = (TextPart("see"), ImagePart(data=b"\x00" * 10))
    call = ToolCall("c1", "look")
    before = [Message.assistant("", call), Message.tool(call, parts), *tool_round("c2", LONG)]
    after = await clear(one, before)
    assert after[1].content == pointer("c1")
    assert from_saved(await files.read(f"{CLEAR}/c1")) == parts


async def test_without_a_backend_old_results_are_dropped_and_the_model_is_informed() -> None:
    one = await started(None)
    setup = await start_run(one)
    assert setup.tools == []
    after = await clear(one, conversation(LONG, LONG))
    assert after[2].text == "[Old tool result cleared. Call the tool again if you need it.]"


async def test_clearing_can_stop_at_a_lower_limit() -> None:
    one = ToolReduction(MemoryFiles(), max_tokens_for_clear=2_000, clear_down_to_tokens=1_200)
    await start_run(one)
    after = await clear(one, conversation(*[LONG] * 5))
    assert [message.text == LONG for message in after if message.role == "tool"] == [
        False,
        False,
        False,
        True,
        True,
    ]


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_pointer_to_a_truncated_result_names_its_file(language: Language) -> None:
    files = MemoryFiles()
    one = ToolReduction(
        files, max_length_for_trunc=1_000, max_tokens_for_clear=10, language=language
    )
    await start_run(one)

    async def whole(_: object) -> str:
        return LONG

    async def pieces(_: object) -> AsyncIterator[str]:
        for start in range(0, len(LONG), 100):
            yield LONG[start : start + 100]

    stream = one.wrap_streaming_tool_call(request(call_id="c2"), pieces)
    results = [
        await one.wrap_tool_call(request(call_id="c1"), whole),
        "".join([chunk async for chunk in stream]),
    ]
    forged = results[0].replace("0123", "3210")  # Not the notice of that file.
    after = await clear(one, conversation(*results, forged, "new"))
    for number, folder in ((1, "trunc"), (2, "trunc"), (3, "clear")):
        assert f".taskloom/reduction/{folder}/c{number}\n" in after[2 * number].text
    assert list(await contents(files, CLEAR)) == [f"{CLEAR}/c3"]
    assert await files.read(f"{CLEAR}/c3") == forged
