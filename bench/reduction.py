"""The reduction of tool results: the check before a model call, and cutting a large result.

The check is the hook alone, best of many rounds. Cutting is compared with a bare write of the
same text to the same disk.
"""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, perf_counter_ns

from bench.table import Row
from taskloom.agent import Message, RunSetup, State, ToolCall, ToolInfo, ToolRequest
from taskloom.files import LocalFiles
from taskloom.middleware.reduction import ToolReduction

ROUNDS = 30
CALLS = 200
LARGE = 10_000_000
INFO = ToolInfo("look", "Look something up.", {"type": "object", "properties": {}})


def write_synced(file: Path, content: str) -> None:
    """Write a file and wait for the disk."""
    with file.open("wb") as out:
        out.write(content.encode())
        out.flush()
        os.fsync(out.fileno())


def run() -> Iterator[Row]:
    """Yield the rows of the table."""
    with TemporaryDirectory(dir=".") as name:
        yield from asyncio.run(_check(LocalFiles(name)))
        yield asyncio.run(_cut(Path(name)))


def _messages(count: int) -> list[Message]:
    found = [Message.user("go")]
    while len(found) < count:
        call = ToolCall(f"c{len(found)}", "look", '{"q":"x"}')
        found += [Message.assistant("", call), Message.tool(call, "a result " * 5)]
    return found[:count]


async def _started(backend: LocalFiles, limit: int = 50_000) -> ToolReduction:
    # The limit is so high that nothing is ever cleared: only the check is measured.
    one = ToolReduction(backend, max_length_for_trunc=limit, max_tokens_for_clear=10**9)
    await one.before_agent(RunSetup("r", "", [], set()))
    return one


async def _check(backend: LocalFiles) -> list[Row]:
    rows: list[Row] = []
    for what, new in (("nothing new", 0), ("one new round", 2)):
        seconds = {count: await _seconds(backend, count, new) for count in (10, 1_000)}
        small, large = (seconds[count] * 1e6 for count in (10, 1_000))
        rows.append(
            Row(
                f"reduction: the check at 1,000 messages, {what}",
                f"{large:.2f} us",
                f"{small:.2f} us at 10",
                large / small,
                2,
            )
        )
    return rows


async def _seconds(backend: LocalFiles, count: int, new: int) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        one = await _started(backend)
        messages = _messages(count)
        await one.before_model(State(messages, [INFO]))
        spent = 0.0
        for _ in range(CALLS):
            messages = [*messages, *_messages(1 + new)[1:]]
            state = State(list(messages), [INFO])  # As the agent loop passes it.
            start = perf_counter_ns()
            await one.before_model(state)
            spent += perf_counter_ns() - start
        best = min(best, spent / CALLS / 1e9)
    return best


async def _cut(root: Path) -> Row:
    text = "0123456789abcde\n" * (LARGE // 16)
    one = await _started(LocalFiles(root))

    async def call(_: ToolRequest) -> str:
        return text

    ours = bare = float("inf")
    for number in range(5):
        start = perf_counter()
        write_synced(root / f"bare{number}", text)
        bare = min(bare, perf_counter() - start)
        start = perf_counter()
        await one.wrap_tool_call(ToolRequest(f"c{number}", "look", {}, INFO), call)
        ours = min(ours, perf_counter() - start)
    what = f"reduction: cut a result of {LARGE // 1_000_000} MB"
    return Row(what, f"{ours * 1e3:.1f} ms", f"{bare * 1e3:.1f} ms", ours / bare, 5)
