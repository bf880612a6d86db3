"""From a run to its one reader: in order, bounded, and deaf once the reader has left.

A writer waits while `EVENTS_MAX` events are unread, so a slow reader slows the run down
instead of filling memory. Both sides live on one event loop.
"""

import asyncio
from collections import deque
from typing import Final

from taskloom.agent.events import Event

EVENTS_MAX: Final = 64
"""Enough that reader and run rarely wait for each other, small enough to be no memory."""


class Channel:
    """`send` and `finish` on the run's side, `receive` and `leave` on the reader's."""

    def __init__(self, bound: int = EVENTS_MAX) -> None:
        """Start open and empty."""
        self._bound = bound
        self._events: deque[Event] = deque()
        self._reader: asyncio.Future[None] | None = None
        self._writers: deque[asyncio.Future[None]] = deque()
        self._finished = False
        self._left = False

    async def send(self, event: Event) -> None:
        """Hand over an event; wait while the reader is too far behind."""
        while len(self._events) >= self._bound and not self._left:
            await self._wait_for_room()
        if self._left:
            # Nobody waits here any more: let the cancellation in that follows a reader's leaving.
            await asyncio.sleep(0)
            return
        self._events.append(event)
        if self._reader is not None:
            _wake(self._reader)

    async def _wait_for_room(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._writers.append(turn)
        try:
            await turn
        except BaseException:
            # Woken and cancelled at once: the room goes to the next in line.
            if turn.done() and not turn.cancelled():
                self._wake_writer()
            raise

    def finish(self) -> None:
        """Say that no more events will come."""
        self._finished = True
        if self._reader is not None:
            _wake(self._reader)

    async def receive(self) -> Event | None:
        """Return the next event; None after the last."""
        while not self._events:
            if self._finished:
                return None
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        event = self._events.popleft()
        self._wake_writer()
        return event

    def leave(self) -> None:
        """Stop listening: what is sent from now on is dropped."""
        self._left = True
        self._events.clear()
        while self._writers:
            _wake(self._writers.popleft())

    def _wake_writer(self) -> None:
        while self._writers:
            if _wake(self._writers.popleft()):
                return


def _wake(waiting: asyncio.Future[None]) -> bool:
    if waiting.done():
        return False
    waiting.set_result(None)
    return True
