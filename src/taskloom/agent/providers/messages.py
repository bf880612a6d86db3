"""Converts messages to the library's form and back, each message once.

The library's form of a message is kept as its twin. The twin of a reply is the very response that
the provider sent, so signatures and ids that only the provider understands go back unchanged.
`Message.provider` keeps the part of it that matters, for a run that resumes in another process.
"""

from collections.abc import Sequence
from dataclasses import replace
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
from taskloom.agent.providers.tool_names import ToolNames

_FORMAT: Final = "pydantic-ai"


def to_library(
    messages: Sequence[Message], instruction: str, names: ToolNames | None = None
) -> list[library.ModelMessage]:
    """Return the conversation as alternating requests and responses."""
    names = names or ToolNames()
    out: list[library.ModelMessage] = []
    parts: list[library.ModelRequestPart] = []
    if instruction:
        parts.append(library.SystemPromptPart(instruction))
    for message in messages:
        if message.role == "assistant":
            if parts or not out:
                out.append(library.ModelRequest(parts=parts))
                parts = []
            out.append(_response(message, names))
        else:
            parts.append(_request_part(message, names))
    if parts:
        out.append(library.ModelRequest(parts=parts))
    return out


def _request_part(message: Message, names: ToolNames) -> library.ModelRequestPart:
    twin = cast("library.ModelRequestPart | None", message.twin)
    if twin is None or not _is_named(twin, message, names):
        twin = _make_request_part(message, names)
        message.keep_twin(twin)
    return twin


def _is_named(part: library.ModelRequestPart, message: Message, names: ToolNames) -> bool:
    """Return whether the part uses this request's name for its tool."""
    if not isinstance(part, library.ToolReturnPart):
        return True
    return part.tool_name == names.sent(message.tool_name)


def _make_request_part(message: Message, names: ToolNames) -> library.ModelRequestPart:
    if message.role == "system":
        return library.SystemPromptPart(message.text)
    content: Any = message.content
    if not isinstance(content, str):
        content = [_user_content(part) for part in message.content if not isinstance(part, str)]
    if message.role == "user":
        return library.UserPromptPart(content)
    return library.ToolReturnPart(
        tool_name=names.sent(message.tool_name),
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


def _response(message: Message, names: ToolNames) -> library.ModelResponse:
    twin = cast("library.ModelResponse | None", message.twin)
    response = twin or _restored(message) or _made(message)
    if message.tool_calls:
        response = _named(response, [names.sent(call.name) for call in message.tool_calls])
    if response is not twin:
        message.keep_twin(response)
    return response


def _named(response: library.ModelResponse, wanted: Sequence[str]) -> library.ModelResponse:
    """Return the response with its calls renamed; itself if they have these names already."""
    if [call.tool_name for call in response.tool_calls] == list(wanted):
        return response
    names = iter(wanted)
    parts: list[Any] = list(response.parts)
    for index, part in enumerate(parts):
        if isinstance(part, library.ToolCallPart):
            parts[index] = replace(cast("Any", part), tool_name=next(names))
    return replace(response, parts=parts)


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
    """Return the response that a journal kept, unless the message has changed since."""
    kept = (message.provider or {}).get(_FORMAT)
    if kept is None:
        return None
    try:
        (response,) = library.ModelMessagesTypeAdapter.validate_python([kept])
    except ValueError:
        return None  # Another version of the library wrote it; use the plain form.
    if not isinstance(response, library.ModelResponse):
        return None
    same = (response.text or "") == message.text and _calls(response) == message.tool_calls
    return response if same else None


def from_library(response: library.ModelResponse, names: ToolNames | None = None) -> Message:
    """Return a response as a message, with the response as its twin."""
    names = names or ToolNames()
    ours = _named(response, [names.received(call.tool_name) for call in response.tool_calls])
    usage = response.usage
    message = Message(
        "assistant",
        response.text or "",
        _calls(ours),
        usage=Usage(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens),
        finish_reason=response.finish_reason or "",
        provider=_provider_data(ours),
    )
    message.keep_twin(response)
    return message


def _calls(response: library.ModelResponse) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(call.tool_call_id, call.tool_name, call.args_as_json_str())
        for call in response.tool_calls
    )


def _provider_data(response: library.ModelResponse) -> dict[str, Any] | None:
    """Return the response as JSON if it holds more than text and tool calls; else None."""
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
