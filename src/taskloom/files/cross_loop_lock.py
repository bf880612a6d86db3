"""An async lock between the tasks, event loops and threads of one process.

`anyio.Lock` belongs to one event loop, but runs on several loops can share a plan or a directory.
The list of waiters is guarded by a mutex that is held for a few instructions only.
"""

import asyncio
import threading
from collections import deque
from types import TracebackType


class _Waiter:
    __slots__ = ("future", "granted", "loop")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[None] = self.loop.create_future()
        self.granted = False

    def wake(self) -> None:
        if not self.future.done():
            self.future.set_result(None)


class CrossLoopLock:
    """A fair async lock, used with `async with`."""

    def __init__(self) -> None:
        """Create the lock, unlocked."""
        self._mutex = threading.Lock()
        self._held = False
        self._waiting: deque[_Waiter] = deque()

    async def __aenter__(self) -> None:
        """Acquire the lock; a cancelled wait leaves it unchanged."""
        with self._mutex:
            if not self._held:
                self._held = True
                return
            waiter = _Waiter()
            self._waiting.append(waiter)
        try:
            await waiter.future
        except BaseException:
            with self._mutex:
                if waiter.granted:
                    self._pass_on()
                else:
                    self._waiting.remove(waiter)
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Pass the lock to the next waiter, or release it."""
        with self._mutex:
            self._pass_on()

    def _pass_on(self) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            waiter.granted = True
            try:
                waiter.loop.call_soon_threadsafe(waiter.wake)
            except RuntimeError:
                continue  # Its loop is closed, so the waiter is gone.
            return
        self._held = False
