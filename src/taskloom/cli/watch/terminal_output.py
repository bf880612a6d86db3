"""Writing to a terminal or a pipe that may be slow, full, or gone.

A thread does it: nobody who works waits for somebody who watches. Once it failed nothing more is
written, and whoever writes is told. The thread is a daemon, so that a reader who has stopped
reading cannot keep a program from ending.
"""

import asyncio
import os
import select
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Final

_HURRY_S: Final = 0.5
"""What a reader that is only slow is still given when somebody cannot wait."""


class Output:
    """One file descriptor, written to in order. Use it from one event loop."""

    def __init__(self, fd: int, on_lost: Callable[[], None]) -> None:
        """Take the descriptor, and what to do once it cannot be written to."""
        self._fd = fd
        self._on_lost = on_lost
        self._texts: SimpleQueue[str | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._loop = asyncio.get_running_loop()
        self._written: asyncio.Future[None] | None = None
        self._then: Callable[[], None] | None = None
        self.is_lost = False

    async def write(self, text: str, then: Callable[[], None] | None = None) -> None:
        """Write all of it, and call `then` at once; or find out that nobody reads."""
        if self.is_lost or not text:
            return
        if self._thread is None:
            self._thread = Thread(target=self._write_on, name="taskloom output", daemon=True)
            self._thread.start()
        self._written, self._then = self._loop.create_future(), then
        self._texts.put(text)
        await self._written

    def close(self) -> None:
        """Let the thread end."""
        self._texts.put(None)

    def hurry(self) -> None:
        """Give up soon on what is being written, if its reader does not take it."""
        pending = self._written
        if pending is not None and not pending.done():
            self._loop.call_later(_HURRY_S, lambda: None if pending.done() else self.lose())

    def lose(self) -> None:
        """Write nothing more, and wait for nothing."""
        if self.is_lost:
            return
        self.is_lost = True
        self._settle()
        self._on_lost()

    def _settle(self) -> None:
        then, self._then = self._then, None
        if then is not None and not self.is_lost:
            then()
        if self._written is not None and not self._written.done():
            self._written.set_result(None)

    def _write_on(self) -> None:
        """Write what comes, in the thread."""
        while (text := self._texts.get()) is not None:
            try:
                write_all(self._fd, text)
                told = self._settle
            except OSError:
                told = self.lose
            with suppress(RuntimeError):  # The loop is gone, and so is everybody who waited.
                self._loop.call_soon_threadsafe(told)


def write_all(fd: int, text: str) -> None:
    """Write a text, however many pieces that takes.

    Raises:
        OSError: nobody can read it any more.
    """
    view = memoryview(text.encode("utf-8", "replace"))
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:  # Somebody who shares the terminal made it non-blocking.
            select.select([], [fd], [], 1.0)
