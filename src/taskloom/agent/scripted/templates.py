r"""Blanks in a scripted reply, filled from the conversation: what the model was shown before.

    {{steps[0].step_id}}     that path in the newest tool result that has it
    {{read_file: lines[0]}}  … among the results of this tool
    {{/task_id: (\S+)/}}   the first group, in the newest message that matches

A string that is one blank and nothing else becomes the value itself: a list stays a list.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

import msgspec

from taskloom.agent.errors import ModelError
from taskloom.agent.messages import JsonPart, Message

_BLANK: Final = re.compile(r"\{\{\s*(/.*?/|[^{}]+?)\s*\}\}", re.DOTALL)
_PLACE: Final = re.compile(r"[^.\[\]]+")
_MISSING: Final = object()


def fill(value: Any, messages: Sequence[Message]) -> Any:
    """Return `value` with every blank in its strings filled.

    Raises:
        ModelError: nothing in the conversation fits a blank.
    """
    if isinstance(value, str):
        whole = _BLANK.fullmatch(value)
        if whole is not None:
            return _find(whole[1], messages)
        return _BLANK.sub(lambda found: _as_text(_find(found[1], messages)), value)
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return {name: fill(each, messages) for name, each in pairs}
    if isinstance(value, list):
        return [fill(each, messages) for each in cast("list[object]", value)]
    return value


def fill_text(text: str, messages: Sequence[Message]) -> str:
    """Return a text with its blanks filled; what is no text stands there as JSON."""
    return _as_text(fill(text, messages))


def check_blanks(value: Any) -> Iterator[str]:
    """Tell what is wrong with the blanks of a value, before anything is filled."""
    if isinstance(value, str):
        for found in _BLANK.finditer(value):
            yield from _check_pattern(found[1])
    elif isinstance(value, dict):
        for each in cast("dict[str, Any]", value).values():
            yield from check_blanks(each)
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            yield from check_blanks(each)


def _check_pattern(blank: str) -> Iterator[str]:
    if not blank.startswith("/"):
        return
    try:
        groups = re.compile(blank[1:-1]).groups
    except re.error as error:
        yield f"{{{{{blank}}}}} is no regular expression: {error}"
        return
    if not groups:
        yield f"{{{{{blank}}}}} needs a group in brackets: what it shall be filled with"


def _find(blank: str, messages: Sequence[Message]) -> Any:
    if blank.startswith("/"):
        pattern = re.compile(blank[1:-1])
        matches = (pattern.search(message.text) for message in reversed(messages))
        found: Any = next((match[1] for match in matches if match and match[1] is not None), None)
        if found is not None:
            return found
    else:
        tool, _, path = blank.rpartition(":")
        for value in _results(messages, tool.strip()):
            found = _at(value, path.strip())
            if found is not _MISSING:
                return found
    raise ModelError(
        f"The script has the blank {{{{{blank}}}}}, and nothing in the conversation fits it.",
        kind="script_blank",
        retryable=False,
    )


def _results(messages: Sequence[Message], tool: str) -> Iterator[Any]:
    """Walk the tool results that are JSON, the newest first."""
    for message in reversed(messages):
        if message.role != "tool" or (tool and message.tool_name != tool):
            continue
        if not isinstance(message.content, str):
            yield from (part.value for part in message.content if isinstance(part, JsonPart))
        try:
            yield msgspec.json.decode(message.text)
        except msgspec.DecodeError:
            continue  # Prose; a path leads nowhere in it.


def _at(value: Any, path: str) -> Any:
    for place in _PLACE.findall(path):
        if isinstance(value, dict):
            value = cast("dict[str, Any]", value).get(place, _MISSING)
        elif isinstance(value, list) and place.lstrip("-").isdigit():
            items = cast("list[object]", value)
            number = int(place)
            value = items[number] if -len(items) <= number < len(items) else _MISSING
        else:
            return _MISSING
    return value


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
