"""The read tool, its limits, and agents that have their own read tool."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from taskloom.agent import Agent, Message, ScriptedModel, Tool, call_tool, tool
from taskloom.agent.workspace import Workspace
from taskloom.files import MemoryFiles
from taskloom.middleware.reduction import ToolConfig, ToolReduction
from tests.middleware.reduction.reduction_runs import (
    LookingModel,
    PlainFiles,
    clear,
    contents,
    conversation,
    request,
    run_agent,
    start_run,
    tool_round,
)


async def reader(one: ToolReduction, *tools: Tool) -> Tool:
    setup = await start_run(one, tools)
    found = setup.tools[-1]
    assert isinstance(found, Tool)
    return found


async def read(one: Tool, **arguments: object) -> str:
    result = one.run(one.check(arguments))
    return str(await result)  # type: ignore[misc]  # a text tool is awaited


GO_ON = re.compile(r"\n\[[^\n]*? offset=(\d+)(?:, char_offset=(\d+))?\.\]$")


async def read_all(one: Tool, path: str, limit: int = 2_000) -> tuple[str, int]:
    """Follow the notes to the end; return the whole text and the number of calls."""
    text, calls, line, chars = "", 0, 1, 0
    while True:
        piece = await read(one, path=path, offset=line, limit=limit, char_offset=chars)
        calls += 1
        assert calls < 100, "it goes in circles"
        assert len(piece) < 20_200
        hint = GO_ON.search(piece, max(0, len(piece) - 200))
        if hint is None:
            return text + piece, calls
        text += piece[: hint.start()]
        line, chars = int(hint[1]), int(hint[2] or 0)


TEXTS = {
    "lines": "".join(f"line {n} {'x' * (n % 90)}\n" for n in range(5_000)),
    "one endless line": "0123456789" * 10_000,
    "endless lines": ("a" * 30_001 + "\n") * 3 + "b" * 20_000,
    "no newline at the end": "a\n" * 2_500 + "b",
    "other line ends": "a\r\nb\rc\u2028d\n" * 3_000,
    "short": "a\nb\n",
}


@pytest.mark.spec("TR-401", "TR-207")
@pytest.mark.parametrize("kind", list(TEXTS))
async def test_every_saved_text_can_be_read_in_chunks(kind: str) -> None:
    files = MemoryFiles()
    one = ToolReduction(files)
    found = await reader(one)
    assert found.name == "read_file"
    await files.write(".taskloom/reduction/trunc/c1", TEXTS[kind])
    for limit in (7, 2_000):
        if limit == 7 and kind in ("lines", "other line ends", "no newline at the end"):
            continue
        text, _ = await read_all(found, ".taskloom/reduction/trunc/c1", limit)
        assert text == TEXTS[kind]


@pytest.mark.spec("TR-401")
async def test_offset_and_limit_are_lines() -> None:
    files = MemoryFiles()
    found = await reader(ToolReduction(files, root_dir="r"))
    await files.write("r/trunc/c1", "one\ntwo\nthree\nfour\n")
    got = await read(found, path="r/trunc/c1", offset=2, limit=2)
    assert got == "two\nthree\n\n[More follows: continue with offset=4.]"
    assert await read(found, path="r/trunc/c1", offset=4) == "four\n"


@pytest.mark.spec("TR-401")
async def test_wrong_arguments_are_answered_with_what_to_do() -> None:
    files = MemoryFiles()
    found = await reader(ToolReduction(files, root_dir="r"))
    await files.write("r/trunc/c1", "one\n")
    await files.write("secret", "key")
    for path in ("secret", "r/../secret", "/secret", "", "r"):
        with pytest.raises(PermissionError, match="is not a saved tool result"):
            await read(found, path=path)
    with pytest.raises(FileNotFoundError, match="Use the path exactly as in the notice"):
        await read(found, path="r/trunc/c2")
    with pytest.raises(ValueError, match="no line 9; ask for an earlier"):
        await read(found, path="r/trunc/c1", offset=9)
    with pytest.raises(ValueError, match="ask for a smaller char_offset"):
        await read(found, path="r/trunc/c1", char_offset=9)


@pytest.mark.spec("TR-401")
async def test_the_model_is_offered_the_tool_and_reads_with_it() -> None:
    text = "".join(f"line {n}\n" for n in range(20_000))

    async def look() -> str:
        """Look."""
        return text

    def script(messages: Sequence[Message]) -> Message | str:
        last = messages[-1].text
        if messages[-1].role == "user":
            return call_tool("look")
        if last.startswith("<persisted-output>"):
            path = re.search(r"saved to: (\S+)", last)
            assert path is not None
            return call_tool("read_file", path=path[1], offset=12_346, limit=1)
        return last

    model = ScriptedModel(script)
    messages, _ = await run_agent(Agent(model, [look], [ToolReduction(MemoryFiles())]))
    assert messages[-1].text.startswith("line 12345\n")
    assert [info.name for info in model.requests[0].tools] == ["look", "read_file"]


@pytest.mark.spec("TR-207")
async def test_reading_never_creates_a_new_file() -> None:
    files = MemoryFiles()
    one = ToolReduction(files, root_dir="r", max_length_for_trunc=1_000)
    found = await reader(one)
    await files.write("r/trunc/c1", "0123456789" * 10_000)
    before = await contents(files, "r/trunc")

    async def call(asked: object) -> str:
        return await read(found, path="r/trunc/c1")

    got = await one.wrap_tool_call(request("read_file", "c2", path="r/trunc/c1"), call)
    assert got.startswith("0123456789" * 100)
    assert len(got) < 1_200
    assert await contents(files, "r/trunc") == before


@pytest.mark.spec("TR-207", "TR-401")
async def test_an_agent_with_its_own_read_tool_gets_a_second_one(
    tmp_path: Path,
) -> None:
    one = ToolReduction(PlainFiles(tmp_path), max_length_for_trunc=1_000)
    names: list[list[str]] = []
    tools = Workspace(tmp_path).tools()
    setup = await start_run(one, tools)
    names.append([found.name for found in setup.tools if isinstance(found, Tool)])
    assert names[0][-1] == "read_saved_result"

    async def call(_: object) -> str:
        return "x" * 5_000

    notice = await one.wrap_tool_call(request(), call)
    assert "Use read_saved_result to view" in notice
    path = ".taskloom/reduction/trunc/c1"
    assert path in notice
    # The workspace's tool finds it under the same path, but cuts long lines.
    own = await read(tools[0], path=path)
    assert own.startswith("1\txxxx")
    # Reading too much at once with that tool creates no second file.
    cut = await one.wrap_tool_call(request("read_file", "c2", path=path), call)
    assert path in cut
    assert len(await one.saved_files()) == 1


async def test_the_agents_own_read_tool_can_be_used() -> None:
    @tool
    async def read_file(path: str) -> str:
        """Read."""
        return path

    one = ToolReduction(MemoryFiles(), trust_own_read_tool=True, max_length_for_trunc=1_000)
    setup = await start_run(one, [read_file])
    assert setup.tools == [read_file]

    async def call(_: object) -> str:
        return "x" * 5_000

    assert "Use read_file to view" in await one.wrap_tool_call(request(), call)


@pytest.mark.spec("TR-207")
async def test_a_chunk_that_was_read_is_cleared_without_a_second_file() -> None:
    files = MemoryFiles()
    one = ToolReduction(files, root_dir="r", max_tokens_for_clear=10)
    found = await reader(one)
    await files.write("r/trunc/c1", "0123456789\n" * 10_000)
    piece = await read(found, path="r/trunc/c1", offset=500)
    arguments = '{"path":"r/trunc/c1","offset":500}'
    before = [
        *tool_round("c2", piece, "read_file", arguments),
        *tool_round("c3", "other" + piece, "read_file", arguments),  # Not in the file.
        *tool_round("c4", "new"),
    ]
    after = await clear(one, before)
    assert "saved to: r/trunc/c1\n" in after[1].text
    assert await contents(files, "r/clear") == {"r/clear/c3": "other" + piece}


async def test_two_reductions_in_one_agent_have_two_read_tools() -> None:
    model = LookingModel(0)
    both = [ToolReduction(MemoryFiles(), root_dir=name) for name in ("a", "b", "c")]
    await run_agent(Agent(model, [], both))
    names = [info.name for info in model.tools]
    assert names == ["read_file", "read_saved_result", "read_saved_result_2"]


@pytest.mark.spec("TR-102", "TR-401")
async def test_the_read_tool_finds_results_in_the_backend_of_one_tool() -> None:
    everyones, own = MemoryFiles(), MemoryFiles()
    one = ToolReduction(
        everyones,
        root_dir="r",
        max_length_for_trunc=500,
        tool_config={"find": ToolConfig(backend=own)},
    )
    found = await reader(one)
    for name in ("look", "find"):  # The same call id twice: the paths must differ.

        async def call(_: object, name: str = name) -> str:
            return name * 500

        notice = await one.wrap_tool_call(request(name), call)
        path = re.search(r"saved to: (\S+)", notice)
        assert path is not None
        assert (await read_all(found, path[1]))[0] == name * 500


@pytest.mark.spec("TR-402")
async def test_all_texts_for_the_model_are_in_the_configured_language() -> None:
    files = MemoryFiles()
    one = ToolReduction(files, max_length_for_trunc=1_000, max_tokens_for_clear=100, language="zh")
    found = await reader(one)
    assert "读取" in found.info.description
    assert all("description" in one for one in found.info.parameters["properties"].values())

    async def call(_: object) -> str:
        return "x" * 5_000

    notice = await one.wrap_tool_call(request(), call)
    assert re.search("完整输出已保存到.[.]taskloom/reduction/trunc/c1\n", notice)
    assert "使用 read_file 查看" in notice
    cleared = await clear(one, conversation("x" * 5_000, "new"))
    assert re.search("工具结果已保存到.[.]taskloom/reduction/clear/c1\n", cleared[2].text)
    assert await clear(one, [*cleared, *conversation("x" * 5_000)]) != cleared
    with pytest.raises(FileNotFoundError, match="没有已保存的内容"):
        await read(found, path=".taskloom/reduction/trunc/none")
    assert "请用 offset=1, char_offset=1000 继续" in await read(
        found, path=".taskloom/reduction/trunc/c1"
    )


@pytest.mark.spec("TR-402")
async def test_a_reduction_without_a_language_uses_the_agents() -> None:
    @tool
    def look() -> str:
        """Look."""
        return "x" * 5_000

    one = ToolReduction(MemoryFiles(), max_length_for_trunc=1_000)
    model = ScriptedModel([call_tool("look"), "done"])
    run = await Agent(model, [look], [one], language="zh").invoke("go")
    assert "读取" in model.requests[0].tools[-1].description
    assert "使用 read_file 查看" in run.messages[2].text


@pytest.mark.spec("TR-401")
async def test_a_sub_agent_with_the_same_reduction_does_not_change_the_callers_read_tool() -> None:
    @tool
    def read_file(path: str) -> str:
        """Read a file of the project, and nothing that was saved."""
        return path

    one = ToolReduction(MemoryFiles(), max_length_for_trunc=1_000)
    inner = Agent(ScriptedModel(["x" * 5_000]), [], [one], name="inner")
    model = ScriptedModel([call_tool("inner", task="look"), "done"])
    run = await Agent(model, [inner.as_tool(), read_file], [one]).invoke("go")
    assert "read_saved_result" in [info.name for info in model.requests[0].tools]
    assert "Use read_saved_result to view" in run.messages[2].text
