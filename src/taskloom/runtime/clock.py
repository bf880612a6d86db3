"""What time it is, as an argument."""

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time. Leases and `created_at` come from it and from nowhere else."""

    def now(self) -> datetime:
        """Return the moment, in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Ask the machine."""
        return datetime.now(UTC)
