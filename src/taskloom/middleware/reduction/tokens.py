"""Token counts of messages and tools, by any counter, and a cache of them for one run."""

from collections.abc import Sequence
from typing import Final, Protocol, runtime_checkable

import msgspec

from taskloom.agent import FilePart, JsonPart, Message, Part, TextPart, ToolInfo

MEDIA_TOKENS: Final = 1_500
"""An image or a document: providers charge 85 to 3,000 for one, whatever its size in bytes."""

_LONG: Final = 256
_COMPARED: Final = 16
"""A conversation of `_LONG` messages that has not grown is compared at its end only."""


class TokenCounter(Protocol):
    """A callable, such as a function, that counts the tokens of a text."""

    def __call__(self, text: str, /) -> int:
        """Return the number of tokens of a text."""
        ...


@runtime_checkable
class MessageCounter(Protocol):
    """A counter that can also count whole messages and tools."""

    def count_message(self, message: Message) -> int:
        """Return the number of tokens of a message with its tool calls."""
        ...

    def count_tool(self, tool: ToolInfo) -> int:
        """Return the number of tokens of a tool's definition."""
        ...


def utf8_tokens(text: str, /) -> int:
    """Return a quarter of the UTF-8 bytes: close for English and code, and fair to Chinese."""
    return len(text.encode("utf-8", "surrogatepass")) // 4


def json_text(part: JsonPart) -> str:
    """Return a value as JSON, or its `repr` if it is not serializable."""
    try:
        return msgspec.json.encode(part.value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        return repr(part.value)


class TokenCache:
    """The token counts of one run's messages and tools.

    The known messages are compared with the given ones as lists, which stops at identical objects
    and takes a few nanoseconds per message; only new messages are counted.
    """

    def __init__(self, counter: TokenCounter) -> None:
        """Start with nothing counted."""
        self.messages: list[Message] = []
        self.checked = 0
        """The number of messages at the beginning that clearing need not examine again."""
        # Determined once, because `isinstance` with a protocol takes microseconds.
        self._message_counter = counter if isinstance(counter, MessageCounter) else None
        self._counter = counter
        self._counts: list[int] = []
        self._total = 0
        self._tools: list[ToolInfo] = []
        self._tools_total = 0

    def total(self, messages: list[Message], tools: list[ToolInfo]) -> int:
        """Return the tokens of all messages and tools."""
        if tools != self._tools:
            self._tools = list(tools)
            self._tools_total = sum(map(self._count_tool, tools))
        if not self._is_known(messages):
            self._update(messages)
        return self._total + self._tools_total

    def replace(self, messages: list[Message]) -> None:
        """Set the messages after some were replaced; `checked` stays."""
        # By identity: the known list keeps its objects alive, so no id is used twice.
        before = {id(one): n for one, n in zip(self.messages, self._counts, strict=True)}
        counts = [
            before[id(message)] if id(message) in before else self.count(message)
            for message in messages
        ]
        self.messages = list(messages)
        self._counts = counts
        self._total = sum(counts)

    def count(self, message: Message) -> int:
        """Return the tokens of one message."""
        if self._message_counter is not None:
            return self._message_counter.count_message(message)
        pieces: list[str] = [message.role]
        media = 0
        if isinstance(message.content, str):
            pieces.append(message.content)
        else:
            for part in message.content:
                text, more = _part(part)
                pieces.append(text)
                media += more
        for call in message.tool_calls:
            pieces += (call.name, call.arguments)
        return self._counter("\n".join(pieces)) + media

    def count_at(self, index: int) -> int:
        """Return the tokens of a known message."""
        return self._counts[index]

    def _is_known(self, messages: list[Message]) -> bool:
        """Return whether no message is new.

        In a long conversation that has not grown only the end is compared. The loop never calls
        this way; a change far back is noticed when the conversation grows next.
        """
        if len(messages) < _LONG or len(messages) != len(self.messages):
            return messages == self.messages
        return messages[-_COMPARED:] == self.messages[-_COMPARED:]

    def _update(self, messages: list[Message]) -> None:
        known = len(self.messages)
        new = messages[known:]
        self.messages += new  # Compares two whole lists without copying either.
        if messages == self.messages:
            self._add(new)
            return
        del self.messages[known:]
        same = 0
        for one, other in zip(messages, self.messages, strict=False):
            if one is not other:
                break
            same += 1
        self.checked = min(self.checked, same)
        self.replace(messages)

    def _add(self, messages: Sequence[Message]) -> None:
        counts = [self.count(message) for message in messages]
        self._counts += counts
        self._total += sum(counts)

    def _count_tool(self, tool: ToolInfo) -> int:
        if self._message_counter is not None:
            return self._message_counter.count_tool(tool)
        return self._counter(msgspec.json.encode(tool).decode())


def _part(part: Part) -> tuple[str, int]:
    """Return the text of a part, and the tokens of what is not text."""
    match part:
        case TextPart():
            return part.text, 0
        case JsonPart():
            return json_text(part), 0
        case FilePart() if part.media_type.startswith("text/"):
            return part.name, len(part.data) // 4
        case _:
            return "", MEDIA_TOKENS
