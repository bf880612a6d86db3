"""How statuses, progress and rows look.

The word of a status always accompanies its colour, because not every reader sees colours.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.text import Text

_STYLES: Final[Mapping[str, tuple[str, str]]] = {
    "pending": ("·", "dim"),
    "ready": ("○", "blue"),
    "claimed": ("◐", "cyan"),
    "running": ("●", "bold cyan"),
    "blocked": ("■", "bold yellow"),
    "completed": ("✓", "green"),
    "failed": ("✗", "bold red"),
    "cancelled": ("⊘", "dim"),
    "unavailable": ("!", "bold red"),
}

_BAR_CELLS: Final = 24
_GAP: Final = "  "
_COLUMN_MAX: Final = 0.6
"""The share of the width that one column may take, so that the others have some."""

Cells: TypeAlias = tuple[Text, ...]


def mark(status: str) -> Text:
    """Return the symbol of a status, in its colour."""
    symbol, style = _STYLES.get(status, ("?", ""))
    return Text(symbol, style)


def status_word(status: str) -> Text:
    """Return the name of a status, in its colour."""
    return Text(status, _STYLES.get(status, ("?", ""))[1])


def progress(done: int, total: int) -> Text:
    """Return a progress bar."""
    cells = _BAR_CELLS * done // total if total else 0
    return Text.assemble(("━" * cells, "green"), ("─" * (_BAR_CELLS - cells), "dim"))


class Columns:
    """Rows of cells in columns, one line each: a table without wrapping, fast for 10,000 rows.

    Every column is as wide as it needs; the last one gets the rest of the line and is cut there.
    """

    def __init__(self, rows: Sequence[Cells], *, heading: Sequence[str] = ()) -> None:
        """Draw rows of equally many cells, under a heading if there is one."""
        above = [tuple(Text(word, "bold") for word in heading)] if heading else []
        self._rows: list[Cells] = [*above, *rows]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the rows within the width of the console."""
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
