"""Waiting for the next change of a Task, on an event loop or on a thread.

A change by this process wakes at once. One by another process shows when the owner looks again,
so `wait` returns after `look_s` at the latest.
"""

from asyncio import Event, get_running_loop
from collections.abc import Callable
from threading import Condition, get_ident
from types import TracebackType
from typing import Self

import anyio

from taskloom.runtime.task_writer import TaskWriter


class ChangeSignal:
    """Wakes its owners after every durable change of one Task. Use it with `async with`."""

    def __init__(self, writer: TaskWriter, look_s: float) -> None:
        """Wait for the changes of one writer's Task."""
        self._writer = writer
        self._look_s = look_s
        self._changed = Event()
        self._changes = 0
        self._stop: Callable[[], None] | None = None

    async def __aenter__(self) -> Self:
        """Begin to listen."""
        loop, here = get_running_loop(), get_ident()

        def wake() -> None:
            if get_ident() == here:
                self.wake()
            else:
                loop.call_soon_threadsafe(self.wake)

        self._stop = self._writer.listen(wake)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop listening."""
        if self._stop is not None:
            self._stop()

    def reset(self) -> int:
        """Return how many changes there were: call it before looking, and wait for more."""
        return self._changes

    async def wait(self, since: int) -> None:
        """Return when there are more changes than at `reset`, or when it is time to look anyway."""
        if self._changes == since:
            with anyio.move_on_after(self._look_s):
                await self._changed.wait()

    def wake(self) -> None:
        """Wake everyone who waits, for a change or another reason."""
        self._changes += 1
        changed, self._changed = self._changed, Event()
        changed.set()


class SyncChangeSignal:
    """The same for threads. Use it with `with`."""

    def __init__(self, writer: TaskWriter, look_s: float) -> None:
        """Wait for the changes of one writer's Task."""
        self._writer = writer
        self._look_s = look_s
        self._condition = Condition()
        self._changes = 0
        self._stop: Callable[[], None] | None = None

    def __enter__(self) -> Self:
        """Begin to listen."""
        self._stop = self._writer.listen(self.wake)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop listening."""
        if self._stop is not None:
            self._stop()

    def reset(self) -> int:
        """Return how many changes there were: call it before looking, and wait for more."""
        return self._changes

    def wait(self, since: int) -> None:
        """Return when there are more changes than at `reset`, or when it is time to look anyway."""
        with self._condition:
            if self._changes == since:
                self._condition.wait(self._look_s)

    def wake(self) -> None:
        """Wake everyone who waits, for a change or another reason."""
        with self._condition:
            self._changes += 1
            self._condition.notify_all()
