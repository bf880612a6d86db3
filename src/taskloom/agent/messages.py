"""What model, tools and people say to each other: one message type, small and frozen.

Frozen, so that a list of messages can be shared between runs, compared by identity and
kept by the caller without copies; change one with `message.replace(...)`. The wire form
of a provider never stands here: an adapter may keep its own form as the message's `twin`,
which is not part of the message, is not written anywhere and is dropped by `replace`.
"""

import os
from typing import Any, Literal, TypeAlias

from msgspec import Struct, structs

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


class TextPart(Struct, frozen=True, gc=False, tag_field="type", tag="text"):
    """A piece of text of a multi-part message."""

    text: str


class ImagePart(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="type", tag="image"):
    """An image, by its bytes or by its address."""

    media_type: str = "image/png"
    data: bytes = b""
    url: str = ""


class FilePart(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="type", tag="file"):
    """A file, by its bytes or by its address."""

    media_type: str = "application/octet-stream"
    data: bytes = b""
    url: str = ""
    name: str = ""


class JsonPart(Struct, frozen=True, tag_field="type", tag="json"):
    """A value that is data rather than prose."""

    value: Any


Part: TypeAlias = TextPart | ImagePart | FilePart | JsonPart
"""One piece of a multi-part message or tool result."""

Content: TypeAlias = str | tuple[Part, ...]


class ToolCall(Struct, frozen=True, gc=False):
    """A model's wish to call a tool; `arguments` is JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str = "{}"


class Usage(Struct, frozen=True, gc=False, omit_defaults=True):
    """Tokens of one reply, or of a whole run."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        """Add two counts, field by field."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
        )


class Message(Struct, frozen=True, omit_defaults=True, dict=True):
    """One message of a conversation.

    `provider` holds what only the provider understands (signatures of its thinking and the
    like) and must go back to it unchanged; adapters write and read it, nobody else.
    """

    role: Role
    content: Content = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    tool_name: str = ""
    is_error: bool = False
    id: str = ""
    usage: Usage | None = None
    finish_reason: str = ""
    provider: dict[str, Any] | None = None

    @classmethod
    def user(cls, content: Content) -> "Message":
        """What a person says."""
        return cls("user", content)

    @classmethod
    def system(cls, content: Content) -> "Message":
        """What the program says to the model."""
        return cls("system", content)

    @classmethod
    def assistant(cls, content: Content = "", *tool_calls: ToolCall) -> "Message":
        """What the model says, and the tools it wants called."""
        return cls("assistant", content, tool_calls)

    @classmethod
    def tool(cls, call: ToolCall, content: Content, *, is_error: bool = False) -> "Message":
        """What came out of a tool call."""
        return cls("tool", content, (), call.id, call.name, is_error)

    @property
    def text(self) -> str:
        """The text of the message; of several parts, their text joined."""
        if isinstance(self.content, str):
            return self.content
        return "".join(part.text for part in self.content if isinstance(part, TextPart))

    def replace(self, **changes: Any) -> "Message":
        """Return this message with some fields changed; the twin does not come along."""
        return structs.replace(self, **changes)

    def stamped(self, id_: str) -> "Message":
        """Return this message under an id of its own; the twin comes along."""
        copy = Message(
            self.role, self.content, self.tool_calls, self.tool_call_id, self.tool_name,
            self.is_error, id_, self.usage, self.finish_reason, self.provider,
        )  # fmt: skip  # one field per line says no more
        twin = self.__dict__.get("twin")
        if twin is not None:
            copy.keep_twin(twin)
        return copy

    @property
    def twin(self) -> object | None:
        """An adapter's own form of this message, if it has made one."""
        return self.__dict__.get("twin")

    def keep_twin(self, twin: object) -> None:
        """Keep an adapter's form, so that it is made once."""
        vars(self)["twin"] = twin  # A frozen struct allows it: `dict=True`.


def new_id(prefix: str) -> str:
    """Draw an id that no other run, process or machine will draw."""
    return prefix + os.urandom(8).hex()
