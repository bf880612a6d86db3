"""What the loop asks of a model: one method, for streaming and not.

A model answers a `ModelRequest` with one assistant `Message`. When `on_delta` is there,
somebody listens: the model hands over each piece as it comes, and the whole in the end all
the same. A model that cannot stream ignores it. There is no second method to keep in step.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import Struct, structs

from taskloom.agent.messages import Message


class ToolInfo(Struct, frozen=True):
    """What a model is told about a tool: name, purpose, JSON schema of the arguments."""

    name: str
    description: str
    parameters: dict[str, Any]


class Delta(Struct, frozen=True, gc=False, omit_defaults=True):
    """A piece of a reply that is still being written.

    Text and thinking add up as they come. A tool call is known by its place `call_index`
    in the reply; its first piece has the name, the others more of the arguments.
    """

    text: str = ""
    thinking: str = ""
    call_index: int = -1
    tool_name: str = ""
    arguments: str = ""


DeltaSink: TypeAlias = Callable[[Delta], Awaitable[None]]


class ModelRequest(Struct, frozen=True):
    """One call of a model: everything it may know. Make a changed one with `replace`."""

    messages: Sequence[Message]
    instruction: str = ""
    tools: Sequence[ToolInfo] = ()
    settings: Mapping[str, Any] = {}
    on_delta: DeltaSink | None = None

    def replace(self, **changes: Any) -> "ModelRequest":
        """Return this request with some fields changed."""
        return structs.replace(self, **changes)


class ChatModel(Protocol):
    """Anything that can answer."""

    @property
    def name(self) -> str:
        """The name for traces and messages to people."""
        ...

    async def generate(self, request: ModelRequest) -> Message:
        """Answer with one assistant message, or raise.

        An implementation does not change the request, lets cancellation through, and may
        be called by many runs at once.
        """
        ...
