"""The lines that a worker's program reads and writes, each of limited length.

It reads one line, the job: `{"type": "job", "step": …, "inputs": …, …}`. It may also receive lines
`{"type": "message", "text": …}` while it runs. It writes on standard output:

    {"type": "output", "text": …}      a line of output
    {"type": "result", "text": …, "data": …, "artifact_ids": […]}      the step's result
    {"type": "error", "message": …}    why the step failed

Any other line is output as it is.
"""

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from taskloom.orchestrator.errors import ProgramWorkerError

LINE_BYTES_MAX: Final = 1_000_000
"""A result may be long; the rest of a longer line is dropped."""
OUTPUT_CHARS_MAX: Final = 16_000
"""How much of one line of output is shown."""


class OutputLine(Struct, frozen=True, tag_field="type", tag="output"):
    """A line of output."""

    text: str


class ResultLine(Struct, frozen=True, tag_field="type", tag="result"):
    """The step's result."""

    text: str = ""
    data: Any = None
    artifact_ids: tuple[str, ...] = ()


class ErrorLine(Struct, frozen=True, tag_field="type", tag="error"):
    """Why the step failed."""

    message: str


Line: TypeAlias = OutputLine | ResultLine | ErrorLine

_TYPES: Final = ("output", "result", "error")


class LineSplitter:
    """Splits a stream of bytes into lines of limited length."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> Iterator[bytes]:
        """Add bytes; yield the lines that they complete."""
        *whole, rest = data.split(b"\n")
        for piece in whole:
            self._keep(piece)
            yield self._take()
        self._keep(rest)

    def end(self) -> Iterator[bytes]:
        """Yield the last line if it had no line end."""
        if self._held:
            yield self._take()

    def _keep(self, piece: bytes) -> None:
        room = LINE_BYTES_MAX - len(self._held)
        self._held += piece[:room]
        self._dropped += max(0, len(piece) - room)

    def _take(self) -> bytes:
        line = bytes(self._held)
        if self._dropped:
            line += f" [… {self._dropped} bytes of this line were dropped]".encode()
        self._held.clear()
        self._dropped = 0
        return line.removesuffix(b"\r")


def read_line(line: bytes) -> Line:
    """Return a line of a program's output.

    Raises:
        ProgramWorkerError: it has one of the three types and wrong fields.
    """
    if line.lstrip().startswith(b"{"):
        try:
            head = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            head = None
        if isinstance(head, dict) and head.get("type") in _TYPES:  # pyright: ignore[reportUnknownMemberType]  # any JSON
            try:
                read: Line = msgspec.convert(head, Line)
            except msgspec.ValidationError as error:
                shown = line[:200].decode("utf-8", "replace")
                raise ProgramWorkerError(
                    f"The program wrote a wrong line: {error}: {shown}. Fix the program."
                ) from error
            return read
    return OutputLine(shorten(line.decode("utf-8", "replace")))


def shorten(text: str) -> str:
    """Return a text, cut to the length that is shown."""
    if len(text) <= OUTPUT_CHARS_MAX:
        return text
    return f"{text[:OUTPUT_CHARS_MAX]} [… {len(text) - OUTPUT_CHARS_MAX} characters more]"
