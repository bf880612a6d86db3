"""Which thread the next sync of a log runs on: the event loop's own, or another.

On a quick disk a sync takes about as long as handing it to a thread and back, so the event loop
does it itself. A slow sync would hold the loop up: after one, the next few go to a thread. See
docs/design/decisions/0003.
"""

from typing import Final

QUICK_S: Final = 0.002
"""A sync that takes longer is too slow for an event loop's thread."""

SLOW_SYNCS: Final = 16
"""How many syncs go to a thread after a slow one, before the event loop tries again itself."""


class SyncPolicy:
    """The state of that choice for one log and one event loop."""

    __slots__ = ("_in_thread",)

    def __init__(self) -> None:
        """Begin with a sync on the event loop's thread."""
        self._in_thread = 0

    @property
    def is_inline(self) -> bool:
        """Whether the next sync runs on the event loop's thread."""
        return self._in_thread == 0

    def note_inline(self, seconds: float) -> None:
        """Note how long a sync on the event loop's thread took."""
        if seconds > QUICK_S:
            self._in_thread = SLOW_SYNCS

    def note_threaded(self) -> None:
        """Note that a sync was given to a thread."""
        self._in_thread = max(0, self._in_thread - 1)
