"""A tool call as a person sees it: a title, a kind, and the files it is about. Pure."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from taskloom.agent import ImagePart, Message, Part, TextPart, ToolCall
from taskloom.text import clip, clip_line

TITLE_CHARS_MAX: Final = 120
SHOWN_CHARS_MAX: Final = 20_000
"""Of a result: what a person may read in a side panel. The model gets all of it."""

_KINDS: Final = {
    "read_file": "read",
    "list_dir": "read",
    "search": "search",
    "write_file": "edit",
    "edit_file": "edit",
    "run_command": "execute",
    "TaskCreate": "think",
    "TaskGet": "think",
    "TaskUpdate": "think",
    "TaskList": "think",
    "publish_plan": "think",
    "dismiss_plan": "think",
}
HOUSE_TOOLS: Final = frozenset(_KINDS)
"""Names that no other tool may have, whatever the mode; those of the board have a dot in them."""
_BOARD: Final = "agent."
"""What the names of the board's tools begin with."""
_VERBS: Final = {
    "read_file": "Read",
    "list_dir": "List",
    "write_file": "Write",
    "edit_file": "Edit",
}


class ToolCallInfo(Struct, frozen=True):
    """What a client is told about a call before it runs."""

    title: str
    kind: str
    locations: tuple[dict[str, Any], ...] = ()
    raw_input: Any = None

    def as_call(self, call_id: str) -> dict[str, Any]:
        """Return the fields that `tool_call` and a permission request share."""
        said: dict[str, Any] = {"toolCallId": call_id, "title": self.title, "kind": self.kind}
        if self.locations:
            said["locations"] = list(self.locations)
        if self.raw_input is not None:
            said["rawInput"] = self.raw_input
        return said


def tool_call_info(
    call: ToolCall, cwd: Path, kinds: Mapping[str, str] | None = None
) -> ToolCallInfo:
    """Return the card of a call, whatever the model wrote as its arguments."""
    raw = _arguments(call)
    arguments: Mapping[str, Any] = cast("dict[str, Any]", raw if isinstance(raw, dict) else {})
    kind = _KINDS.get(call.name) or (kinds or {}).get(call.name, "other")
    if call.name.startswith(f"{_BOARD}task_"):
        kind = "think"
    title = clip_line(_title(call.name, arguments), TITLE_CHARS_MAX)
    return ToolCallInfo(title or call.name or "?", kind, _locations(call.name, arguments, cwd), raw)


def _arguments(call: ToolCall) -> object:
    try:
        return msgspec.json.decode(call.arguments or "{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return call.arguments


def _title(name: str, arguments: Mapping[str, Any]) -> str:
    def word(key: str, default: str = "") -> str:
        value = arguments.get(key, default)
        return value if isinstance(value, str) else default

    if name in _VERBS:
        return f"{_VERBS[name]} {word('path', '.')}"
    match name:
        case "search":
            return f"Search for {word('pattern')}"
        case "run_command":
            argv: object = arguments.get("argv")
            words = cast("list[object]", argv) if isinstance(argv, list) else []
            return shlex.join(str(one) for one in words) or name
        case "TaskCreate":
            return f"Plan: {word('subject')}"
        case "TaskUpdate":
            return f"Task {word('taskId')}: {word('status') or 'changed'}"
        case "publish_plan":
            return f"Publish the plan {word('title') or word('id')}"
        case _ if name.startswith(_BOARD):
            what = name.removeprefix(_BOARD).replace("_", " ").capitalize()
            about = word("step_id") or word("task_id") or word("child_run_id")
            return f"{what}: {about}" if about else what
        case _:
            return name


def _locations(name: str, arguments: Mapping[str, Any], cwd: Path) -> tuple[dict[str, Any], ...]:
    path = arguments.get("path")
    if not isinstance(path, str) or "\0" in path or name not in _KINDS:
        return ()
    where: dict[str, Any] = {"path": os.path.normpath(cwd / path)}
    line = arguments.get("offset")
    if name == "read_file" and isinstance(line, int) and not isinstance(line, bool) and line > 0:
        where["line"] = line
    return (where,)


def content_of(message: Message) -> list[dict[str, Any]]:
    """Return a result as the content of a tool call: bounded, with its images."""
    if isinstance(message.content, str):
        return [_text(message.content)] if message.content else []
    return [_block(part) for part in message.content]


def raw_output(message: Message) -> object:
    """Return a result as data for programs."""
    return {"text": clip(message.text, SHOWN_CHARS_MAX)}


def _block(part: Part) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return _text(part.text)
    if isinstance(part, ImagePart) and part.data:
        data: str = msgspec.to_builtins(part.data)
        image = {"type": "image", "mimeType": part.media_type, "data": data}
        return {"type": "content", "content": image}
    return _text(msgspec.json.encode(part).decode())


def _text(text: str) -> dict[str, Any]:
    if len(text) > SHOWN_CHARS_MAX:
        half = SHOWN_CHARS_MAX // 2
        left_out = len(text) - 2 * half
        text = f"{text[:half]}\n[… {left_out} characters …]\n{text[-half:]}"
    return {"type": "content", "content": {"type": "text", "text": text}}
