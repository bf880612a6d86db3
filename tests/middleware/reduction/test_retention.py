"""Saved files: listed, limited, removed on demand, and kept while a message names them."""

from pathlib import Path

import anyio
import pytest

from taskloom.agent import Agent, Message, ModelRequest, ScriptedModel, ToolCall, tool
from taskloom.files import FileInfo, LocalFiles, MemoryFiles
from taskloom.middleware.reduction import Retention, SavedFile, ToolReduction
from tests.middleware.reduction.reduction_runs import (
    clear,
    conversation,
    request,
    run_agent,
    start_run,
    tool_round,
)

ALL = Retention(max_age_s=0, min_age_s=0)


async def filled(*names: str, size: int = 1_000) -> MemoryFiles:
    files = MemoryFiles()
    for name in names:
        await files.write(f"r/{name}", "x" * size)
    await files.write("other/file", "not ours")
    return files


async def names(one: ToolReduction) -> list[str]:
    return [saved.path for saved in await one.saved_files()]


@pytest.mark.spec("TR-404")
async def test_saved_content_is_listed_oldest_first() -> None:
    one = ToolReduction(await filled("trunc/b", "clear/a", "clear/own/deep"), root_dir="r")
    found = await one.saved_files()
    assert [saved.path for saved in found] == ["r/trunc/b", "r/clear/a", "r/clear/own/deep"]
    assert all(isinstance(saved, SavedFile) and saved.size == 1_000 for saved in found)


@pytest.mark.spec("TR-404")
async def test_without_the_setting_nothing_is_ever_removed() -> None:
    one = ToolReduction(await filled("trunc/a"), root_dir="r")
    await start_run(one)
    with pytest.raises(ValueError, match="Pass a Retention"):
        await one.prune()
    assert await names(one) == ["r/trunc/a"]


@pytest.mark.spec("TR-404")
async def test_the_total_is_limited_and_the_oldest_is_removed_first() -> None:
    files = await filled("trunc/a", "trunc/b", "clear/c", "clear/d")
    one = ToolReduction(files, root_dir="r", retention=Retention(max_bytes=2_500, min_age_s=0))
    assert await one.prune() == ["r/trunc/a", "r/trunc/b"]
    assert await names(one) == ["r/clear/c", "r/clear/d"]
    assert await files.read("other/file") == "not ours"


@pytest.mark.spec("TR-404")
async def test_young_files_are_kept_whatever_the_limit() -> None:
    one = ToolReduction(
        await filled("trunc/a"), root_dir="r", retention=Retention(max_bytes=0, max_age_s=0)
    )
    await start_run(one)
    assert await names(one) == ["r/trunc/a"]


@pytest.mark.spec("TR-404")
async def test_a_new_run_removes_old_files_that_its_messages_do_not_name() -> None:
    files = await filled("trunc/a", "clear/c1", "clear/gone")
    await files.write("r/clear/c2", "a notice: Full output saved to: r/trunc/a\n")
    one = ToolReduction(files, root_dir="r", retention=ALL)
    pointing = [
        Message.user("go"),
        *tool_round("c1", "Tool result saved to: r/clear/c2\n"),
        *tool_round("c3", "x", arguments='{"text":"[5 characters, saved to: r/clear/c1]"}'),
    ]
    await start_run(one, messages=pointing)
    # c2 itself, the file that it names, and the file that only arguments name.
    assert sorted(await names(one)) == ["r/clear/c1", "r/clear/c2", "r/trunc/a"]


@pytest.mark.spec("TR-404")
async def test_files_named_by_the_callers_messages_are_kept() -> None:
    files = MemoryFiles()
    one = ToolReduction(files, root_dir="r", max_tokens_for_clear=10)
    other = ToolReduction(files, root_dir="r")  # It has seen no message.
    await start_run(one)
    messages = await clear(one, conversation("a" * 500, "b" * 500, "c"))
    assert await other.prune(messages[:4], ALL) == ["r/clear/c2"]
    assert await other.prune((), ALL) == ["r/clear/c1"]


@pytest.mark.spec("TR-404")
async def test_files_of_a_current_run_are_not_removed() -> None:
    files = MemoryFiles()
    one = ToolReduction(files, root_dir="r", max_length_for_trunc=500, max_tokens_for_clear=600)
    removed: list[list[str]] = []

    class Model:
        name = "looks"

        async def generate(self, request: ModelRequest) -> Message:
            removed.append(await one.prune((), ALL))
            done = sum(message.role == "assistant" for message in request.messages)
            if done == 6:
                return Message.assistant("done")
            return Message.assistant("", ToolCall(f"c{done}", "look", "{}"))

    @tool
    async def look() -> str:
        """Look."""
        return "0123456789" * 100

    with anyio.fail_after(20):
        await files.write("r/clear/before", "from an earlier run")
        result = await Agent(Model(), [look], [one]).invoke("continue with r/clear/before")
    assert result.stop_reason == "completed"
    assert removed == [[]] * 7
    assert len(await one.saved_files()) == 7


@pytest.mark.spec("TR-404", "TR-205")
async def test_a_failed_clean_up_does_not_end_the_run() -> None:
    class Broken(MemoryFiles):
        async def ls_info(self, path: str) -> list[FileInfo]:
            raise OSError("gone")

    one = ToolReduction(Broken(), retention=ALL)
    _, warnings = await run_agent(Agent(ScriptedModel(["done"]), [], [one]))
    assert [warning.reason for warning in warnings] == ["OSError: gone"]


@pytest.mark.spec("TR-404")
@pytest.mark.parametrize("named", ["relative", "absolute"])
async def test_on_a_disk_any_spelling_of_the_root_works(named: str, tmp_path: Path) -> None:
    root = "state/r" if named == "relative" else f"{tmp_path}/state/r"
    one = ToolReduction(LocalFiles(tmp_path), root_dir=root, max_tokens_for_clear=10)
    other = ToolReduction(LocalFiles(tmp_path), root_dir=root)
    await start_run(one)
    messages = await clear(one, conversation("a" * 500, "b" * 500, "c"))
    assert len(await other.saved_files()) == 2
    assert await other.prune(messages[:4], ALL) == ["state/r/clear/c2"]
    assert await other.prune((), ALL) == ["state/r/clear/c1"]
    assert await other.saved_files() == []


@pytest.mark.spec("TR-404")
async def test_a_result_saved_between_two_model_calls_is_kept() -> None:
    files = MemoryFiles()
    one = ToolReduction(files, root_dir="r", max_length_for_trunc=500)
    await start_run(one)

    async def call(_: object) -> str:
        return "x" * 5_000

    await one.wrap_tool_call(request(), call)
    assert await one.prune((), ALL) == []
