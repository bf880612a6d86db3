"""Drawing in place: lines scroll away above, the live region stays at the bottom.

It draws on the normal screen, not the alternate one, so that the lines stay in the scrollback.
`rich.live.Live` is not used: it writes from the event loop, which a stopped terminal would block,
and it leaves remains of the old frame behind when the window gets narrower.
"""

from collections import deque
from collections.abc import Sequence
from io import StringIO
from typing import Any, Final, cast

from rich.console import Console, RenderableType
from rich.text import Text

RESTORE: Final = "\x1b[?25h\x1b[?2004l"
"""Shows the cursor, and ends bracketed paste."""

_PREPARE: Final = "\x1b[?25l\x1b[?2004h"
"""Hides the cursor, and asks the terminal to mark pasted text, which is never a key."""

_HOME: Final = "\x1b[H"
_CLEAR_LINE: Final = "\x1b[K"
_CLEAR_BELOW: Final = "\x1b[J"

_RENDER_WIDTH: Final = 10_000
"""More than any terminal has: each rendering sets its own width."""

_LINES_KEPT: Final = 200
"""Lines above the region that are drawn again after the window was resized."""


class LiveRegion:
    """Renders the lines and the region as text with escape sequences."""

    def __init__(self, console: Console) -> None:
        """Render for a console; nothing is drawn yet."""
        self._console = console
        # Rendering on the terminal's own console would write to it, and fail once it is closed.
        self._renderer = Console(
            file=StringIO(),
            width=_RENDER_WIDTH,
            force_terminal=console.is_terminal,
            color_system=cast("Any", console.color_system),
            no_color=console.no_color,
            highlight=False,
            markup=False,
            emoji=False,
        )
        self._height = 0
        self._lines: deque[Text] = deque(maxlen=_LINES_KEPT)

    @property
    def width(self) -> int:
        """Columns of the region: one less than the terminal has, or the cursor would wrap."""
        return max(8, self._console.width - 1)

    @property
    def max_height(self) -> int:
        """Lines that the region may have."""
        return max(3, self._console.height - 1)

    def draw(self, lines: Sequence[Text], frame: RenderableType | None) -> str:
        """Return what adds lines above and draws the region anew; None ends the region."""
        self._lines.extend(lines)
        up = f"\r\x1b[{self._height - 1}A" if self._height > 1 else "\r"
        return up + self._draw_below(lines, frame)

    def redraw(self, frame: RenderableType) -> str:
        """Return what draws all that fits on a screen whose size has changed."""
        space = self._console.height - len(self._render(frame))
        fitting: list[Text] = []
        for text in reversed(self._lines):
            space -= len(self._render(text))
            if space < 0:
                break
            fitting.insert(0, text)
        return _HOME + _CLEAR_BELOW + self._draw_below(fitting, frame)

    def detach(self) -> None:
        """Leave the region on the screen; what follows is drawn below it."""
        self._height = 0

    def _draw_below(self, lines: Sequence[Text], frame: RenderableType | None) -> str:
        region = self._render(frame) if frame is not None else []
        self._height = len(region)
        above = [line for text in lines for line in self._render(text)]
        rows = [line + _CLEAR_LINE for line in (*above, *region)]
        # Without a region the cursor ends on a line of its own, where the shell continues.
        end = "" if region or not rows else "\r\n"
        return _PREPARE + "\r\n".join(rows) + end + _CLEAR_BELOW

    def _render(self, renderable: RenderableType) -> list[str]:
        """Return the lines of a renderable; long texts are wrapped between words."""
        with self._renderer.capture() as captured:
            self._renderer.print(renderable, width=self.width, end="")
        return captured.get().removesuffix("\n").split("\n")
