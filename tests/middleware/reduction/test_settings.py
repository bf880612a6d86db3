"""Settings: defaults, precedence by field, and invalid values."""

from typing import Any

import pytest

from taskloom.agent import TextPart
from taskloom.files import MemoryFiles
from taskloom.middleware.reduction import (
    ClearResult,
    ReductionSettings,
    Retention,
    ToolConfig,
    ToolDetail,
    ToolReduction,
    TruncResult,
)
from tests.middleware.reduction.reduction_runs import (
    clear,
    contents,
    conversation,
    request,
    start_run,
)

LONG = "0123456789" * 100


async def given(text: str) -> str:
    return text


@pytest.mark.spec("TR-101")
def test_the_defaults_are_those_of_the_catalogue() -> None:
    settings = ReductionSettings(backend=None)
    assert settings.read_file_tool_name == "read_file"
    assert settings.root_dir.startswith(".taskloom/")
    assert settings.max_length_for_trunc == 50_000
    assert settings.max_tokens_for_clear == 30_000
    assert settings.clear_retention_suffix_limit == 1
    assert settings.token_counter("abcdefgh") == 2
    assert settings.token_counter("计划") == 1  # Six bytes, where two characters would be none.


@pytest.mark.spec("TR-101", "TR-104")
def test_without_a_backend_truncation_must_be_skipped() -> None:
    with pytest.raises(ValueError, match="needs a backend"):
        ToolReduction()
    ToolReduction(skip_truncation=True)
    with pytest.raises(ValueError, match="enables truncation"):
        ToolReduction(skip_truncation=True, tool_config={"look": ToolConfig(skip_truncation=False)})


@pytest.mark.spec("TR-104")
@pytest.mark.parametrize(
    "wrong",
    [
        {"max_length_for_trunc": -1},
        {"max_tokens_for_clear": -1},
        {"clear_retention_suffix_limit": -1},
        {"clear_at_least_tokens": -1},
        {"clear_arguments_over": -1},
        {"max_length_for_trunc": 1.5},
        {"root_dir": "../elsewhere"},
        {"root_dir": ""},
        {"read_file_tool_name": "no name"},
        {"language": "fr"},
        {"trunc_exclude": "look"},
        {"tool_config": {"look": {}}},
        {"retention": Retention()},
        {"retention": Retention(max_bytes=-1)},
    ],
)
def test_a_wrong_setting_is_an_error_at_construction(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"(?i){next(iter(wrong))}"):
        ToolReduction(MemoryFiles(), **wrong)


@pytest.mark.spec("TR-102")
async def test_the_settings_of_a_tool_take_precedence_by_field() -> None:
    everyones, own = MemoryFiles(), MemoryFiles()
    reduction = ToolReduction(
        everyones,
        skip_truncation=True,
        max_length_for_trunc=500,
        tool_config={
            "look": ToolConfig(skip_truncation=False),  # The other fields come from the reduction.
            "find": ToolConfig(skip_truncation=False, backend=own),
        },
    )
    await start_run(reduction)
    for name in ("look", "find", "other"):

        async def call(_: object) -> str:
            return LONG

        got = await reduction.wrap_tool_call(request(name, f"id_{name}"), call)
        assert (got == LONG) == (name == "other")
    assert list(await contents(everyones, ".taskloom/reduction/trunc")) == [
        ".taskloom/reduction/trunc/id_look"
    ]
    assert list(await contents(own, ".taskloom/reduction/trunc")) == [
        ".taskloom/reduction/trunc/id_find"
    ]


@pytest.mark.spec("TR-103")
async def test_a_trunc_handler_sees_the_call_and_decides() -> None:
    seen: list[ToolDetail] = []

    def handler(detail: ToolDetail) -> TruncResult:
        seen.append(detail)
        return TruncResult(
            need_trunc=True,
            tool_result="short, see notes/a",
            need_offload=True,
            offload_file_path="notes/a",
            offload_content="long",
        )

    files = MemoryFiles()
    reduction = ToolReduction(files, tool_config={"look": ToolConfig(trunc_handler=handler)})
    await start_run(reduction)
    got = await reduction.wrap_tool_call(request(x=1), lambda _: given("tiny"))
    assert got == "short, see notes/a"
    assert seen == [ToolDetail("look", "c1", '{"x":1}', "tiny")]
    assert await files.read("notes/a") == "long"


@pytest.mark.spec("TR-103")
async def test_a_handler_that_repeats_a_path_never_overwrites() -> None:
    async def handler(detail: ToolDetail) -> TruncResult:
        return TruncResult(
            need_trunc=True,
            tool_result="see notes/a",
            need_offload=True,
            offload_file_path="notes/a",
            offload_content=str(detail.tool_result),
        )

    files = MemoryFiles()
    reduction = ToolReduction(files, tool_config={"look": ToolConfig(trunc_handler=handler)})
    await start_run(reduction)
    for text in ("one", "two"):
        got = await reduction.wrap_tool_call(request(), lambda _, text=text: given(text))
        assert await files.read(got.removeprefix("see ")) == text


