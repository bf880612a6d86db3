"""Lines in columns. Like a rich table without wrapping, and quick enough for 10,000 steps."""

from collections.abc import Sequence
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.text import Text

_GAP: Final = "  "
_FIRST_MAX: Final = 0.6
"""The share of the width that names and guides may take, so that something is left to read."""


class Columns:
    """Rows of three cells each: a name behind its guides, a word, and what there is to say."""

    def __init__(self, rows: Sequence[tuple[Text, Text, Text]]) -> None:
        """Take the rows as they are to be drawn, one line each."""
        self._rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw them no wider than there is room."""
        first = max((name.cell_len for name, _, _ in self._rows), default=0)
        first = min(first, int(options.max_width * _FIRST_MAX))
        second = max((word.cell_len for _, word, _ in self._rows), default=0)
        for row in self._rows:
            name, word, note = row[0].copy(), row[1].copy(), row[2]
            name.truncate(first, overflow="ellipsis", pad=True)
            word.truncate(second, pad=True)
            line = Text.assemble(name, _GAP, word, _GAP, note, end="")
            line.rstrip()
            line.truncate(options.max_width, overflow="ellipsis")
            yield from line.render(console)
            yield Segment.line()
