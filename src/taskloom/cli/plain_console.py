"""What people's words are printed on: plain when piped, no wider than a terminal."""

import os
from typing import Final, NoReturn, TextIO

from rich.console import Console

PIPED_WIDTH: Final = 160
"""Of tables that nobody sees at once; COLUMNS says otherwise."""

_USUAL_WIDTH: Final = 80
"""Where COLUMNS is 0."""


class Screen(Console):
    """One of the standard streams."""

    def __init__(self, stream: TextIO) -> None:
        """Take texts as they are: no markup, no emoji names, no guessing what a number is."""
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            # A terminal that cannot show a sign gets a question mark and not a traceback.
            reconfigure(errors="replace")
        super().__init__(
            file=stream,
            width=_width(stream),
            highlight=False,
            markup=False,
            emoji=False,
        )

    def on_broken_pipe(self) -> NoReturn:
        """Leave it to whoever ends the command."""
        raise BrokenPipeError


def _width(stream: TextIO) -> int | None:
    """Return how wide to write; None to go by COLUMNS, else by the terminal."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit():
        return None if columns.strip("0") else _USUAL_WIDTH
    return None if stream.isatty() else PIPED_WIDTH
