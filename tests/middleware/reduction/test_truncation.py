"""Truncation of results: text and parts."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskloom.agent import (
    Agent,
    FilePart,
    ImagePart,
    JsonPart,
    Message,
    Part,
    ScriptedModel,
    TextPart,
    ToolCall,
    call_tool,
    tool,
)
from taskloom.files import Backend, MemoryFiles
from taskloom.middleware.reduction import ToolReduction, from_saved, to_saved
from taskloom.middleware.reduction.store import safe_name
from tests.middleware.reduction.reduction_runs import (
    FailingFiles,
    PlainFiles,
    contents,
    request,
    run_agent,
    start_run,
)

ROOT = "saved"


def reduction(files: Backend, limit: int = 1_000, preview: int = 20) -> ToolReduction:
    return ToolReduction(files, root_dir=ROOT, max_length_for_trunc=limit, preview_length=preview)


async def cut(one: ToolReduction, text: str, call_id: str = "c1") -> str:
    async def call(_: object) -> str:
        return text

    return await one.wrap_tool_call(request(call_id=call_id), call)


async def cut_parts(one: ToolReduction, *parts: Part) -> tuple[Part, ...]:
    async def call(_: object) -> tuple[Part, ...]:
        return parts

    return tuple(await one.wrap_rich_tool_call(request(), call))


@pytest.mark.spec("TR-201")
async def test_a_result_longer_than_the_limit_is_saved_and_replaced_by_a_notice() -> None:
    files = MemoryFiles()
    one = reduction(files)
    await start_run(one)
    text = "".join(f"line {n}\n" for n in range(500))
    notice = await cut(one, text)
    assert notice == (
        "<persisted-output>\n"
        f"Output too large ({len(text)} characters). Full output saved to: saved/trunc/c1\n"
        f"Preview (first 20 characters):\n{text[:20]}\n\n"
        f"Preview (last 20 characters):\n{text[-20:]}\n\n"
        "Use read_file to view\n"
        "</persisted-output>"
    )
    assert await files.read("saved/trunc/c1") == text


@pytest.mark.spec("TR-201")
async def test_a_result_of_exactly_the_limit_is_not_changed() -> None:
    files = MemoryFiles()
    one = reduction(files)
    await start_run(one)
    assert await cut(one, "计" * 1_000) == "计" * 1_000
    assert await cut(one, "计" * 1_001) != "计" * 1_001
    assert await contents(files, "saved/trunc") == {"saved/trunc/c1": "计" * 1_001}


@pytest.mark.spec("TR-202")
@given(st.integers(0, 700), st.integers(0, 400), st.integers(0, 300))
def test_no_notice_is_longer_than_the_text(size: int, limit: int, preview: int) -> None:
    async def check() -> None:
        files = MemoryFiles()
        one = reduction(files, limit, preview)
        await start_run(one)
        text = "x" * size
        got = await cut(one, text)
        assert len(got) <= len(text)
        parts = await cut_parts(one, TextPart(text), ImagePart(url="u"), TextPart("y" * limit))
        sizes = [len(part.text) for part in parts if isinstance(part, TextPart)]
        assert sum(sizes) <= size + limit

    anyio.run(check)


@pytest.mark.spec("TR-204")
async def test_the_text_of_parts_is_cut_and_the_others_are_kept() -> None:
    files = MemoryFiles()
    one = reduction(files)
    await start_run(one)
    image = ImagePart(data=b"\x00\xff", media_type="image/png")
    parts = (TextPart("caption"), image, TextPart("long\n" * 1_000), FilePart(url="u", name="n"))
    got = await cut_parts(one, *parts)
    assert got[0] == parts[0]
    assert got[1] == image
    assert isinstance(got[2], TextPart)
    assert "saved to: saved/trunc/c1" in got[2].text
    assert got[3] == parts[3]
    assert from_saved(await files.read("saved/trunc/c1")) == parts


@pytest.mark.spec("TR-204")
async def test_many_small_parts_are_limited_too() -> None:
    files = MemoryFiles()
    one = reduction(files)
    await start_run(one)
    parts = [TextPart("tiny text ")] * 500 + [JsonPart({"rows": list(range(50))})]
    got = await cut_parts(one, *parts)
    assert sum(len(part.text) for part in got if isinstance(part, TextPart)) < 1_500
    assert from_saved(await files.read("saved/trunc/c1")) == tuple(parts)


PARTS = st.lists(
    st.one_of(
        st.builds(TextPart, st.text()),
        st.builds(ImagePart, st.text(), st.binary(), st.text()),
        st.builds(FilePart, st.text(), st.binary(), st.text(), st.text()),
        st.builds(JsonPart, st.dictionaries(st.text(), st.integers(-9, 9) | st.text())),
    )
).map(tuple)


@pytest.mark.spec("TR-204")
@given(st.text() | st.text().map(lambda text: "taskloom-parts " + text) | PARTS)
def test_saved_content_can_be_decoded(content: str | tuple[Part, ...]) -> None:
    assert from_saved(to_saved(content)) == content
    assert from_saved(to_saved(to_saved(content))) == to_saved(content)


def test_saved_parts_that_were_cut_off_raise_an_error() -> None:
    parts = (TextPart("one"), ImagePart(data=b"two"))
    for whole in map(to_saved, (parts, parts[::-1])):
        for end in range(len("taskloom-parts "), len(whole)):
            with pytest.raises(ValueError, match="cannot be decoded"):
                from_saved(whole[:end])


@pytest.mark.spec("TR-205")
async def test_a_storage_that_fails_leaves_the_result_unchanged_and_warns() -> None:
    text = "x" * 2_000

    async def look() -> str:
        """Look."""
        return text

    model = ScriptedModel([call_tool("look"), "done"])
    agent = Agent(model, [look], [reduction(FailingFiles())])
    messages, warnings = await run_agent(agent)
    assert messages[2].text == text
    assert [(one.phase, one.tool_name) for one in warnings] == [("trunc", "look")]
    assert "No space left" in warnings[0].reason


async def test_a_result_for_the_caller_is_not_cut() -> None:
    async def look() -> str:
        """Look."""
        return "x" * 5_000

    model = ScriptedModel([call_tool("look")])
    agent = Agent(model, [look], [reduction(MemoryFiles())], return_directly=["look"])
    assert (await agent.invoke("go")).text == "x" * 5_000


HOSTILE = [
    "../../../etc/passwd",
    "/etc/passwd",
    "..",
    ".",
    "",
    "a/b",
    "a\0b",
    "x" * 5_000,
    "计划",
    "A b",
]


@pytest.mark.spec("TR-206")
@pytest.mark.parametrize("call_id", HOSTILE)
async def test_no_call_id_leaves_the_directory(call_id: str) -> None:
    files = MemoryFiles()
    one = reduction(files)
    await start_run(one)
    text = f"{call_id!r:.50}" + "x" * 2_000
    await cut(one, text, call_id)
    (path,) = await contents(files, "saved/trunc")
    folder, _, name = path.rpartition("/")
    assert folder == "saved/trunc"
    assert name == safe_name(call_id)
    assert len(name) < 120
    assert name.isascii()


@pytest.mark.spec("TR-206")
@given(st.lists(st.text(max_size=30) | st.sampled_from(HOSTILE), unique=True))
def test_two_ids_never_have_the_same_name(ids: list[str]) -> None:
    assert len({safe_name(id_) for id_ in ids}) == len(ids)


@pytest.mark.spec("TR-206")
async def test_a_repeated_call_id_overwrites_nothing() -> None:
    files = MemoryFiles()
    one = reduction(files)
    await start_run(one)
    texts = [f"{n}" * 2_000 for n in range(5)]
    for text in (*texts, texts[0]):  # The last is saved twice, as by a resumed run.
        notice = await cut(one, text)
        path = notice.partition("saved to: ")[2].partition("\n")[0]
        assert await files.read(path) == text
    assert sorted((await contents(files, "saved/trunc")).values()) == texts


@pytest.mark.spec("TR-206")
async def test_concurrent_runs_with_the_same_ids_overwrite_nothing(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    for files in (MemoryFiles(), PlainFiles(tmp_path_factory.mktemp("plain"))):
        one = reduction(files)
        texts = [f"{n % 10}" * 2_000 + str(n) for n in range(20)]
        model = ScriptedModel(
            lambda messages: (
                Message.assistant("done")
                if messages[-1].role == "tool"
                else Message.assistant(
                    "", ToolCall("call_0", "look", f'{{"n":{messages[-1].text}}}')
                )
            )
        )

        @tool(name="look")
        async def look(n: int) -> str:
            """Look."""
            await anyio.lowlevel.checkpoint()
            return f"{n % 10}" * 2_000 + str(n)

        agent = Agent(model, [look], [one])
        notices: dict[int, str] = {}

        async def run(n: int, agent: Agent = agent, notices: dict[int, str] = notices) -> None:
            result = await agent.invoke(str(n))
            notices[n] = result.messages[2].text

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                for n in range(20):
                    group.start_soon(run, n)
        for n, notice in notices.items():
            path = notice.partition("saved to: ")[2].partition("\n")[0]
            assert await files.read(path) == texts[n]


@settings(max_examples=50)
@given(st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=300))
def test_any_text_is_saved_unchanged(text: str) -> None:
    async def check() -> None:
        files = MemoryFiles()
        one = reduction(files, 0, 5)
        await start_run(one)
        got = await cut(one, text)
        saved = await contents(files, "saved/trunc")
        assert got == text or list(map(from_saved, saved.values())) == [text]

    anyio.run(check)


@pytest.mark.spec("TR-201")
@pytest.mark.parametrize("kind", ["text", "parts", "stream", "part stream"])
async def test_a_very_long_error_is_saved_and_cut_like_a_result(kind: str) -> None:
    def fail() -> str:
        raise ValueError("no such column: " + "x" * 5_000)

    async def text() -> str:
        return fail()

    async def parts() -> list[Part]:
        return [TextPart(fail())]

    async def stream() -> AsyncIterator[str]:
        yield "begun"
        yield fail()

    async def part_stream() -> AsyncIterator[Part]:
        yield TextPart("begun")
        yield TextPart(fail())

    functions: dict[str, Callable[[], Any]] = {
        "text": text,
        "parts": parts,
        "stream": stream,
        "part stream": part_stream,
    }
    failing = tool(name="query", description="Ask.")(functions[kind])
    files = MemoryFiles()
    one = ToolReduction(files, root_dir="saved", max_length_for_trunc=1_000)
    run = await Agent(ScriptedModel([call_tool("query"), "done"]), [failing], [one]).invoke("go")
    result = run.messages[2]
    assert result.is_error
    assert len(result.text) < 1_500
    assert "ValueError: no such column: xxx" in result.text
    ((path, saved),) = (await contents(files, "saved/trunc")).items()
    assert path in result.text
    assert saved == "ValueError: no such column: " + "x" * 5_000


@pytest.mark.spec("TR-205")
async def test_an_error_that_cannot_be_saved_or_is_short_is_not_changed() -> None:
    @tool
    def query(size: int) -> str:
        """Ask."""
        raise ValueError("x" * size)

    one = ToolReduction(FailingFiles(), max_length_for_trunc=1_000)
    calls = [call_tool("query", size=5_000), call_tool("query", size=10)]
    run = await Agent(ScriptedModel([*calls, "done"]), [query], [one]).invoke("go")
    long, short = (message.text for message in run.messages if message.role == "tool")
    assert long.endswith("ValueError: " + "x" * 5_000)
    assert short.endswith("ValueError: " + "x" * 10)
