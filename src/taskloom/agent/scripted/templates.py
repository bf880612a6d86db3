r"""Placeholders in a scripted reply, filled from the conversation.

    {{steps[0].step_id}}     that path in the newest tool result that has it
    {{read_file: lines[0]}}  … among the results of this tool
    {{/task_id: (\S+)/}}   the first group, in the newest message that matches

A string that is one placeholder and nothing else becomes the value itself: a list stays a list.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

import msgspec

from taskloom.agent.errors import ModelError
from taskloom.agent.messages import JsonPart, Message

_PLACEHOLDER: Final = re.compile(r"\{\{\s*(/.*?/|[^{}]+?)\s*\}\}", re.DOTALL)
_KEY: Final = re.compile(r"[^.\[\]]+")
_MISSING: Final = object()


def fill(value: Any, messages: Sequence[Message]) -> Any:
    """Return `value` with every placeholder in its strings filled.

    Raises:
        ModelError: nothing in the conversation matches a placeholder.
    """
    if isinstance(value, str):
        whole = _PLACEHOLDER.fullmatch(value)
        if whole is not None:
            return _find(whole[1], messages)
        return _PLACEHOLDER.sub(lambda found: _as_text(_find(found[1], messages)), value)
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return {name: fill(each, messages) for name, each in pairs}
    if isinstance(value, list):
        return [fill(each, messages) for each in cast("list[object]", value)]
    return value


def fill_text(text: str, messages: Sequence[Message]) -> str:
    """Return a text with its placeholders filled; values that are not text become JSON."""
    return _as_text(fill(text, messages))


def check_placeholders(value: Any) -> Iterator[str]:
    """Yield what is wrong with the placeholders of a value, before any is filled."""
    if isinstance(value, str):
        for found in _PLACEHOLDER.finditer(value):
            yield from _check_pattern(found[1])
    elif isinstance(value, dict):
        for each in cast("dict[str, Any]", value).values():
            yield from check_placeholders(each)
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            yield from check_placeholders(each)


def _check_pattern(placeholder: str) -> Iterator[str]:
    if not placeholder.startswith("/"):
        return
    try:
        groups = re.compile(placeholder[1:-1]).groups
    except re.error as error:
        yield f"{{{{{placeholder}}}}} is not a regular expression: {error}"
        return
    if not groups:
        yield f"{{{{{placeholder}}}}} needs a group in parentheses: the text to fill in"


def _find(placeholder: str, messages: Sequence[Message]) -> Any:
    if placeholder.startswith("/"):
        pattern = re.compile(placeholder[1:-1])
        matches = (pattern.search(message.text) for message in reversed(messages))
        found: Any = next((match[1] for match in matches if match and match[1] is not None), None)
        if found is not None:
            return found
    else:
        tool, _, path = placeholder.rpartition(":")
        for value in _results(messages, tool.strip()):
            found = _at(value, path.strip())
            if found is not _MISSING:
                return found
    raise ModelError(
        f"Nothing in the conversation matches the script's placeholder {{{{{placeholder}}}}}.",
        kind="script_placeholder",
        retryable=False,
    )


def _results(messages: Sequence[Message], tool: str) -> Iterator[Any]:
    """Yield the tool results that are JSON, the newest first."""
    for message in reversed(messages):
        if message.role != "tool" or (tool and message.tool_name != tool):
            continue
        if not isinstance(message.content, str):
            yield from (part.value for part in message.content if isinstance(part, JsonPart))
        try:
            yield msgspec.json.decode(message.text)
        except msgspec.DecodeError:
            continue  # Not JSON: a path finds nothing in it.


def _at(value: Any, path: str) -> Any:
    for key in _KEY.findall(path):
        if isinstance(value, dict):
            value = cast("dict[str, Any]", value).get(key, _MISSING)
        elif isinstance(value, list) and key.lstrip("-").isdigit():
            items = cast("list[object]", value)
            index = int(key)
            value = items[index] if -len(items) <= index < len(items) else _MISSING
        else:
            return _MISSING
    return value


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
