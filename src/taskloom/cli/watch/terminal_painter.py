"""Drawing in place: what happened scrolls away above, the live part stays at the bottom.

The screen is the terminal's own, not an alternate one, so that the story can be scrolled back to,
during the run and after it.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

from rich.console import Console, RenderableType
from rich.text import Text

HIDE_CURSOR: Final = "\x1b[?25l"
SHOW_CURSOR: Final = "\x1b[?25h"
_HOME: Final = "\x1b[H"
_CLEAR_LINE: Final = "\x1b[K"
_CLEAR_BELOW: Final = "\x1b[J"

_KEPT: Final = 200
"""Lines of the story that can be drawn again, after the window was resized."""


class Painter:
    """Turns drawings into what a terminal is sent."""

    def __init__(self, console: Console) -> None:
        """Begin with nothing drawn."""
        self._console = console
        self._rows = 0
        self._story: deque[Text] = deque(maxlen=_KEPT)

    @property
    def width(self) -> int:
        """Columns of the live part: one less, or the cursor would hang over the edge."""
        return max(8, self._console.width - 1)

    @property
    def height(self) -> int:
        """Lines of the live part, at most."""
        return max(3, self._console.height - 1)

    def paint(self, story: Sequence[Text], frame: RenderableType | None) -> str:
        """Add to the story, and draw the live part beneath it."""
        self._story.extend(story)
        up = f"\r\x1b[{self._rows - 1}A" if self._rows > 1 else "\r"
        return up + self._below(story, frame)

    def repaint(self, frame: RenderableType) -> str:
        """Draw everything that fits, on a screen whose size has changed."""
        room = self._console.height - len(self._lines(frame))
        fitting: list[Text] = []
        for text in reversed(self._story):
            room -= len(self._wrapped(text))
            if room < 0:
                break
            fitting.insert(0, text)
        return _HOME + _CLEAR_BELOW + self._below(fitting, frame)

    def forget(self) -> None:
        """Leave what is drawn where it is, and go on below it."""
        self._rows = 0

    def _below(self, story: Sequence[Text], frame: RenderableType | None) -> str:
        told = [line + _CLEAR_LINE for text in story for line in self._wrapped(text)]
        drawn = self._lines(frame) if frame is not None else []
        self._rows = len(drawn)
        lines = [*told, *(line + _CLEAR_LINE for line in drawn)]
        # Without a frame the cursor goes to a line of its own, where the shell goes on.
        end = "" if drawn or not lines else "\r\n"
        return HIDE_CURSOR + "\r\n".join(lines) + end + _CLEAR_BELOW

    def _lines(self, frame: RenderableType) -> list[str]:
        with self._console.capture() as captured:
            self._console.print(frame, width=self.width, end="")
        return captured.get().removesuffix("\n").split("\n")

    def _wrapped(self, text: Text) -> list[str]:
        """Return a line of the story as the lines it takes, broken between words."""
        with self._console.capture() as captured:
            self._console.print(text, width=self.width, end="")
        return captured.get().split("\n")
