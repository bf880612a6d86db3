"""A clock that moves when it is told to."""

from datetime import UTC, datetime, timedelta
from typing import Final

EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""When a `FakeClock` begins, unless told otherwise."""


class FakeClock:
    """Stands still until it is moved, forward or backward."""

    def __init__(self, start: datetime = EPOCH) -> None:
        """Begin at a moment."""
        self._now = start

    def now(self) -> datetime:
        """Return the moment it was last moved to."""
        return self._now

    def move(self, by: timedelta | float) -> None:
        """Move by a stretch of time, or by seconds; a negative one is a clock set back."""
        self._now += by if isinstance(by, timedelta) else timedelta(seconds=by)
