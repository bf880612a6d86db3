"""Stopping a run before its end without losing anything.

The first request ends the Orchestrator's run where it is and asks the workers to stop; their steps
return to ready. The second does not wait for workers to finish what they do.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeAlias

from taskloom.agent import Result
from taskloom.app.session_host import Host

Work: TypeAlias = Callable[[], Awaitable[Result]]

_CLOSE_TIMEOUT_S: Final = 5
"""For the work of a watcher that has failed."""

_REASON: Final = "the user quit"


class Shutdown:
    """The work of one run, and whether it is to stop."""

    def __init__(self, host: Host) -> None:
        """Watch over the work of a host; nothing runs yet."""
        self._host = host
        self._work: asyncio.Task[Result] | None = None
        self.is_requested = False
        self.is_forced = False
        self.on_force: Callable[[], None] | None = None
        """Called when not even a slow reader of the output is waited for."""

    def start(self, work: Work) -> "asyncio.Task[Result]":
        """Start the work."""
        self._work = asyncio.ensure_future(self._run(work))
        return self._work

    def request(self) -> None:
        """Stop the run; the second request forces it."""
        if self.is_requested:
            self.force()
            return
        self.is_requested = True
        self._host.quit()
        self._stop_workers(now=False)

    def request_once(self) -> None:
        """Stop the run, for a reason that does not force it: a lost terminal, SIGTERM."""
        if not self.is_requested:
            self.request()

    def force(self) -> None:
        """Cancel the workers where they are; the board still records their end."""
        if self.is_forced and self._work is not None:
            self._work.cancel()  # The journal ends in the middle; the next host resumes it.
        self.is_forced = True
        if self.on_force is not None:
            self.on_force()
        self._stop_workers(now=True)

    def _stop_workers(self, *, now: bool) -> None:
        for run in self._host.orchestrator.runs(include_ended=False):
            self._host.orchestrator.stop(run.run_id, _REASON, now=now)

    @property
    def active_workers(self) -> int:
        """How many workers have not stopped yet."""
        return len(self._host.orchestrator.runs(include_ended=False))

    async def _run(self, work: Work) -> Result:
        result = await work()
        if self.is_requested:
            await self._host.orchestrator.wait_idle()
        return result

    async def close(self) -> None:
        """Stop the work if it still runs, because its watcher has failed."""
        task = self._work
        if task is None or task.done():
            return
        self.request_once()
        if not self.is_forced:
            self.force()
        with suppress(asyncio.CancelledError):
            await asyncio.shield(asyncio.wait([task], timeout=_CLOSE_TIMEOUT_S))
        if not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=_CLOSE_TIMEOUT_S)

    @contextmanager
    def on_signals(self) -> Generator[None]:
        """Stop the run on SIGINT, SIGTERM and SIGHUP, inside the block."""
        handlers = {
            signal.SIGINT: self.request,
            signal.SIGTERM: self.request_once,
            signal.SIGHUP: self.request_once,
        }
        with signal_handlers(handlers):
            yield


@contextmanager
def signal_handlers(handlers: Mapping[signal.Signals, Callable[[], None]]) -> Generator[None]:
    """Install signal handlers inside the block, and restore the previous ones after it."""
    loop = asyncio.get_running_loop()
    previous: dict[signal.Signals, Any] = {}
    try:
        for number, handler in handlers.items():
            current = signal.getsignal(number)
            if current is signal.SIG_IGN:
                continue  # The parent process wants it ignored: nohup, for example.
            # Only the main thread may install handlers; elsewhere signals are left alone.
            with suppress(ValueError, RuntimeError):
                loop.add_signal_handler(number, handler)
                previous[number] = current
        yield
    finally:
        for number, handler in previous.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