@pytest.mark.spec("TR-103", "TR-303")
async def test_a_clear_handler_changes_arguments_and_result() -> None:
    seen: list[ToolDetail] = []

    def handler(detail: ToolDetail) -> ClearResult:
        seen.append(detail)
        return ClearResult(
            need_clear=True,
            tool_argument='{"gone":true}',
            tool_result=(TextPart("gone"),),
            need_offload=True,
            offload_file_path="kept/1",
            offload_content=f"{detail.tool_argument}{detail.tool_result}",
        )

    files = MemoryFiles()
    reduction = ToolReduction(
        files, max_tokens_for_clear=10, tool_config={"look": ToolConfig(clear_handler=handler)}
    )
    await start_run(reduction)
    messages = await clear(reduction, conversation(LONG, "new"))
    assert seen == [ToolDetail("look", "c1", "{}", LONG)]
    assert messages[1].tool_calls[0].arguments == '{"gone":true}'
    assert messages[2].content == (TextPart("gone"),)
    assert await files.read("kept/1") == "{}" + LONG
    again = await clear(reduction, [*messages, *conversation("x" * 200)])
    assert len(seen) == 2  # The second round; the handler is not called again for the first.
    assert again[2] is messages[2]


async def test_a_handler_that_breaks_the_protocol_changes_nothing() -> None:
    def broken(_: ToolDetail) -> ClearResult:
        return ClearResult(need_clear=True, tool_argument="not json", tool_result="x")

    def raising(_: ToolDetail) -> TruncResult:
        raise RuntimeError("handler")

    config = ToolConfig(clear_handler=broken, trunc_handler=raising)
    reduction = ToolReduction(MemoryFiles(), max_tokens_for_clear=1, tool_config={"look": config})
    await start_run(reduction)
    before = conversation(LONG, "new")
    assert await clear(reduction, before) == before
    assert await reduction.wrap_tool_call(request(), lambda _: given(LONG)) == LONG


@pytest.mark.spec("TR-105")
async def test_excluded_tools_are_not_changed() -> None:
    reduction = ToolReduction(
        MemoryFiles(),
        max_length_for_trunc=100,
        max_tokens_for_clear=1,
        trunc_exclude=["look"],
        clear_exclude=["find"],
        tool_config={"look": ToolConfig(skip_truncation=False)},
    )
    await start_run(reduction)
    assert await reduction.wrap_tool_call(request("look"), lambda _: given(LONG)) == LONG
    assert await reduction.wrap_tool_call(request("find"), lambda _: given(LONG)) != LONG
    before = conversation(LONG, LONG, "new")
    named = [
        message.replace(tool_name="find", tool_calls=())
        if message.tool_call_id == "c1"
        else message
        for message in before
    ]
    call = before[1].tool_calls[0]
    named[1] = before[1].replace(tool_calls=(type(call)(call.id, "find", call.arguments),))
    after = await clear(reduction, named)
    assert after[2].text == LONG
    assert after[4].text != LONG


@pytest.mark.spec("TR-105")
async def test_path_generators_choose_the_path() -> None:
    files = MemoryFiles()
    reduction = ToolReduction(
        files,
        max_length_for_trunc=500,
        max_tokens_for_clear=10,
        trunc_path=lambda detail: f"out/{detail.tool_name}/{detail.call_id}",
        clear_path=lambda detail: f"old/{detail.tool_name}/{detail.call_id}",
    )
    await start_run(reduction)
    await reduction.wrap_tool_call(request(), lambda _: given(LONG))
    await clear(reduction, conversation(LONG, "new"))
    assert await files.read("out/look/c1") == LONG
    assert await files.read("old/look/c1") == LONG


@pytest.mark.spec("TR-105")
async def test_clearing_that_frees_too_little_changes_and_saves_nothing() -> None:
    files = MemoryFiles()
    reduction = ToolReduction(files, max_tokens_for_clear=10, clear_at_least_tokens=1_000)
    await start_run(reduction)
    before = conversation(LONG, "new")
    assert await clear(reduction, before) is before
    assert await contents(files, ".taskloom/reduction/clear") == {}
    more = conversation(LONG * 10, "new")
    assert (await clear(reduction, more))[2].text != LONG * 10


@pytest.mark.spec("TR-308")
async def test_a_phase_that_is_skipped_does_nothing_at_all() -> None:
    called: list[str] = []
    reduction = ToolReduction(
        MemoryFiles(),
        skip_clear=True,
        skip_truncation=True,
        max_tokens_for_clear=0,
        max_length_for_trunc=0,
        clear_post_process=lambda state: called.append("post"),
    )
    await start_run(reduction)
    before = conversation(LONG, LONG)
    assert await clear(reduction, before) is before
    assert await reduction.wrap_tool_call(request(), lambda _: given(LONG)) == LONG
    assert called == []
    assert await reduction.saved_files() == []
