"""How a status looks. The word always stands beside the colour: not everybody sees colours."""

from collections.abc import Mapping
from typing import Final

from rich.text import Text

_LOOKS: Final[Mapping[str, tuple[str, str]]] = {
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

BAR_CELLS: Final = 24


def mark(status: str) -> Text:
    """Return the sign of a status."""
    sign, style = _LOOKS.get(status, ("?", ""))
    return Text(sign, style)


def status_word(status: str) -> Text:
    """Return the word of a status in its colour."""
    return Text(status, _LOOKS.get(status, ("?", ""))[1])


def progress(done: int, total: int) -> Text:
    """Draw how much is done."""
    cells = BAR_CELLS * done // total if total else 0
    return Text.assemble(("━" * cells, "green"), ("─" * (BAR_CELLS - cells), "dim"))
