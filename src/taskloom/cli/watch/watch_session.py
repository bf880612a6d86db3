"""What every way of watching needs: what happens, what is said, where to write, how to leave."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from taskloom.agent import Result
from taskloom.app.session_host import Host
from taskloom.cli.watch.event_source import TICK_S, BoardEvents, RunStreams
from taskloom.cli.watch.shutdown import Shutdown, Work
from taskloom.cli.watch.terminal_output import Output
from taskloom.ids import RunId
from taskloom.orchestrator import RunOutput, SessionEvent


class Watching(NamedTuple):
    """One run being watched."""

    leaving: Shutdown
    output: Output
    story: BoardEvents
    voices: RunStreams

    async def tell(
        self,
        work: Work,
        opening: str,
        telling: Callable[[list[SessionEvent], list[tuple[RunId, RunOutput]]], str],
    ) -> Result:
        """Do the work, and write what `telling` makes of all that comes, until it has ended."""
        task = self.leaving.begin(work)
        await self.output.write(opening)
        while not task.done():
            await asyncio.wait([task], timeout=TICK_S)
            told = await self.story.rest() if task.done() else self.story.take()
            await self.output.write(telling(told, await self.voices.take()))
        return self.result(task)

    def result(self, task: "asyncio.Task[Result]") -> Result:
        """Return how the work ended.

        Raises:
            KeyboardInterrupt: it was not given the time to end.
        """
        if task.cancelled():
            raise KeyboardInterrupt
        return task.result()


@asynccontextmanager
async def watching(host: Host, fd: int) -> AsyncGenerator[Watching]:
    """Watch a host, and write to a descriptor. If whoever shows it fails, the work is left."""
    leaving = Shutdown(host)
    output = Output(fd, leaving.lose)
    leaving.on_hurry = output.hurry
    voices = RunStreams(host)
    try:
        with leaving.on_signals():
            async with host.orchestrator.events() as listener:
                yield Watching(leaving, output, BoardEvents(host, listener), voices)
    finally:
        await leaving.close()
        await voices.close()
        output.close()
