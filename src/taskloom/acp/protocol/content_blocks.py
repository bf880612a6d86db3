"""A prompt's content blocks as a message for the model, and a message as content blocks. Pure."""

import base64
import binascii
from collections.abc import Sequence
from typing import Any

import msgspec
from acp.exceptions import RequestError
from acp.schema import (
    AudioContentBlock,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from taskloom.agent import ImagePart, Message, Part, TextPart

Block = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)


def message_of(blocks: Sequence[Block]) -> Message:
    """Return a prompt as one message.

    Raises:
        RequestError: it is empty, or has content that was not announced.
    """
    parts = _joined([_part(block) for block in blocks])
    if not parts:
        raise RequestError(-32602, "Invalid params: the prompt is empty. Send at least some text.")
    if len(parts) == 1 and isinstance(parts[0], TextPart):
        return Message.user(parts[0].text)
    return Message.user(tuple(parts))


def _part(block: Block) -> Part:
    match block:
        case TextContentBlock():
            return TextPart(block.text)
        case ResourceContentBlock():
            return TextPart(f"[{block.title or block.name}]({block.uri})")
        case EmbeddedResourceContentBlock():
            resource = block.resource
            if isinstance(resource, TextResourceContents):
                return TextPart(f'<file uri="{resource.uri}">\n{resource.text}\n</file>')
            return TextPart(f"[{resource.mime_type or 'binary'} file]({resource.uri})")
        case ImageContentBlock():
            return ImagePart(block.mime_type, _bytes(block.data), block.uri or "")
        case AudioContentBlock():
            raise RequestError(
                -32602, "Invalid params: audio is not among the prompt capabilities announced."
            )


def _bytes(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RequestError(-32602, "Invalid params: the image's data is not base64.") from error


def _joined(parts: Sequence[Part]) -> list[Part]:
    """Return the parts with adjacent texts joined, and without empty ones."""
    joined: list[Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, TextPart):
            if not part.text:
                continue
            if isinstance(last, TextPart):
                joined[-1] = TextPart(f"{last.text}\n{part.text}")
                continue
        joined.append(part)
    return joined


def blocks_of(message: Message) -> list[dict[str, Any]]:
    """Return a message as content blocks."""
    if isinstance(message.content, str):
        return [{"type": "text", "text": message.content}] if message.content else []
    found: list[dict[str, Any]] = []
    for part in message.content:
        if isinstance(part, TextPart):
            found.append({"type": "text", "text": part.text})
        elif isinstance(part, ImagePart) and part.data:
            data = base64.b64encode(part.data).decode()
            found.append({"type": "image", "mimeType": part.media_type, "data": data})
        else:
            found.append({"type": "text", "text": msgspec.json.encode(part).decode()})
    return found
