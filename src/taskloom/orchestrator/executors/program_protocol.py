"""What a program says on its standard output, line by line, and none of it endless.

    {"type": "output", "text": …}      shown while it works
    {"type": "result", "text": …, "data": …, "artifact_ids": […]}      what came of it
    {"type": "error", "message": …}    it could not do it

Any other line is output as it stands.
"""

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

LINE_BYTES_MAX: Final = 1_000_000
"""A result may be long; what comes beyond this on one line is dropped."""
OUTPUT_CHARS_MAX: Final = 16_000
"""Of one line of output so much is shown."""


class RunOutput(Struct, frozen=True, tag_field="type", tag="output"):
    """A line to show."""

    text: str


class Gave(Struct, frozen=True, tag_field="type", tag="result"):
    """What came of the step."""

    text: str = ""
    data: Any = None
    artifact_ids: tuple[str, ...] = ()


class Failed(Struct, frozen=True, tag_field="type", tag="error"):
    """Why it could not be done."""

    message: str


Line: TypeAlias = RunOutput | Gave | Failed

_KNOWN: Final = ("output", "result", "error")


class ProgramLineError(Exception):
    """A line that says it is a result, and is none."""


class Lines:
    """Cuts a stream of bytes into lines."""

    def __init__(self) -> None:
        """Begin with nothing read."""
        self._held = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> Iterator[bytes]:
        """Take some bytes; give the lines that they make whole."""
        *whole, rest = data.split(b"\n")
        for piece in whole:
            self._keep(piece)
            yield self._take()
        self._keep(rest)

    def end(self) -> Iterator[bytes]:
        """Give what is left, a last line without its end."""
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
    """Return what a line says.

    Raises:
        ProgramLineError: it has one of the three types, and another form.
    """
    if line.lstrip().startswith(b"{"):
        try:
            head = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            head = None
        if isinstance(head, dict) and head.get("type") in _KNOWN:  # pyright: ignore[reportUnknownMemberType]  # any JSON
            try:
                said: Line = msgspec.convert(head, Line)
            except msgspec.ValidationError as error:
                shown = line[:200].decode("utf-8", "replace")
                raise ProgramLineError(
                    f"A line of its output is wrong: {error}: {shown}"
                ) from error
            return said
    return RunOutput(shorten(line.decode("utf-8", "replace")))


def shorten(text: str) -> str:
    """Return a text that can be shown."""
    if len(text) <= OUTPUT_CHARS_MAX:
        return text
    return f"{text[:OUTPUT_CHARS_MAX]} [… {len(text) - OUTPUT_CHARS_MAX} characters more]"
