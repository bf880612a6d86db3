"""How many tokens a message or a tool costs, roughly or exactly, by a counter of one's choice."""

from typing import Final, Protocol, runtime_checkable

import msgspec

from taskloom.agent import FilePart, JsonPart, Message, Part, TextPart, ToolInfo

MEDIA_TOKENS: Final = 1_500
"""An image or a document: providers charge 85 to 3,000 for one, whatever its bytes are."""


class TokenCounter(Protocol):
    """Anything that counts the tokens of a text: a function will do."""

    def __call__(self, text: str, /) -> int:
        """Return how many tokens the text has."""
        ...


@runtime_checkable
class MessageCounter(Protocol):
    """A counter that knows more: it is asked for whole messages and tools then."""

    def count_message(self, message: Message) -> int:
        """Return how many tokens a message has, its tool calls included."""
        ...

    def count_tool(self, tool: ToolInfo) -> int:
        """Return how many tokens the definition of a tool has."""
        ...


def utf8_tokens(text: str, /) -> int:
    """Return a fourth of the UTF-8 bytes: close for English and code, and fair to Chinese."""
    return len(text.encode("utf-8", "surrogatepass")) // 4


def count_message(message: Message, counter: TokenCounter) -> int:
    """Return the tokens of one message, by a counter of text."""
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
    return counter("\n".join(pieces)) + media


def _part(part: Part) -> tuple[str, int]:
    match part:
        case TextPart():
            return part.text, 0
        case JsonPart():
            return json_text(part), 0
        case FilePart() if part.media_type.startswith("text/"):
            return part.name, len(part.data) // 4
        case _:
            return "", MEDIA_TOKENS


def json_text(part: JsonPart) -> str:
    """Return a value as its JSON, or as Python shows it where it has none."""
    try:
        return msgspec.json.encode(part.value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        return repr(part.value)


def count_tool(tool: ToolInfo, counter: TokenCounter) -> int:
    """Return the tokens of one tool's definition, by a counter of text."""
    return counter(msgspec.json.encode(tool).decode())
