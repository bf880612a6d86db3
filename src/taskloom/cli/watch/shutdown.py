"""Leaving a run before its end: first politely, then at once, and never with anything lost.

The first wish to leave lets the Orchestrator's turn end where it is and calls the workers back;
their steps can be taken again. The second does not wait for workers that finish what they do.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final, TypeAlias

from taskloom.agent import Result
from taskloom.app.session_host import Host

Work: TypeAlias = Callable[[], Awaitable[Result]]

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_PATIENCE_S: Final = 5
"""For work whose watcher has failed."""

_REASON: Final = "the person who watches is leaving"


class Shutdown:
    """One run, and the wish to leave it."""

    def __init__(self, host: Host) -> None:
        """Take the host; nothing runs yet."""
        self._host = host
        self._work: asyncio.Task[Result] | None = None
        self.is_wanted = False
        self.is_urgent = False
        self.on_hurry: Callable[[], None] | None = None
        """Told when even a reader that has stopped reading must not be waited for."""

    def begin(self, work: Work) -> "asyncio.Task[Result]":
        """Start the work."""
        self._work = asyncio.ensure_future(self._to_the_end(work))
        return self._work

    def leave(self) -> None:
        """End what is under way; asked for again, at once."""
        if self.is_wanted:
            self.hurry()
            return
        self.is_wanted = True
        self._host.quit()
        for run in self._host.orchestrator.runs(include_ended=False):
            self._host.orchestrator.stop(run.run_id, _REASON)

    def lose(self) -> None:
        """Leave because there is nobody to show anything to; that is no hurry."""
        if not self.is_wanted:
            self.leave()

    def hurry(self) -> None:
        """Cancel the workers where they are; their ends are still written."""
        if self.is_urgent and self._work is not None:
            self._work.cancel()  # Not even its turn ends; the next host finds it cut short.
        self.is_urgent = True
        if self.on_hurry is not None:
            self.on_hurry()
        for run in self._host.orchestrator.runs(include_ended=False):
            self._host.orchestrator.stop(run.run_id, _REASON, now=True)

    @property
    def held_up_by(self) -> int:
        """How many workers have not stopped yet."""
        return len(self._host.orchestrator.runs(include_ended=False))

    async def _to_the_end(self, work: Work) -> Result:
        result = await work()
        if self.is_wanted:
            await self._host.orchestrator.wait_idle()
        return result

    async def close(self) -> None:
        """Let the work end, if whoever shows it has failed."""
        task = self._work
        if task is None or task.done():
            return
        self.lose()
        if not self.is_urgent:
            self.hurry()
        with suppress(asyncio.CancelledError):
            await asyncio.shield(asyncio.wait([task], timeout=_PATIENCE_S))
        if not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=_PATIENCE_S)

    @contextmanager
    def on_signals(self) -> Generator[None]:
        """Leave when the terminal or the system asks for it, inside the block."""
        with handling({number: partial(self._heard, number) for number in _SIGNALS}):
            yield

    def _heard(self, number: signal.Signals) -> None:
        if number == signal.SIGINT:
            self.leave()
        else:
            self.lose()


@contextmanager
def handling(handlers: Mapping[signal.Signals, Callable[[], None]]) -> Generator[None]:
    """Call these when a signal comes, inside the block; afterwards all is as it was."""
    loop = asyncio.get_running_loop()
    before: dict[signal.Signals, Any] = {}
    try:
        for number, handler in handlers.items():
            was = signal.getsignal(number)
            if was is signal.SIG_IGN:
                continue  # Whoever started this wanted it so: nohup, for example.
            # Only the main thread may; elsewhere signals are somebody else's.
            with suppress(ValueError, RuntimeError):
                loop.add_signal_handler(number, handler)
                before[number] = was
        yield
    finally:
        for number, was in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, was if was is not None else signal.SIG_DFL)
