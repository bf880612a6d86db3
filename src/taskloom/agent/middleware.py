"""Middleware: nine hooks that change a run without touching the loop.

Write a subclass with only the hooks you need; the others cost nothing. Hooks run in the order of
the list, `after_*` too; wrappers nest, the first in the list outermost.

    before_agent                 once per run and per resume; changes this run's setup
    before_model, after_model    around each model call; their changes last for the run
    wrap_model                   one model call (each retry again); its changes last for that call
    wrap_tool_call               one call of a tool that returns text
    wrap_streaming_tool_call     … that yields text
    wrap_rich_tool_call          … that returns parts
    wrap_rich_streaming_tool_call … that yields parts
    after_agent                  after success only

One instance serves many runs at once: keep the state of a run in run-local values (`set_value`)
or context variables, not on `self`.
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
    """What `before_model` and `after_model` may change; the changes last for the run.

    After the model the last message is its reply. The last message that the hooks leave decides
    what comes next: without tool calls the run ends, with them they run. A tool that a hook
    removes from `tools` cannot be called either.
    """

    messages: list[Message]
    tools: list[ToolInfo]


class ToolRequest(Struct, frozen=True):
    """One tool call before it reaches the tool. Make a changed copy with `replace`."""

    call_id: str
    name: str
    arguments: dict[str, Any]
    info: ToolInfo

    def replace(self, **changes: Any) -> "ToolRequest":
        """Return a copy with some fields changed."""
        return structs.replace(self, **changes)


ModelHandler: TypeAlias = Callable[[ModelRequest], Awaitable[Message]]
"""What `wrap_model` gets as `call`."""

ToolHandler: TypeAlias = Callable[[ToolRequest], Awaitable[str]]
"""What `wrap_tool_call` gets as `call`."""

StreamingToolHandler: TypeAlias = Callable[[ToolRequest], AsyncIterator[str]]
"""What `wrap_streaming_tool_call` gets as `call`."""

RichToolHandler: TypeAlias = Callable[[ToolRequest], Awaitable[Sequence[Part]]]
"""What `wrap_rich_tool_call` gets as `call`."""

RichStreamingToolHandler: TypeAlias = Callable[[ToolRequest], AsyncIterator[Part]]
"""What `wrap_rich_streaming_tool_call` gets as `call`."""


class Middleware:
    """A middleware that does nothing: subclass it."""

    @property
    def name(self) -> str:
        """The name in errors and interrupts; by default that of the class."""
        return type(self).__name__

    async def before_agent(self, setup: RunSetup) -> None:
        """Change the instruction, tools or return_directly of this run, in place."""

    async def before_model(self, state: State) -> State | None:
        """Change the state before the model sees it: in place, or return another."""

    async def wrap_model(self, request: ModelRequest, call: ModelHandler) -> Message:
        """Return a reply: usually that of `await call(request)`, with something changed.

        To see or change streamed chunks, pass a request with an `on_delta` of your own.
        """
        return await call(request)

    async def after_model(self, state: State) -> State | None:
        """Change the state after the reply: in place, or return another."""

    async def wrap_tool_call(self, request: ToolRequest, call: ToolHandler) -> str:
        """Return a result for a tool that returns text."""
        return await call(request)

    def wrap_streaming_tool_call(
        self, request: ToolRequest, call: StreamingToolHandler
    ) -> AsyncIterator[str]:
        """Yield a result for a tool that yields text; usually written as an async generator."""
        return call(request)

    async def wrap_rich_tool_call(
        self, request: ToolRequest, call: RichToolHandler
    ) -> Sequence[Part]:
        """Return a result for a tool that returns parts."""
        return await call(request)

    def wrap_rich_streaming_tool_call(
        self, request: ToolRequest, call: RichStreamingToolHandler
    ) -> AsyncIterator[Part]:
        """Yield a result for a tool that yields parts."""
        return call(request)

    async def after_agent(self, result: Result) -> None:
        """Get the result of a run that succeeded; this cannot change it."""
