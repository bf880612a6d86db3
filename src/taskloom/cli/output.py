"""Where a command's words go: tables for people or JSON for programs, notes beside them."""

import os
import sys
from typing import TYPE_CHECKING, Final, TextIO

import msgspec

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

PIPED_WIDTH: Final = 160
"""Of tables that nobody sees at once; COLUMNS says otherwise."""


def print_json(value: object) -> None:
    """Print one JSON document."""
    _write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def print_json_line(value: object) -> None:
    """Print one JSON document on one line, at once."""
    _write(msgspec.json.encode(value) + b"\n")


def _write(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def console(*, error: bool = False) -> "Console":
    """Return a console that is plain when piped, and no wider than the terminal."""
    from rich.console import Console

    stream: TextIO = sys.stderr if error else sys.stdout
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        # A terminal that cannot show a sign gets a question mark and not a traceback.
        reconfigure(errors="replace")
    piped = not stream.isatty() and not os.environ.get("COLUMNS", "").isdigit()
    return Console(
        file=stream,
        width=PIPED_WIDTH if piped else None,
        highlight=False,
        markup=False,
        emoji=False,
    )


def draw(*parts: "RenderableType") -> None:
    """Print what was drawn for people; into a pipe without the blanks at the ends of lines."""
    out = console()
    if out.is_terminal:
        out.print(*parts, sep="\n")
        return
    with out.capture() as captured:
        out.print(*parts, sep="\n")
    out.file.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def note(text: str) -> None:
    """Say something that is not part of the answer."""
    sys.stderr.write(f"note: {text}\n")
    sys.stderr.flush()
