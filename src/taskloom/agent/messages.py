"""Messages between people, models and tools: one type, small and frozen.

Frozen, so that runs can share a list of messages, compare by identity and keep it without copies;
change one with `message.replace(...)`. A message is independent of any provider. An adapter may
keep its own form of a message as `twin`: that is not part of the message, is written nowhere and
is dropped by `replace`.
"""

import os
from typing import Any, Literal, TypeAlias

from msgspec import Struct, structs

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


class TextPart(Struct, frozen=True, gc=False, tag_field="type", tag="text"):
    """A piece of text of a multi-part message."""

    text: str


class ImagePart(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="type", tag="image"):
    """An image, as bytes or by its URL."""

    media_type: str = "image/png"
    data: bytes = b""
    url: str = ""


class FilePart(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="type", tag="file"):
    """A file, as bytes or by its URL."""

    media_type: str = "application/octet-stream"
    data: bytes = b""
    url: str = ""
    name: str = ""


class JsonPart(Struct, frozen=True, tag_field="type", tag="json"):
    """A JSON value."""

    value: Any


Part: TypeAlias = TextPart | ImagePart | FilePart | JsonPart
"""One piece of a multi-part message or tool result."""

Content: TypeAlias = str | tuple[Part, ...]
"""The content of a message: a text, or several parts."""


class ToolCall(Struct, frozen=True, gc=False):
    """A tool call that a model asks for; `arguments` is JSON text as the model wrote it."""

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

    `provider` holds what only the provider understands (signatures of its thinking and the like)
    and must get back unchanged; only adapters read and write it.
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
        """Return a message from a person."""
        return cls("user", content)

    @classmethod
    def system(cls, content: Content) -> "Message":
        """Return a message from the program to the model."""
        return cls("system", content)

    @classmethod
    def assistant(cls, content: Content = "", *tool_calls: ToolCall) -> "Message":
        """Return a message from the model, with the tool calls it asks for."""
        return cls("assistant", content, tool_calls)

    @classmethod
    def tool(cls, call: ToolCall, content: Content, *, is_error: bool = False) -> "Message":
        """Return the result of a tool call."""
        return cls("tool", content, (), call.id, call.name, is_error)

    @property
    def text(self) -> str:
        """The text of the message; with several parts, the text parts joined."""
        if isinstance(self.content, str):
            return self.content
        return "".join(part.text for part in self.content if isinstance(part, TextPart))

    def replace(self, **changes: Any) -> "Message":
        """Return a copy with some fields changed, without the twin."""
        return structs.replace(self, **changes)

    def with_id(self, id_: str) -> "Message":
        """Return a copy with this id, and with the twin."""
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
        """An adapter's own form of this message, if it made one."""
        return self.__dict__.get("twin")

    def keep_twin(self, twin: object) -> None:
        """Keep an adapter's form, so that the adapter converts a message once."""
        vars(self)["twin"] = twin  # A frozen struct allows it: `dict=True`.


def new_id(prefix: str) -> str:
    """Return a random id that is unique across runs, processes and machines."""
    return prefix + os.urandom(8).hex()


def encodable(text: str) -> str:
    """Return the text with each lone surrogate replaced: it could not be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text
