"""A timer that a test advances, and a wire that keeps what was sent."""

import asyncio
from collections.abc import Callable
from typing import Any


class ManualCall:
    """One call that is due at some time."""

    def __init__(self, at: float, callback: Callable[[], None]) -> None:
        self.at = at
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class ManualTimer:
    """Time stands still until `advance`."""

    def __init__(self) -> None:
        self.now = 100.0
        self._calls: list[ManualCall] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[[], None], /) -> ManualCall:
        alarm = ManualCall(self.now + delay, callback)
        self._calls.append(alarm)
        return alarm

    async def advance(self, seconds: float) -> None:
        """Move the time on, ringing what is due on the way, and let what was rung run."""
        end = self.now + seconds
        while True:
            due = [alarm for alarm in self._calls if alarm.at <= end and not alarm.cancelled]
            if not due:
                break
            first = min(due, key=lambda alarm: alarm.at)
            self._calls.remove(first)
            self.now = max(self.now, first.at)
            first.callback()
            await settle()
        self.now = end
        await settle()


async def settle() -> None:
    """Let every task that can go on do so."""
    for _ in range(10):
        await asyncio.sleep(0)


class Wire:
    """Keeps every update with the time it was sent at."""

    def __init__(self, timer: ManualTimer | None = None) -> None:
        self.updates: list[dict[str, Any]] = []
        self.at: list[float] = []
        self.broken = False
        self._timer = timer

    async def send(self, update: dict[str, Any]) -> None:
        await asyncio.sleep(0)
        if self.broken:
            raise ConnectionError("the client is gone")
        self.updates.append(update)
        if self._timer is not None:
            self.at.append(self._timer.now)

    def take(self) -> list[dict[str, Any]]:
        """Return what was sent since the last time."""
        taken, self.updates = self.updates, []
        return taken
