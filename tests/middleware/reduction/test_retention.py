"""Saved content: listed, bounded, removed on demand, and never under a live pointer."""

from pathlib import Path

import anyio
import pytest

from taskloom.agent import Agent, Message, ModelRequest, ScriptedModel, ToolCall, tool
from taskloom.files import FileInfo, LocalFiles, MemoryFiles
from taskloom.middleware.reduction import Retention, SavedFile, ToolReduction
from tests.middleware.reduction.scene import begin, clear, conversation, play, request, round_

ALL = Retention(max_age_s=0, min_age_s=0)


async def filled(*names: str, size: int = 1_000) -> MemoryFiles:
    files = MemoryFiles()
    for name in names:
        await files.write(f"r/{name}", "x" * size)
    await files.write("other/file", "not ours")
    return files


async def names(one: ToolReduction) -> list[str]:
    return [saved.path for saved in await one.saved()]


@pytest.mark.spec("TR-404")
async def test_saved_content_is_listed_oldest_first() -> None:
    one = ToolReduction(await filled("trunc/b", "clear/a", "clear/own/deep"), root_dir="r")
    found = await one.saved()
    assert [saved.path for saved in found] == ["r/trunc/b", "r/clear/a", "r/clear/own/deep"]
    assert all(isinstance(saved, SavedFile) and saved.size == 1_000 for saved in found)


@pytest.mark.spec("TR-404")
async def test_without_the_setting_nothing_is_ever_removed() -> None:
    one = ToolReduction(await filled("trunc/a"), root_dir="r")
    await begin(one)
    with pytest.raises(ValueError, match="Say what may go"):
        await one.prune()
    assert await names(one) == ["r/trunc/a"]


@pytest.mark.spec("TR-404")
async def test_the_total_is_bounded_and_the_oldest_goes_first() -> None:
    files = await filled("trunc/a", "trunc/b", "clear/c", "clear/d")
    one = ToolReduction(files, root_dir="r", retention=Retention(max_bytes=2_500, min_age_s=0))
    assert await one.prune() == ["r/trunc/a", "r/trunc/b"]
    assert await names(one) == ["r/clear/c", "r/clear/d"]
    assert await files.read("other/file") == "not ours"


@pytest.mark.spec("TR-404")
async def test_what_is_young_stays_whatever_the_bound() -> None:
    one = ToolReduction(
        await filled("trunc/a"), root_dir="r", retention=Retention(max_bytes=0, max_age_s=0)
    )
    await begin(one)
    assert await names(one) == ["r/trunc/a"]


@pytest.mark.spec("TR-404")
async def test_a_new_run_removes_what_is_old_but_not_what_its_messages_point_to() -> None:
    files = await filled("trunc/a", "clear/c1", "clear/gone")
    await files.write("r/clear/c2", "a notice: Full output saved to: r/trunc/a\n")
    one = ToolReduction(files, root_dir="r", retention=ALL)
    pointing = [
        Message.user("go"),
        *round_("c1", "Tool result saved to: r/clear/c2\n"),
        *round_("c3", "x", arguments='{"text":"[5 characters, saved to: r/clear/c1]"}'),
    ]
    await begin(one, messages=pointing)
    # c2 itself, what it points to in turn, and what only arguments tell of.
    assert sorted(await names(one)) == ["r/clear/c1", "r/clear/c2", "r/trunc/a"]


@pytest.mark.spec("TR-404")
async def test_messages_given_by_the_caller_protect_what_they_point_to() -> None:
    files = MemoryFiles()
    one = ToolReduction(files, root_dir="r", max_tokens_for_clear=10)
    other = ToolReduction(files, root_dir="r")  # It has seen none of it.
    await begin(one)
    messages = await clear(one, conversation("a" * 500, "b" * 500, "c"))
    assert await other.prune(messages[:4], ALL) == ["r/clear/c2"]
    assert await other.prune((), ALL) == ["r/clear/c1"]


@pytest.mark.spec("TR-404")
async def test_what_a_run_under_way_has_saved_is_not_removed() -> None:
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
        result = await Agent(Model(), [look], [one]).invoke("go on with r/clear/before")
    assert result.stop_reason == "completed"
    assert removed == [[]] * 7
    assert len(await one.saved()) == 7


@pytest.mark.spec("TR-404", "TR-205")
async def test_tidying_up_that_fails_does_not_cost_the_run() -> None:
    class Broken(MemoryFiles):
        async def ls_info(self, path: str) -> list[FileInfo]:
            raise OSError("gone")

    one = ToolReduction(Broken(), retention=ALL)
    _, warnings = await play(Agent(ScriptedModel(["done"]), [], [one]))
    assert [warning.reason for warning in warnings] == ["OSError: gone"]


@pytest.mark.spec("TR-404")
@pytest.mark.parametrize("named", ["relative", "absolute"])
async def test_on_a_disk_it_is_the_same_however_the_root_is_named(
    named: str, tmp_path: Path
) -> None:
    root = "state/r" if named == "relative" else f"{tmp_path}/state/r"
    one = ToolReduction(LocalFiles(tmp_path), root_dir=root, max_tokens_for_clear=10)
    other = ToolReduction(LocalFiles(tmp_path), root_dir=root)
    await begin(one)
    messages = await clear(one, conversation("a" * 500, "b" * 500, "c"))
    assert len(await other.saved()) == 2
    assert await other.prune(messages[:4], ALL) == ["state/r/clear/c2"]
    assert await other.prune((), ALL) == ["state/r/clear/c1"]
    assert await other.saved() == []


@pytest.mark.spec("TR-404")
async def test_a_result_saved_between_two_model_calls_is_safe_too() -> None:
    files = MemoryFiles()
    one = ToolReduction(files, root_dir="r", max_length_for_trunc=500)
    await begin(one)

    async def call(_: object) -> str:
        return "x" * 5_000

    await one.wrap_tool_call(request(), call)
    assert await one.prune((), ALL) == []
