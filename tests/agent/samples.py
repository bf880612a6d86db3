"""A tool, a middleware and event readers for many agent tests."""

from collections.abc import AsyncIterator, Sequence

from taskloom.agent import (
    Event,
    Message,
    Middleware,
    ModelHandler,
    ModelRequest,
    Part,
    Result,
    RichStreamingToolHandler,
    RichToolHandler,
    Run,
    RunSetup,
    State,
    StreamingToolHandler,
    ToolHandler,
    ToolRequest,
)


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def collect(run: Run) -> list[Event]:
    """Read the events of a run until its end."""
    return [event async for event in run]


def of(kind: type, events: Sequence[Event]) -> list[object]:
    """The events of one kind."""
    return [event for event in events if isinstance(event, kind)]


class HookRecorder(Middleware):
    """Records each hook when it is entered, and wrappers also when they return."""

    def __init__(self, name: str, log: list[str]) -> None:
        self._name = name
        self._log = log

    @property
    def name(self) -> str:
        return self._name

    def _record(self, what: str) -> None:
        self._log.append(f"{self._name}.{what}")

    async def before_agent(self, setup: RunSetup) -> None:
        self._record("before_agent")

    async def before_model(self, state: State) -> State | None:
        self._record("before_model")
        return None

    async def wrap_model(self, request: ModelRequest, call: ModelHandler) -> Message:
        self._record("model>")
        reply = await call(request)
        self._record("model<")
        return reply

    async def after_model(self, state: State) -> State | None:
        self._record("after_model")
        return None

    async def wrap_tool_call(self, request: ToolRequest, call: ToolHandler) -> str:
        self._record(f"text>{request.name}")
        result = await call(request)
        self._record("text<")
        return result

    async def wrap_streaming_tool_call(
        self, request: ToolRequest, call: StreamingToolHandler
    ) -> AsyncIterator[str]:
        self._record("stream>")
        async for chunk in call(request):
            yield chunk
        self._record("stream<")

    async def wrap_rich_tool_call(
        self, request: ToolRequest, call: RichToolHandler
    ) -> Sequence[Part]:
        self._record("rich>")
        result = await call(request)
        self._record("rich<")
        return result

    async def wrap_rich_streaming_tool_call(
        self, request: ToolRequest, call: RichStreamingToolHandler
    ) -> AsyncIterator[Part]:
        self._record("rich_stream>")
        async for part in call(request):
            yield part
        self._record("rich_stream<")

    async def after_agent(self, result: Result) -> None:
        self._record("after_agent")
