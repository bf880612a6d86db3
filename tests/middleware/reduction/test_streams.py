"""Truncation of streams: chunks pass up to the limit, then the notice; nothing is lost."""

from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskloom.agent import (
    Agent,
    CustomEvent,
    ImagePart,
    Part,
    RunEnded,
    ScriptedModel,
    TextPart,
    ToolDelta,
    call_tool,
)
from taskloom.files import Backend, MemoryFiles
from taskloom.middleware.reduction import (
    ToolConfig,
    ToolDetail,
    ToolReduction,
    TruncResult,
    from_saved,
)
from tests.middleware.reduction.reduction_runs import FailingFiles, contents, request, start_run

LIMIT = 1_000


def reduction(files: Backend, limit: int = LIMIT) -> ToolReduction:
    return ToolReduction(files, root_dir="saved", max_length_for_trunc=limit, preview_length=20)


async def stream(chunks: Sequence[str], error: Exception | None = None) -> AsyncIterator[str]:
    for chunk in chunks:
        yield chunk
    if error is not None:
        raise error


async def parts(*given: Part, error: Exception | None = None) -> AsyncIterator[Part]:
    for part in given:
        yield part
    if error is not None:
        raise error


T = TypeVar("T")


async def listen(stream: AsyncIterator[T], received: list[T]) -> None:
    """Record each chunk, so that a failure does not lose them."""
    async for piece in stream:
        received.append(piece)  # noqa: PERF401  # see above


async def collect(one: ToolReduction, chunks: Sequence[str]) -> list[str]:
    wrapped = one.wrap_streaming_tool_call(request(), lambda _: stream(chunks))
    return [chunk async for chunk in wrapped]


async def collect_parts(one: ToolReduction, *given: Part) -> list[Part]:
    wrapped = one.wrap_rich_streaming_tool_call(request(), lambda _: parts(*given))
    return [part async for part in wrapped]


