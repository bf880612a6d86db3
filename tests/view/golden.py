"""Text compared with a file beside the tests; `TASKLOOM_REWRITE=1` writes the files anew."""

import os
from pathlib import Path

from rich.console import Console, RenderableType

REWRITE = os.environ.get("TASKLOOM_REWRITE") == "1"


def as_text(drawn: RenderableType, *, width: int = 100) -> str:
    """What a terminal of this width without colours would show."""
    console = Console(width=width, color_system=None, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        console.print(drawn)
    return trimmed(captured.get())


def trimmed(text: str) -> str:
    """The text without blanks at the ends of its lines."""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def check(text: str, golden: Path) -> None:
    """Complain unless the text is what the file says."""
    if REWRITE:
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
