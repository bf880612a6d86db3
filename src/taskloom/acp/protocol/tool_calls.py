"""Tool calls as the client sees them, and the tracker of those in progress."""

import asyncio
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

import anyio
import msgspec
from msgspec import Struct

from taskloom.acp.plans import Send
from taskloom.agent import ImagePart, Message, Part, TextPart, ToolCall
from taskloom.text import clip, clip_line

ANNOUNCED_S: Final = 2.0
"""How long a question waits for the announcement of its tool call before it is asked anyway."""
TITLE_CHARS_MAX: Final = 120
SHOWN_CHARS_MAX: Final = 20_000
"""Of a result, for a side panel. The model gets all of it."""

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
BUILT_IN_TOOLS: Final = frozenset(_KINDS)
"""Names that no tool of an MCP server may have; those of the board contain a dot."""
_BOARD: Final = "agent."
"""The prefix of the board's tools."""
_VERBS: Final = {
    "read_file": "Read",
    "list_dir": "List",
    "write_file": "Write",
    "edit_file": "Edit",
}


class ToolCallInfo(Struct, frozen=True):
    """What the client is shown of a call before it runs."""

    title: str
    kind: str
    locations: tuple[dict[str, Any], ...] = ()
    raw_input: Any = None

    def fields(self, call_id: str) -> dict[str, Any]:
        """Return the fields that `tool_call` and a permission request share."""
        fields: dict[str, Any] = {"toolCallId": call_id, "title": self.title, "kind": self.kind}
        if self.locations:
            fields["locations"] = list(self.locations)
        if self.raw_input is not None:
            fields["rawInput"] = self.raw_input
        return fields


def tool_call_info(
    call: ToolCall, cwd: Path, kinds: Mapping[str, str] | None = None
) -> ToolCallInfo:
    """Return what to show of a call, whatever the model wrote as its arguments."""
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


class ToolCallTracker:
    """The tool calls of one turn that are in progress.

    Models give calls ids that are unique within one reply. The client needs ids that are unique
    within a session, so the id of the reply goes before that of the call.
    """

    def __init__(self, session_id: str, send: Send) -> None:
        """Name the session on whose stream the calls are, and how to send to it."""
        self.session_id = session_id
        self._send = send
        self._ids: dict[str, str] = {}
        self._infos: dict[str, ToolCallInfo] = {}
        self._contents: dict[str, list[dict[str, Any]]] = {}
        self._open: dict[str, None] = {}
        self._waiting: dict[str, asyncio.Future[None]] = {}

    def move(self, session_id: str, send: Send) -> None:
        """Put later calls on the stream of another session."""
        self.session_id, self._send = session_id, send

    @property
    def open_ids(self) -> tuple[str, ...]:
        """The calls without a result, by the ids that the client knows."""
        return tuple(self._open)

    def add(self, message_id: str, call_id: str, info: ToolCallInfo) -> str:
        """Add a call; return the id that the client knows it by."""
        id_ = client_call_id(message_id, call_id)
        self._ids[call_id] = id_
        self._infos[call_id] = info
        self._open[id_] = None
        return id_

    def mark_announced(self, call_id: str) -> None:
        """Note that the client has been sent a call."""
        waiting = self._waiting.pop(call_id, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    async def wait_announced(self, call_id: str) -> None:
        """Return when the client has been sent a call: a run may be ahead of its reader."""
        if call_id not in self._ids:
            loop = asyncio.get_running_loop()
            waiting = self._waiting.setdefault(call_id, loop.create_future())
            with anyio.move_on_after(ANNOUNCED_S):
                await asyncio.shield(waiting)

    def client_id(self, call_id: str) -> str:
        """Return the id that the client knows a call by."""
        return self._ids.get(call_id, call_id)

    def fields(self, call_id: str) -> dict[str, Any]:
        """Return a call as fields of a permission request, with the content added to it."""
        info = self._infos.get(call_id) or ToolCallInfo("A tool of a worker", "other")
        fields = info.fields(self.client_id(call_id))
        if self._contents.get(call_id):
            fields["content"] = list(self._contents[call_id])
        return fields

    def add_content(self, call_id: str, content: dict[str, Any]) -> None:
        """Add content to show with a call; a diff replaces an earlier one of the same file."""
        contents = self._contents.setdefault(call_id, [])
        contents[:] = [one for one in contents if one.get("path", "") != content.get("path")]
        contents.append(content)

    async def show_content(self, call_id: str, content: dict[str, Any]) -> None:
        """Add content to a call in progress and send it."""
        await self.wait_announced(call_id)
        self.add_content(call_id, content)
        await self._send(
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": self.client_id(call_id),
                "content": list(self._contents[call_id]),
            }
        )

    def close(self, call_id: str) -> list[dict[str, Any]]:
        """Note the end of a call; return the content that was added to it."""
        self._open.pop(self.client_id(call_id), None)
        return self._contents.pop(call_id, [])

    def clear(self) -> None:
        """Forget the calls of a turn that has ended."""
        for waiting in self._waiting.values():
            waiting.cancel()
        for kept in (self._ids, self._infos, self._contents, self._open, self._waiting):
            kept.clear()


def client_call_id(message_id: str, call_id: str) -> str:
    """Return the id by which the client knows a call."""
    return f"{message_id}.{call_id}"
