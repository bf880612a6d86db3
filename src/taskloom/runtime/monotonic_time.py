"""What time it is in a log: the clock's time, but it never stands still and never runs back."""

from datetime import UTC, datetime, timedelta
from typing import Final

from taskloom.runtime.clock import Clock

_NO_TIME: Final = timedelta(0)


class MonotonicTime:
    """The moments that one process gives to one log."""

    def __init__(self, clock: Clock) -> None:
        """Follow this clock as far as it can be followed."""
        self._clock = clock
        self._latest = datetime.min.replace(tzinfo=UTC)
        self._ahead = _NO_TIME
        """How far the log's time is ahead of a clock that was set back."""

    def now(self, not_before: datetime) -> datetime:
        """Return the moment; `not_before` is that of the log's last line."""
        moment = self._clock.now()
        floor = max(self._latest, not_before)
        if moment < floor:
            # The clock was set back, or another's was ahead. Time goes on from where it was.
            self._ahead = max(self._ahead, floor - moment)
            moment += self._ahead
        else:
            self._ahead = _NO_TIME
        self._latest = moment
        return moment
