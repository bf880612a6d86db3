"""Waiting for the next change of a Task, whoever makes it."""

from asyncio import Event, get_running_loop
from collections.abc import Callable
from types import TracebackType
from typing import Self

import anyio

from taskloom.runtime.desk import Desk


class Watch:
    """Wakes its owner after every durable change of one Task. Use it with `async with`.

    A change by this process wakes at once; one by another process shows when the owner looks
    again after `look_s`.
    """

    def __init__(self, desk: Desk, look_s: float) -> None:
        """Name the Task's desk."""
        self._desk = desk
        self._look_s = look_s
        self._changed = Event()
        self._stop: Callable[[], None] | None = None

    async def __aenter__(self) -> Self:
        """Begin to listen."""
        loop, changed = get_running_loop(), self._changed

        def wake() -> None:
            loop.call_soon_threadsafe(changed.set)

        self._stop = self._desk.listen(wake)
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

    def reset(self) -> None:
        """Forget the changes so far: call it before looking, so that none is missed after."""
        self._changed.clear()

    async def wait(self) -> None:
        """Return at the next change since `reset`, or when it is time to look anyway."""
        with anyio.move_on_after(self._look_s):
            await self._changed.wait()

    def wake(self) -> None:
        """Wake the owner for another reason."""
        self._changed.set()
