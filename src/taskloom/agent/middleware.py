"""Middleware: the nine places where a run can be changed without touching the loop.

Write a subclass and only the hooks you need; hooks you do not write cost nothing. Hooks run
in the order of the list, `after_*` too; wrappers nest, the first in the list outermost.

    before_agent                 once per run and per resume; changes this run's setup
    before_model, after_model    around each model call; what they leave in the state stays
    wrap_model                   one model call (each retry anew); nothing of it stays
    wrap_tool_call               one call of a tool that returns text
    wrap_streaming_tool_call     … that yields text
    wrap_rich_tool_call          … that returns parts
    wrap_rich_streaming_tool_call … that yields parts
    after_agent                  after success only

One instance serves many runs at once: keep what belongs to a run in run-local values
(`set_value`) or context variables, not on `self`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from msgspec import Struct, structs

from taskloom.agent.chat_model import ModelRequest, ToolInfo
from taskloom.agent.messages import Message, Part
from taskloom.agent.result import Result
from taskloom.agent.tools.tool import ToolLike


class RunSetup(Struct):
    """What `before_agent` may change, for this run alone. Change it in place."""

    run_id: str
    instruction: str
    tools: list[ToolLike]
    return_directly: set[str]
    messages: Sequence[Message] = ()
    resumed: bool = False


class State(Struct):
    """What `before_model` and `after_model` see and may change: it stays changed.

    After the model the last message is its reply, and what the hooks leave there decides:
    without tool calls the run ends, with them they are executed. A tool taken out of
    `tools` cannot be called either.
    """

    messages: list[Message]
    tools: list[ToolInfo]


class ToolRequest(Struct, frozen=True):
    """One tool call on its way to the tool. Make a changed one with `replace`."""

    call_id: str
    name: str
    arguments: dict[str, Any]
    info: ToolInfo

    def replace(self, **changes: Any) -> "ToolRequest":
        """Return this call with some fields changed."""
        return structs.replace(self, **changes)


ModelHandler: TypeAlias = Callable[[ModelRequest], Awaitable[Message]]
ToolHandler: TypeAlias = Callable[[ToolRequest], Awaitable[str]]
StreamingToolHandler: TypeAlias = Callable[[ToolRequest], AsyncIterator[str]]
RichToolHandler: TypeAlias = Callable[[ToolRequest], Awaitable[Sequence[Part]]]
RichStreamingToolHandler: TypeAlias = Callable[[ToolRequest], AsyncIterator[Part]]


class Middleware:
    """The no-op middleware: subclass it."""

    @property
    def name(self) -> str:
        """The name that errors and interrupts show; the class's by default."""
        return type(self).__name__

    async def before_agent(self, setup: RunSetup) -> None:
        """Change the instruction, tools or return_directly of this run, in place."""

    async def before_model(self, state: State) -> State | None:
        """Change the state before the model sees it: in place, or return another."""

    async def wrap_model(self, request: ModelRequest, call: ModelHandler) -> Message:
        """Answer for the model: usually `await call(request)` with something changed.

        To see or change what is streamed, pass on a request with an `on_delta` of your own.
        """
        return await call(request)

    async def after_model(self, state: State) -> State | None:
        """Change the state after the reply: in place, or return another."""

    async def wrap_tool_call(self, request: ToolRequest, call: ToolHandler) -> str:
        """Answer for a tool that returns text."""
        return await call(request)

    def wrap_streaming_tool_call(
        self, request: ToolRequest, call: StreamingToolHandler
    ) -> AsyncIterator[str]:
        """Answer for a tool that yields text; usually written as an async generator."""
        return call(request)

    async def wrap_rich_tool_call(
        self, request: ToolRequest, call: RichToolHandler
    ) -> Sequence[Part]:
        """Answer for a tool that returns parts."""
        return await call(request)

    def wrap_rich_streaming_tool_call(
        self, request: ToolRequest, call: RichStreamingToolHandler
    ) -> AsyncIterator[Part]:
        """Answer for a tool that yields parts."""
        return call(request)

    async def after_agent(self, result: Result) -> None:
        """See the result of a run that succeeded; nothing done here changes it."""
