"""What the loop needs from a model: one method, for streaming and not.

A model answers a `ModelRequest` with one assistant `Message`. If the request has `on_delta`, the
model also passes each chunk to it as it arrives, and returns the whole message in the end all the
same. A model that cannot stream ignores it. There is no second method to keep in step.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import Struct, structs

from taskloom.agent.messages import Message


class ToolInfo(Struct, frozen=True):
    """A tool as the model sees it: name, purpose, JSON schema of the arguments."""

    name: str
    description: str
    parameters: dict[str, Any]


class Delta(Struct, frozen=True, gc=False, omit_defaults=True):
    """A chunk of a reply that is still being written.

    Chunks of text and of thinking add up. `call_index` is the position of a tool call in the
    reply; its first chunk has the name, the others have more of the arguments.
    """

    text: str = ""
    thinking: str = ""
    call_index: int = -1
    tool_name: str = ""
    arguments: str = ""


DeltaSink: TypeAlias = Callable[[Delta], Awaitable[None]]


class ModelRequest(Struct, frozen=True):
    """One model call: everything the model gets. Make a changed copy with `replace`."""

    messages: Sequence[Message]
    instruction: str = ""
    tools: Sequence[ToolInfo] = ()
    settings: Mapping[str, Any] = {}
    on_delta: DeltaSink | None = None

    def replace(self, **changes: Any) -> "ModelRequest":
        """Return a copy with some fields changed."""
        return structs.replace(self, **changes)


class ChatModel(Protocol):
    """A model: anything with a name and a `generate` method."""

    @property
    def name(self) -> str:
        """The name in traces and messages."""
        ...

    async def generate(self, request: ModelRequest) -> Message:
        """Return one assistant message, or raise.

        An implementation does not change the request, does not catch cancellation, and may be
        called by many runs at once.
        """
        ...
