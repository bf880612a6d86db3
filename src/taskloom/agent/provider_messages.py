"""Our messages in the library's form and back, each converted once.

The library's form of a message is kept as its twin. The twin of a reply is the very response
that came back, so signatures and ids that only the provider understands go back to it as they
were; what of it matters is written into `Message.provider`, for a run that goes on elsewhere.
"""

from collections.abc import Sequence
from typing import Any, Final, cast

import msgspec
from pydantic_ai import messages as library

from taskloom.agent.messages import (
    FilePart,
    ImagePart,
    JsonPart,
    Message,
    Part,
    TextPart,
    ToolCall,
    Usage,
)

_FORMAT: Final = "pydantic-ai"


def to_library(messages: Sequence[Message], instruction: str) -> list[library.ModelMessage]:
    """Return the conversation as requests and responses, in turn."""
    out: list[library.ModelMessage] = []
    parts: list[library.ModelRequestPart] = []
    if instruction:
        parts.append(library.SystemPromptPart(instruction))
    for message in messages:
        if message.role == "assistant":
            if parts or not out:
                out.append(library.ModelRequest(parts=parts))
                parts = []
            out.append(_response(message))
        else:
            parts.append(_request_part(message))
    if parts:
        out.append(library.ModelRequest(parts=parts))
    return out


def _request_part(message: Message) -> library.ModelRequestPart:
    twin = message.twin
    if twin is None:
        twin = _make_request_part(message)
        message.keep_twin(twin)
    return cast("library.ModelRequestPart", twin)


def _make_request_part(message: Message) -> library.ModelRequestPart:
    if message.role == "system":
        return library.SystemPromptPart(message.text)
    content: Any = message.content
    if not isinstance(content, str):
        content = [_user_content(part) for part in message.content if not isinstance(part, str)]
    if message.role == "user":
        return library.UserPromptPart(content)
    return library.ToolReturnPart(
        tool_name=message.tool_name,
        content=content,
        tool_call_id=message.tool_call_id,
        outcome="failed" if message.is_error else "success",
    )


def _user_content(part: Part) -> library.UserContent:
    match part:
        case TextPart():
            return part.text
        case JsonPart():
            return msgspec.json.encode(part.value).decode()
        case ImagePart() if part.url:
            return library.ImageUrl(part.url)
        case FilePart() if part.url:
            return library.DocumentUrl(part.url)
        case ImagePart() | FilePart():
            return library.BinaryContent(part.data, media_type=part.media_type)


def _response(message: Message) -> library.ModelResponse:
    twin = message.twin
    if twin is None:
        twin = _restored(message) or _made(message)
        message.keep_twin(twin)
    return cast("library.ModelResponse", twin)


def _made(message: Message) -> library.ModelResponse:
    parts: list[library.ModelResponsePart] = (
        [library.TextPart(message.text)] if message.text else []
    )
    parts += [
        library.ToolCallPart(call.name, call.arguments, tool_call_id=call.id)
        for call in message.tool_calls
    ]
    return library.ModelResponse(parts=parts)


def _restored(message: Message) -> library.ModelResponse | None:
    """Return the response a journal kept, unless the message was changed since."""
    kept = (message.provider or {}).get(_FORMAT)
    if kept is None:
        return None
    try:
        (response,) = library.ModelMessagesTypeAdapter.validate_python([kept])
    except ValueError:
        return None  # Another version of the library wrote it; the plain form will do.
    if not isinstance(response, library.ModelResponse):
        return None
    same = (response.text or "") == message.text and _calls(response) == message.tool_calls
    return response if same else None


def from_library(response: library.ModelResponse) -> Message:
    """Return a reply as our message, with the response as its twin."""
    usage = response.usage
    message = Message(
        "assistant",
        response.text or "",
        _calls(response),
        usage=Usage(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens),
        finish_reason=response.finish_reason or "",
        provider=_worth_keeping(response),
    )
    message.keep_twin(response)
    return message


def _calls(response: library.ModelResponse) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(call.tool_call_id, call.tool_name, call.args_as_json_str())
        for call in response.tool_calls
    )


def _worth_keeping(response: library.ModelResponse) -> dict[str, Any] | None:
    """Return the response as data if it holds more than text and calls can say."""
    plain = all(
        isinstance(part, library.TextPart | library.ToolCallPart)
        and part.id is None
        and part.provider_details is None
        for part in response.parts
    )
    if plain:
        return None
    (data,) = library.ModelMessagesTypeAdapter.dump_python([response], mode="json")
    return {_FORMAT: data}
