"""The console for people: plain text when piped, never wider than the terminal."""

import os
from typing import Final, NoReturn, TextIO

from rich.console import Console

PIPED_WIDTH: Final = 160
"""The width of piped tables, unless COLUMNS sets it."""

_DEFAULT_WIDTH: Final = 80
"""Where COLUMNS is 0."""


class PlainConsole(Console):
    """A console on a standard stream."""

    def __init__(self, stream: TextIO) -> None:
        """Open it for texts as they are: no markup, no emoji names, no highlighting."""
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            # A terminal that cannot show a character gets a question mark, not a traceback.
            reconfigure(errors="replace")
        super().__init__(
            file=stream,
            width=_width(stream),
            highlight=False,
            markup=False,
            emoji=False,
        )

    def on_broken_pipe(self) -> NoReturn:
        """Raise, so that the command ends with its exit code."""
        raise BrokenPipeError


def _width(stream: TextIO) -> int | None:
    """Return the width; None means COLUMNS, else the size of the terminal."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit():
        return None if columns.strip("0") else _DEFAULT_WIDTH
    return None if stream.isatty() else PIPED_WIDTH
