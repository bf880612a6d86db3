"""Writing to a terminal or a pipe that may be slow, full, or closed.

A thread writes, so that workers never wait for a slow reader. After the first failure nothing more
is written. The thread is a daemon, so that a reader that has stopped reading cannot keep the
program from exiting.
"""

import asyncio
import os
import select
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Final

_GRACE_S: Final = 0.5
"""What a slow reader still gets when the user forces the exit."""


class OutputWriter:
    """Writes texts to one file descriptor, in order. Use it from one event loop."""

    def __init__(self, fd: int, on_lost: Callable[[], None]) -> None:
        """Write to `fd`; `on_lost` is called when that is no longer possible."""
        self._fd = fd
        self._on_lost = on_lost
        self._texts: SimpleQueue[str | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._loop = asyncio.get_running_loop()
        self._written: asyncio.Future[None] | None = None
        self._then: Callable[[], None] | None = None
        self.is_lost = False

    async def write(self, text: str, then: Callable[[], None] | None = None) -> None:
        """Write all of the text, then call `then`; return early if the reader is lost."""
        if self.is_lost or not text:
            return
        if self._thread is None:
            self._thread = Thread(target=self._write_texts, name="taskloom output", daemon=True)
            self._thread.start()
        self._written, self._then = self._loop.create_future(), then
        self._texts.put(text)
        await self._written

    def close(self) -> None:
        """End the thread."""
        self._texts.put(None)

    def give_up_soon(self) -> None:
        """Give up on the current text if its reader does not take it within a moment."""
        pending = self._written
        if pending is not None and not pending.done():
            self._loop.call_later(_GRACE_S, lambda: None if pending.done() else self._lose())

    def _lose(self) -> None:
        if not self.is_lost:
            self.is_lost = True
            self._finish()
            self._on_lost()

    def _finish(self) -> None:
        then, self._then = self._then, None
        if then is not None and not self.is_lost:
            then()
        if self._written is not None and not self._written.done():
            self._written.set_result(None)

    def _write_texts(self) -> None:
        while (text := self._texts.get()) is not None:
            try:
                write_all(self._fd, text)
                callback = self._finish
            except OSError:
                callback = self._lose
            with suppress(RuntimeError):  # The loop is closed, so no caller waits.
                self._loop.call_soon_threadsafe(callback)


def write_all(fd: int, text: str) -> None:
    """Write a whole text, in as many pieces as it takes.

    Raises:
        OSError: the other end is closed.
    """
    view = memoryview(text.encode("utf-8", "replace"))
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:  # Another program made the shared terminal non-blocking.
            select.select([], [fd], [], 1.0)
