"""Helpers for tests of the reduction: backends, runs, conversations."""

from collections.abc import Sequence
from pathlib import Path

import anyio.lowlevel

from taskloom.agent import (
    Agent,
    CustomEvent,
    Message,
    ModelRequest,
    RunEnded,
    RunSetup,
    State,
    Tool,
    ToolCall,
    ToolInfo,
    ToolRequest,
    call_tool,
)
from taskloom.files import Backend, FileInfo, MemoryFiles, slice_lines
from taskloom.middleware.reduction import ReductionWarning, ToolReduction

INFO = ToolInfo("look", "Look.", {"type": "object", "properties": {}})


class FailingFiles(MemoryFiles):
    """Files in memory whose disk is full after `after` writes."""

    def __init__(self, after: int = 0) -> None:
        super().__init__()
        self.left = after

    async def write(self, path: str, content: str) -> None:
        if self.left <= 0:
            raise OSError("No space left on device")
        self.left -= 1
        await super().write(path, content)


class PlainFiles:
    """A backend with the four methods only, on a real disk."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def _file(self, path: str) -> Path:
        parts = [part for part in path.split("/") if part not in ("", ".")]
        assert ".." not in parts
        return self.root.joinpath(*parts)

    async def ls_info(self, path: str) -> list[FileInfo]:
        target = self._file(path)
        entries = sorted(target.iterdir()) if target.is_dir() else [target] * target.exists()
        return [
            FileInfo(
                one.relative_to(self.root).as_posix(),
                one.is_dir(),
                one.stat().st_size,
                one.stat().st_mtime,
            )
            for one in entries
        ]

    async def read(self, path: str, offset: int = 0, limit: int | None = None) -> str:
        await anyio.lowlevel.checkpoint()  # Other tasks run here, as with any real storage.
        data = self._file(path).read_bytes()
        return slice_lines(data.decode("utf-8", "surrogatepass"), offset, limit)

    async def write(self, path: str, content: str) -> None:
        await anyio.lowlevel.checkpoint()
        file = self._file(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode("utf-8", "surrogatepass"))

    async def delete(self, path: str) -> None:
        self._file(path).unlink()


def request(name: str = "look", call_id: str = "c1", **arguments: object) -> ToolRequest:
    return ToolRequest(call_id, name, dict(arguments), INFO)


async def start_run(
    reduction: ToolReduction, tools: Sequence[Tool] = (), messages: Sequence[Message] = ()
) -> RunSetup:
    """Start a run without an agent loop: call the hook."""
    setup = RunSetup("r1", "", list(tools), set(), tuple(messages))
    await reduction.before_agent(setup)
    return setup


def tool_round(
    call_id: str, result: str, name: str = "look", arguments: str = "{}"
) -> list[Message]:
    """One call and its result."""
    call = ToolCall(call_id, name, arguments)
    return [Message.assistant("", call), Message.tool(call, result)]


def conversation(*results: str) -> list[Message]:
    """A question, and one round for each result, with ids c1, c2, …"""
    found = [Message.user("go")]
    for number, result in enumerate(results, 1):
        found += tool_round(f"c{number}", result)
    return found


async def clear(reduction: ToolReduction, messages: list[Message]) -> list[Message]:
    """Return the messages after the hook."""
    state = await reduction.before_model(State(messages, []))
    return messages if state is None else state.messages


async def contents(backend: Backend, *folders: str) -> dict[str, str]:
    """Return all saved files of some directories."""
    return {
        info.path: await backend.read(info.path)
        for folder in folders
        for info in await backend.ls_info(folder)
        if not info.is_dir
    }


def calls_have_results(messages: Sequence[Message]) -> bool:
    """Return whether each call is followed by its result, as providers require."""
    index = 0
    while index < len(messages):
        wanted = [call.id for call in messages[index].tool_calls]
        given = [one.tool_call_id for one in messages[index + 1 : index + 1 + len(wanted)]]
        if sorted(wanted) != sorted(given):
            return False
        index += 1 + len(wanted)
        if index < len(messages) and messages[index].role == "tool":
            return False
    return True


class LookingModel:
    """A model that calls `look` `turns` times; it records every request."""

    name = "looker"

    def __init__(self, turns: int) -> None:
        self.turns = turns
        self.requests: list[tuple[Message, ...]] = []
        self.tools: Sequence[ToolInfo] = ()

    async def generate(self, request: ModelRequest) -> Message:
        self.requests.append(tuple(request.messages))
        self.tools = request.tools
        if len(self.requests) <= self.turns:
            return call_tool("look", n=len(self.requests))
        return Message.assistant("done")


async def run_agent(agent: Agent, text: str = "go") -> tuple[list[Message], list[ReductionWarning]]:
    """Run an agent; return its messages and the warnings it sent."""
    warnings: list[ReductionWarning] = []
    messages: list[Message] = []
    async for event in agent.run(text):
        match event:
            case CustomEvent(data=ReductionWarning() as warning):
                warnings.append(warning)
            case RunEnded():
                assert event.result.stop_reason == "completed", event.result.error
                messages = event.result.messages
            case _:
                pass
    return messages, warnings


def tool_chars(messages: Sequence[Message]) -> int:
    """Return the number of characters of tool results in a request."""
    return sum(len(message.text) for message in messages if message.role == "tool")
