"""A lock for async code that holds between tasks, event loops and threads of one process.

`anyio.Lock` belongs to one loop. A plan or a directory can be shared by runs on several, so the
waiting list stands here, behind a plain mutex that is only ever held for a few instructions.
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
    """Lets one through at a time, in the order they came. Use it with `async with`."""

    def __init__(self) -> None:
        """Open."""
        self._mutex = threading.Lock()
        self._held = False
        self._waiting: deque[_Waiter] = deque()

    async def __aenter__(self) -> None:
        """Wait for one's turn; a cancelled wait leaves the gate as it was."""
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
        """Let the next one through."""
        with self._mutex:
            self._pass_on()

    def _pass_on(self) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            waiter.granted = True
            try:
                waiter.loop.call_soon_threadsafe(waiter.wake)
            except RuntimeError:
                continue  # Its loop was closed, and nobody waits there any more.
            return
        self._held = False
