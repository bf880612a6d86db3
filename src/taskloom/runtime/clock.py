"""What time it is, as an argument; and the time of a log, which never runs back."""

from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

_NO_TIME: Final = timedelta(0)


class Clock(Protocol):
    """Tells the time. Leases and `created_at` come from it and from nowhere else."""

    def now(self) -> datetime:
        """Return the moment, in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the moment, in UTC."""
        return datetime.now(UTC)


class MonotonicClock:
    """The moments that one process gives to the lines of one log: never before the last one."""

    def __init__(self, clock: Clock) -> None:
        """Follow a clock that may be set back."""
        self._clock = clock
        self._latest = datetime.min.replace(tzinfo=UTC)
        self._ahead = _NO_TIME
        """How far the log's time is ahead of a clock that was set back."""

    def now(self, not_before: datetime) -> datetime:
        """Return the moment; `not_before` is that of the log's last line."""
        moment = self._clock.now()
        if moment < not_before or moment < self._latest:
            # The clock was set back, or another process's was ahead: time continues from there.
            self._ahead = max(self._ahead, max(self._latest, not_before) - moment)
            moment += self._ahead
        else:
            self._ahead = _NO_TIME
        self._latest = moment
        return moment
