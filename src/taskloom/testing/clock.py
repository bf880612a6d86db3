"""A clock that tests set."""

from datetime import UTC, datetime, timedelta
from typing import Final

EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""The default start of a `FakeClock`."""


class FakeClock:
    """A clock that does not move by itself."""

    def __init__(self, start: datetime = EPOCH) -> None:
        """Set the start."""
        self._now = start

    def now(self) -> datetime:
        """Return the current time of this clock."""
        return self._now

    def move(self, by: timedelta | float) -> None:
        """Move by a timedelta or seconds; a negative value moves it back."""
        self._now += by if isinstance(by, timedelta) else timedelta(seconds=by)
