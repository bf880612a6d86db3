"""What the model is told of earlier turns: all that fits, whole turns only. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from taskloom.agent import Language, Message
from taskloom.agent.model_texts import texts
from taskloom.session import Asked, Over, Recalled, Record, Said, Told

BYTES_PER_TOKEN: Final = 4

LEFT_OUT: Final = (
    "\n\nThe beginning of this conversation is left out here: it no longer fits. Look again at "
    "files you need, or ask."
)


def recall(
    known: Sequence[Message], records: Iterable[Record], language: Language | None = None
) -> list[Message]:
    """Return what the model knows after more records.

    Calls that a killed process left open are answered: providers refuse a call without a result,
    and nobody knows what became of it.
    """
    messages = list(known)
    for record in records:
        match record:
            case Asked(message):
                _close(messages, language)
                messages.append(message)
            case Said(message):
                if message.role == "assistant":
                    _close(messages, language)
                messages.append(message)
            case Recalled(dropped, replaced):
                messages[max(0, len(messages) - dropped) :] = replaced
            case Told() | Over():
                pass
    _close(messages, language)
    return messages


def changed(known: Sequence[Message], true: Sequence[Message]) -> Recalled | None:
    """Return the record that makes what the transcript gives into what is true; None if it is."""
    kept = 0
    for one, other in zip(known, true, strict=False):
        if one is not other and one != other:
            break
        kept += 1
    if kept == len(known) == len(true):
        return None
    return Recalled(len(known) - kept, list(true[kept:]))


def _close(messages: list[Message], language: Language | None) -> None:
    """Put the last reply's results into the order of its calls, with one for each call."""
    results: dict[str, Message] = {}
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if message.role == "tool":
            results[message.tool_call_id] = message
            continue
        unknown = texts(language).outcome_unknown
        messages[place + 1 :] = [
            results.get(call.id)
            or Message.tool(call, unknown.format(name=call.name), is_error=True)
            for call in message.tool_calls
        ]
        return


def fit(messages: Sequence[Message], tokens_max: int) -> list[Message]:
    """Return the last whole turns that fit, at the least the last one."""
    room = tokens_max * BYTES_PER_TOKEN
    first = len(messages)
    for place in range(len(messages) - 1, -1, -1):
        room -= size_bytes(messages[place])
        if room < 0 and first < len(messages):
            break
        if messages[place].role == "user":
            first = place
    return list(messages[first:]) if first < len(messages) else list(messages)


def size_bytes(message: Message) -> int:
    """Return about how much of a model's context a message takes."""
    if isinstance(message.content, str) and not message.tool_calls:
        return len(message.content.encode("utf-8", "replace")) + 16
    return len(msgspec.json.encode(message))
