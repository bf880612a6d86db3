"""Lines in columns. Like a rich table without wrapping, and quick enough for 10,000 steps.

Every column is as wide as it needs to be; the last one has what is left, and is cut there.
"""

from collections.abc import Sequence
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.text import Text

_GAP: Final = "  "
_COLUMN_MAX: Final = 0.6
"""The share of the width that one column may take, so that something is left for the others."""

Cells = tuple[Text, ...]


class Columns:
    """Rows of cells, one line each."""

    def __init__(self, rows: Sequence[Cells], *, heading: Sequence[str] = ()) -> None:
        """Take rows of equally many cells, and the words above them if there are any."""
        above = [tuple(Text(word, "bold") for word in heading)] if heading else []
        self._rows: list[Cells] = [*above, *rows]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw them no wider than there is room."""
        widest = int(options.max_width * _COLUMN_MAX)
        columns = list(zip(*(row[:-1] for row in self._rows), strict=True))
        widths = [min(widest, max(cell.cell_len for cell in column)) for column in columns]
        for row in self._rows:
            line = Text(end="")
            for cell, width in zip(row, widths, strict=False):
                padded = cell.copy()
                padded.truncate(width, overflow="ellipsis", pad=True)
                line.append_text(padded).append(_GAP)
            line.append_text(row[-1])
            line.rstrip()
            line.truncate(options.max_width, overflow="ellipsis")
            yield from line.render(console)
            yield Segment.line()
