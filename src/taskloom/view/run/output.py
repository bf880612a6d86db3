"""The output of one run as lines: pieces of replies joined, tool calls and their results.

Lines are kept as they came and escaped when they are drawn: most never are.
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

Kind: TypeAlias = Literal["text", "thinking", "tool", "output", "error", "note"]

LINES_KEPT: Final = 2_000
"""Of one run, to scroll back; its transcript has the rest."""

_LINE_CHARS_MAX: Final = 2_000
_RESULT_LINES: Final = 40
"""Of a tool's result that was not streamed."""
_ARGUMENT_CHARS: Final = 60
_ARGUMENTS_BYTES_MAX: Final = 20_000


@dataclass(frozen=True, slots=True)
class Line:
    """One line of output."""

    kind: Kind
    text: str

    @property
    def display_text(self) -> str:
        """The line for a terminal: a progress bar as it ended, control characters escaped."""
        return clean(self.text.rstrip("\r").rpartition("\r")[2].expandtabs(4))


class OutputBuffer:
    """The last lines of one run's output."""

    def __init__(self) -> None:
        """Start empty."""
        self.lines: deque[Line] = deque(maxlen=LINES_KEPT)
        self.total = 0
        """Lines so far, including those no longer kept."""
        self._open = Line("text", "")
        self._message_id: str = ""
        self._message_lines: int = 0
        self._streaming: set[str] = set()

    @property
    def all_lines(self) -> list[Line]:
        """The lines, with the one that is still being written."""
        return [*self.lines, self._open] if self._open.text else list(self.lines)

    @property
    def last_line(self) -> str:
        """The last line that is not blank, on one line."""
        if self._open.text.strip():
            return one_line(self._open.text)
        for line in reversed(self.lines):
            if line.text.strip():
                return one_line(line.display_text)
        return ""

    def add(self, output: Event | str) -> None:
        """Add one event, or a piece of plain text."""
        match output:
            case str():
                self._append("output", output if output.endswith("\n") else output + "\n")
            case ModelDelta():
                self._add_delta(output)
            case ModelSuperseded():
                self._discard_attempt(output)
            case ModelReply():
                self._add_reply(output)
            case NestedEvent():
                self.add(output.event)
            case CustomEvent():
                self._add_line("note", str(output.data))
            case RunFailed():
                self._add_line("error", f"{type(output.error).__name__}: {output.error}")
            case RunEnded():
                self._add_line("note", f"({output.result.stop_reason})")
            case ToolStarted() | ToolDelta() | ToolResult():
                self._add_tool(output)
            case _:
                self._close()

    def _add_delta(self, event: ModelDelta) -> None:
        if event.message_id != self._message_id:
            self._close()
            self._message_id, self._message_lines = event.message_id, 0
        delta = event.delta
        if delta.thinking:
            self._append("thinking", delta.thinking)
        if delta.text:
            self._append("text", delta.text)
        if delta.tool_name:
            self._close()
            self._open = Line("tool", f"▸ {delta.tool_name} …")

    def _discard_attempt(self, event: ModelSuperseded) -> None:
        """Remove the pieces of an attempt that failed."""
        self._open = Line("text", "")
        if event.message_id == self._message_id:
            for _ in range(min(self._message_lines, len(self.lines))):
                self.lines.pop()
            self.total -= self._message_lines
        self._message_id = ""
        self._add_line("error", f"attempt {event.attempt} failed, retrying: {event.error}")

    def _add_reply(self, event: ModelReply) -> None:
        if event.message.id != self._message_id:
            self._close()
            self._append("text", event.message.text)
        self._message_id = ""
        self._close()

    def _add_tool(self, event: ToolStarted | ToolDelta | ToolResult) -> None:
        match event:
            case ToolStarted():
                self._add_line("tool", f"▸ {describe_call(event.call.name, event.call.arguments)}")
            case ToolDelta():
                self._streaming.add(event.call_id)
                chunk = event.chunk
                text = chunk if isinstance(chunk, str) else _text_of(chunk)
                self._append("output", text)
            case ToolResult():
                self._close()
                if event.message.tool_call_id in self._streaming:
                    self._streaming.discard(event.message.tool_call_id)
                    return
                self._add_result(event.message)

    def _add_result(self, message: Message) -> None:
        kind: Kind = "error" if message.is_error else "output"
        text = message.text[: _RESULT_LINES * _LINE_CHARS_MAX]
        lines = text.splitlines()
        for line in lines[:_RESULT_LINES]:
            self._add_line(kind, line)
        if len(lines) > _RESULT_LINES or len(message.text) > len(text):
            self._add_line("note", "…")

    def _add_line(self, kind: Kind, text: str) -> None:
        self._close()
        self._put(Line(kind, text[:_LINE_CHARS_MAX]))

    def _append(self, kind: Kind, text: str) -> None:
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
        """End the open line; an announced tool call is dropped, its start has all arguments."""
        line, self._open = self._open, Line("text", "")
        if line.text.strip() and line.kind != "tool":
            self._put(line)

    def _put(self, line: Line) -> None:
        self.lines.append(line)
        self.total += 1
        self._message_lines += 1


def describe_call(name: str, arguments: str) -> str:
    """Return a tool call on one line, its arguments clipped."""
    values = _decode(arguments)
    if values is None:
        return f"{one_line(name)} {one_line(arguments, _ARGUMENT_CHARS)}".rstrip()
    shown = " ".join(f"{one_line(key)}={_short(value)}" for key, value in values.items())
    return f"{one_line(name)} {shown}".rstrip()


def _decode(arguments: str) -> Mapping[str, object] | None:
    """Return the arguments as an object; None if they are no object, or a huge one."""
    if len(arguments) > _ARGUMENTS_BYTES_MAX:
        return None
    try:
        values = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return cast("dict[str, object]", values) if isinstance(values, dict) else None


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
