"""What many reduction tests need: storages that fail or are slow to trust, runs, conversations."""

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
    """A storage whose disk is full from the `after`-th file on."""

    def __init__(self, after: int = 0) -> None:
        super().__init__()
        self.left = after

    async def write(self, path: str, content: str) -> None:
        if self.left <= 0:
            raise OSError("No space left on device")
        self.left -= 1
        await super().write(path, content)


class PlainFiles:
    """The four methods and no more, on a real disk: it cannot tell whether a name was free."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def _file(self, path: str) -> Path:
        parts = [part for part in path.split("/") if part not in ("", ".")]
        assert ".." not in parts
        return self.root.joinpath(*parts)

    async def ls_info(self, path: str) -> list[FileInfo]:
        place = self._file(path)
        entries = sorted(place.iterdir()) if place.is_dir() else [place] * place.exists()
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
        await anyio.lowlevel.checkpoint()  # Others come between, as with any real storage.
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


async def begin(
    reduction: ToolReduction, tools: Sequence[Tool] = (), messages: Sequence[Message] = ()
) -> RunSetup:
    """Begin a run without a loop: the hooks alone."""
    setup = RunSetup("r1", "", list(tools), set(), tuple(messages))
    await reduction.before_agent(setup)
    return setup


def round_(call_id: str, result: str, name: str = "look", arguments: str = "{}") -> list[Message]:
    """One call and its result."""
    call = ToolCall(call_id, name, arguments)
    return [Message.assistant("", call), Message.tool(call, result)]


def conversation(*results: str) -> list[Message]:
    """A question, and one round for each result, with ids c1, c2, …"""
    found = [Message.user("go")]
    for number, result in enumerate(results, 1):
        found += round_(f"c{number}", result)
    return found


async def clear(reduction: ToolReduction, messages: list[Message]) -> list[Message]:
    """Return what the hook makes of the messages."""
    state = await reduction.before_model(State(messages, []))
    return messages if state is None else state.messages


async def contents(backend: Backend, *folders: str) -> dict[str, str]:
    """Return everything that is saved in some folders."""
    return {
        info.path: await backend.read(info.path)
        for folder in folders
        for info in await backend.ls_info(folder)
        if not info.is_dir
    }


def paired(messages: Sequence[Message]) -> bool:
    """Whether each call has its result right behind it, as providers ask."""
    place = 0
    while place < len(messages):
        wanted = [call.id for call in messages[place].tool_calls]
        given = [one.tool_call_id for one in messages[place + 1 : place + 1 + len(wanted)]]
        if sorted(wanted) != sorted(given):
            return False
        place += 1 + len(wanted)
        if place < len(messages) and messages[place].role == "tool":
            return False
    return True


class Looker:
    """A model that looks so many times, then ends; it keeps every request."""

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


async def play(agent: Agent, text: str = "go") -> tuple[list[Message], list[ReductionWarning]]:
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
    """How many characters of tool results a request holds."""
    return sum(len(message.text) for message in messages if message.role == "tool")
