"""What one run says, as lines: pieces of replies put together, tool calls and their output.

Texts are kept as they came and cleaned when they are drawn: most of them never are.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

import msgspec

from taskloom.agent import (
    CustomEvent,
    Event,
    Message,
    ModelDelta,
    ModelReply,
    ModelSuperseded,
    NestedEvent,
    RunEnded,
    RunFailed,
    TextPart,
    ToolDelta,
    ToolResult,
    ToolStarted,
)
from taskloom.view.format import clean, one_line

Kind: TypeAlias = Literal["text", "thinking", "tool", "output", "trouble", "note"]

LINES_KEPT: Final = 2_000
"""Of one run, for whoever scrolls back; its transcript has the rest."""

_LINE_CHARS_MAX: Final = 2_000
_RESULT_LINES: Final = 40
"""Of a tool's result that came in one piece."""
_ARGUMENT_CHARS: Final = 60
_ARGUMENTS_BYTES_MAX: Final = 20_000


@dataclass(frozen=True, slots=True)
class Line:
    """One line that was said."""

    kind: Kind
    text: str

    @property
    def shown(self) -> str:
        """The line for a terminal: a progress bar as it ended, nothing to be obeyed."""
        return clean(self.text.rstrip("\r").rpartition("\r")[2].expandtabs(4))


class OutputBuffer:
    """What one run said so far."""

    def __init__(self) -> None:
        """Begin with silence."""
        self.lines: deque[Line] = deque(maxlen=LINES_KEPT)
        self.total = 0
        """Lines so far, those no longer kept included."""
        self._open = Line("text", "")
        self._message_id: str = ""
        self._of_message: int = 0
        self._streaming: set[str] = set()

    @property
    def everything(self) -> list[Line]:
        """The lines, with the one that is still being written."""
        return [*self.lines, self._open] if self._open.text else list(self.lines)

    @property
    def last(self) -> str:
        """The last line that has anything on it."""
        if self._open.text.strip():
            return one_line(self._open.text)
        for line in reversed(self.lines):
            if line.text.strip():
                return one_line(line.shown)
        return ""

    def hear(self, said: Event | str) -> None:
        """Take in one thing that was said."""
        match said:
            case str():
                self._add("output", said if said.endswith("\n") else said + "\n")
            case ModelDelta():
                self._hear_piece(said)
            case ModelSuperseded():
                self._take_back(said)
            case ModelReply():
                self._hear_reply(said)
            case NestedEvent():
                self.hear(said.event)
            case CustomEvent():
                self._say("note", str(said.data))
            case RunFailed():
                self._say("trouble", f"{type(said.error).__name__}: {said.error}")
            case RunEnded():
                self._say("note", f"({said.result.stop_reason})")
            case ToolStarted() | ToolDelta() | ToolResult():
                self._hear_tool(said)
            case _:
                self._close()

    def _hear_piece(self, said: ModelDelta) -> None:
        if said.message_id != self._message_id:
            self._close()
            self._message_id, self._of_message = said.message_id, 0
        delta = said.delta
        if delta.thinking:
            self._add("thinking", delta.thinking)
        if delta.text:
            self._add("text", delta.text)
        if delta.tool_name:
            self._close()
            self._open = Line("tool", f"▸ {delta.tool_name} …")

    def _take_back(self, said: ModelSuperseded) -> None:
        """Forget the pieces of an attempt that failed."""
        self._open = Line("text", "")
        if said.message_id == self._message_id:
            for _ in range(min(self._of_message, len(self.lines))):
                self.lines.pop()
            self.total -= self._of_message
        self._message_id = ""
        self._say("trouble", f"attempt {said.attempt} failed, trying again: {said.error}")

    def _hear_reply(self, said: ModelReply) -> None:
        if said.message.id != self._message_id:
            self._close()
            self._add("text", said.message.text)
        self._message_id = ""
        self._close()

    def _hear_tool(self, said: ToolStarted | ToolDelta | ToolResult) -> None:
        match said:
            case ToolStarted():
                self._say("tool", f"▸ {called(said.call.name, said.call.arguments)}")
            case ToolDelta():
                self._streaming.add(said.call_id)
                chunk = said.chunk
                text = chunk if isinstance(chunk, str) else _text_of(chunk)
                self._add("output", text)
            case ToolResult():
                self._close()
                if said.message.tool_call_id in self._streaming:
                    self._streaming.discard(said.message.tool_call_id)
                    return
                self._add_result(said.message)

    def _add_result(self, message: Message) -> None:
        kind: Kind = "trouble" if message.is_error else "output"
        text = message.text[: _RESULT_LINES * _LINE_CHARS_MAX]
        lines = text.splitlines()
        for line in lines[:_RESULT_LINES]:
            self._say(kind, line)
        if len(lines) > _RESULT_LINES or len(message.text) > len(text):
            self._say("note", "…")

    def _say(self, kind: Kind, text: str) -> None:
        self._close()
        self._put(Line(kind, text[:_LINE_CHARS_MAX]))

    def _add(self, kind: Kind, text: str) -> None:
        if kind != self._open.kind:
            self._close()
        *whole, rest = (self._open.text + text).split("\n")
        for line in whole:
            self._put(Line(kind, line[:_LINE_CHARS_MAX]))
        while len(rest) > _LINE_CHARS_MAX:
            self._put(Line(kind, rest[:_LINE_CHARS_MAX]))
            rest = rest[_LINE_CHARS_MAX:]
        self._open = Line(kind, rest)

    def _close(self) -> None:
        """End the open line; a call that was only announced is about to be told in full."""
        line, self._open = self._open, Line("text", "")
        if line.text.strip() and line.kind != "tool":
            self._put(line)

    def _put(self, line: Line) -> None:
        self.lines.append(line)
        self.total += 1
        self._of_message += 1


def called(name: str, arguments: str) -> str:
    """Return a tool call on one line, its arguments shortened."""
    given = _read(arguments)
    if given is None:
        return f"{one_line(name)} {one_line(arguments, _ARGUMENT_CHARS)}".rstrip()
    told = " ".join(f"{one_line(key)}={_short(value)}" for key, value in given.items())
    return f"{one_line(name)} {told}".rstrip()


def _read(arguments: str) -> Mapping[str, object] | None:
    """Read arguments, if they are an object of a size worth reading."""
    if len(arguments) > _ARGUMENTS_BYTES_MAX:
        return None
    try:
        given = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return cast("dict[str, object]", given) if isinstance(given, dict) else None


def _short(value: object) -> str:
    if isinstance(value, str):
        return one_line(value, _ARGUMENT_CHARS)
    try:
        text = msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        text = repr(value)
    return one_line(text, _ARGUMENT_CHARS)


def _text_of(part: object) -> str:
    return part.text if isinstance(part, TextPart) else f"[{type(part).__name__}]"