@pytest.mark.spec("TR-203")
async def test_chunks_pass_while_the_tool_works_and_the_notice_follows() -> None:
    files = MemoryFiles()
    one = reduction(files)
    await start_run(one)
    received: list[str] = []
    passed_before: list[int] = []

    async def tool(_: object) -> AsyncIterator[str]:
        for n in range(50):
            passed_before.append(len(received))
            yield f"{n:099}\n"

    await listen(one.wrap_streaming_tool_call(request(), tool), received)
    text = "".join(f"{n:099}\n" for n in range(50))
    whole = "".join(received)
    # Each chunk passed before the next was produced, up to the space for the notice.
    live = len(whole.partition("\n<persisted-output>")[0])
    assert LIMIT - 300 < live <= LIMIT
    assert passed_before[: live // 100] == list(range(live // 100))
    assert whole[:live] == text[:live]
    assert "Full output saved to: saved/trunc/c1\n" in whole
    assert f"cut after {live} of {len(text)} characters" in whole
    assert len(whole) <= len(text)
    assert await files.read("saved/trunc/c1") == text


@pytest.mark.spec("TR-201", "TR-203")
@given(st.lists(st.integers(0, 400), max_size=12), st.integers(0, 800))
def test_a_stream_is_cut_exactly_when_the_same_text_would_be(sizes: list[int], limit: int) -> None:
    async def check() -> None:
        chunks = ["x" * size for size in sizes]
        text = "".join(chunks)
        live, whole = MemoryFiles(), MemoryFiles()
        streaming, plain = reduction(live, limit), reduction(whole, limit)
        await start_run(streaming)
        got = "".join(await collect(streaming, chunks))

        async def call(_: object) -> str:
            return text

        await start_run(plain)
        await plain.wrap_tool_call(request(), call)
        assert len(got) <= len(text)
        assert (got == text) == (await contents(live, "saved/trunc") == {})
        if len(text) <= limit:
            assert got == text
        if len(text) > max(limit, 300):
            assert await contents(live, "saved/trunc") == await contents(whole, "saved/trunc")

    anyio.run(check)


@pytest.mark.spec("TR-201", "TR-202", "TR-203")
async def test_one_character_over_the_limit_is_cut_and_exactly_the_limit_is_not() -> None:
    files = MemoryFiles()
    one = reduction(files)
    await start_run(one)
    assert "".join(await collect(one, ["x" * LIMIT])) == "x" * LIMIT
    assert await contents(files, "saved/trunc") == {}
    cut = "".join(await collect(one, ["x" * LIMIT, "x"]))
    assert len(cut) <= LIMIT + 1
    assert "Full output saved to" in cut
    assert await contents(files, "saved/trunc") == {"saved/trunc/c1": "x" * (LIMIT + 1)}


@pytest.mark.spec("TR-203")
@pytest.mark.parametrize("size", [LIMIT - 50, LIMIT, LIMIT + 5_000])
async def test_a_tool_that_fails_loses_nothing(size: int) -> None:
    files = MemoryFiles()
    one = reduction(files)
    await start_run(one)
    text = "y" * size
    got: list[str] = []
    wrapped = one.wrap_streaming_tool_call(
        request(), lambda _: stream([text[:700], text[700:]], RuntimeError("broke off"))
    )
    with pytest.raises(RuntimeError, match="broke off"):
        await listen(wrapped, got)
    assert "".join(got) == text


@pytest.mark.spec("TR-203", "TR-205")
async def test_a_stream_that_cannot_be_saved_passes_unchanged() -> None:
    async def look() -> AsyncIterator[str]:
        """Look."""
        for n in range(100):
            yield f"{n:099}\n"

    model = ScriptedModel([call_tool("look"), "done"])
    events = [event async for event in Agent(model, [look], [reduction(FailingFiles())]).run("go")]
    text = "".join(f"{n:099}\n" for n in range(100))
    assert "".join(str(one.chunk) for one in events if isinstance(one, ToolDelta)) == text
    assert sum(isinstance(one, CustomEvent) for one in events) == 1
    assert isinstance(events[-1], RunEnded)
    assert events[-1].result.messages[2].text == text


@pytest.mark.spec("TR-203")
async def test_a_consumer_that_stops_closes_the_tool() -> None:
    closed: list[str] = []

    async def tool(_: object) -> AsyncIterator[str]:
        try:
            while True:
                yield "x" * 300
        finally:
            closed.append("tool")

    one = reduction(MemoryFiles())
    await start_run(one)
    wrapped = one.wrap_streaming_tool_call(request(), tool)
    assert await anext(wrapped) == "x" * 300
    await wrapped.aclose()  # type: ignore[attr-defined]  # it is a generator
    assert closed == ["tool"]


@pytest.mark.spec("TR-203", "TR-204")
async def test_a_stream_of_parts_keeps_its_images() -> None:
    files = MemoryFiles()
    one = reduction(files)
    await start_run(one)
    first, last = ImagePart(data=b"1"), ImagePart(data=b"2")
    given_parts = (TextPart("a" * 400), first, TextPart("b" * 900), last, TextPart("c" * 900))
    got = await collect_parts(one, *given_parts)
    assert got[:2] == [TextPart("a" * 400), first]
    assert last in got
    assert "saved/trunc/c1" in "".join(one.text for one in got if isinstance(one, TextPart))
    assert from_saved(await files.read("saved/trunc/c1")) == given_parts
    short = (TextPart("a" * 400), first, TextPart("b" * 600), last)
    again = await collect_parts(one, *short)
    assert "".join(one.text for one in again if isinstance(one, TextPart)) == "a" * 400 + "b" * 600
    assert [one for one in again if isinstance(one, ImagePart)] == [first, last]


@pytest.mark.spec("TR-203", "TR-204")
async def test_a_stream_of_parts_that_fails_delivers_all_parts() -> None:
    one = reduction(MemoryFiles())
    await start_run(one)
    given_parts = (TextPart("a" * 4_000), ImagePart(data=b"1"), TextPart("b" * 900))
    got: list[Part] = []
    wrapped = one.wrap_rich_streaming_tool_call(
        request(), lambda _: parts(*given_parts, error=RuntimeError("broke off"))
    )
    with pytest.raises(RuntimeError, match="broke off"):
        await listen(wrapped, got)
    assert "".join(p.text for p in got if isinstance(p, TextPart)) == "a" * 4_000 + "b" * 900
    assert ImagePart(data=b"1") in got


@pytest.mark.spec("TR-103", "TR-203")
async def test_a_handler_gets_the_whole_stream() -> None:
    seen: list[ToolDetail] = []

    def handler(detail: ToolDetail) -> TruncResult:
        seen.append(detail)
        return TruncResult(need_trunc=len(seen) > 1, tool_result="less")

    files = MemoryFiles()
    one = ToolReduction(files, tool_config={"look": ToolConfig(trunc_handler=handler)})
    await start_run(one)
    assert "".join(await collect(one, ["a", "b"])) == "ab"
    assert await collect(one, ["a", "b"]) == ["less"]
    assert [detail.tool_result for detail in seen] == ["ab", "ab"]
