"""What every watcher of a run uses: its events, its output, where to write, how to shut down."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple, TypeAlias

import anyio

from taskloom.agent import Result
from taskloom.app.session_host import Host
from taskloom.board import Actor
from taskloom.cli.watch.shutdown import Shutdown, Work
from taskloom.cli.watch.terminal_output import OutputWriter
from taskloom.errors import TaskloomError
from taskloom.ids import RunId, Seq, TaskId
from taskloom.orchestrator import ORCHESTRATOR, Listener, RunOutput, SessionEvent

TICK_S: Final = 0.1
"""How often watchers look for news: fast for a person, cheap for a machine."""

_REST_S: Final = 2.0
"""How long after the end a watcher waits for the last events of the logs."""

OutputOfRun: TypeAlias = tuple[RunId, RunOutput]


def viewer(host: Host) -> Actor:
    """Return the actor that reads a host's board."""
    return host.board.orchestrator(host.orchestrator.agent_id, run_id="run_host")


class SessionEvents:
    """The events of a session, taken in batches."""

    def __init__(self, host: Host, listener: Listener[SessionEvent]) -> None:
        """Read from a listener that is open."""
        self._host = host
        self._listener = listener
        self._seqs: dict[TaskId, Seq] = {}

    def take(self) -> list[SessionEvent]:
        """Return the new events without waiting."""
        return [self._track(event) for event in self._listener.take()]

    async def take_rest(self) -> list[SessionEvent]:
        """Return the remaining events once the work is done, up to the last line of each log."""
        events = self.take()
        actor = viewer(self._host)
        with anyio.move_on_after(_REST_S):
            for task_id in list(self._seqs):
                try:
                    last = await self._host.board.read(task_id, lambda task: task.seq, actor)
                except TaskloomError:
                    continue
                while self._seqs[task_id] < last:
                    events.append(self._track(await anext(self._listener)))
        return events

    def _track(self, event: SessionEvent) -> SessionEvent:
        if event.task_id is not None and event.wal_seq is not None:
            self._seqs[event.task_id] = event.wal_seq
        return event


class RunOutputs:
    """The output of the Orchestrator and of every worker run, taken in batches."""

    def __init__(self, host: Host) -> None:
        """Read the runs of a host."""
        self._orchestrator = host.orchestrator
        self._listeners: dict[RunId, Listener[RunOutput]] = {}
        self._ended: set[RunId] = set()

    def take(self) -> list[OutputOfRun]:
        """Return the new output without waiting, in order for each run."""
        runs = {run.run_id: run.is_active for run in self._orchestrator.runs()}
        self._ended &= runs.keys()
        for run_id in (ORCHESTRATOR, *runs):
            if run_id not in self._listeners and run_id not in self._ended:
                self._listeners[run_id] = self._orchestrator.output(run_id)
        found: list[OutputOfRun] = []
        for run_id, listener in list(self._listeners.items()):
            found += [(run_id, output) for output in listener.take()]
            if not runs.get(run_id, run_id == ORCHESTRATOR):
                self._ended.add(run_id)
                self._listeners.pop(run_id).close()
        return found

    def close(self) -> None:
        """Close the listeners."""
        for listener in self._listeners.values():
            listener.close()
        self._listeners.clear()


class WatchSession(NamedTuple):
    """One run that is watched."""

    shutdown: Shutdown
    writer: OutputWriter
    events: SessionEvents
    outputs: RunOutputs

    async def write_lines(
        self,
        work: Work,
        opening: str,
        render: Callable[[list[SessionEvent], list[OutputOfRun]], str],
    ) -> Result:
        """Do the work, and write what `render` returns for each batch until the work is done."""
        task = self.shutdown.start(work)
        await self.writer.write(opening)
        while not task.done():
            await asyncio.wait([task], timeout=TICK_S)
            events = await self.events.take_rest() if task.done() else self.events.take()
            await self.writer.write(render(events, self.outputs.take()))
        return self.result(task)

    def result(self, task: "asyncio.Task[Result]") -> Result:
        """Return the result of the work.

        Raises:
            KeyboardInterrupt: the user did not wait for the work to stop.
        """
        if task.cancelled():
            raise KeyboardInterrupt
        return task.result()


@asynccontextmanager
async def watch_session(host: Host, fd: int) -> AsyncGenerator[WatchSession]:
    """Watch a host and write to a descriptor; if the watcher fails, the work is stopped."""
    shutdown = Shutdown(host)
    writer = OutputWriter(fd, on_lost=shutdown.request_once)
    shutdown.on_force = writer.give_up_soon
    outputs = RunOutputs(host)
    try:
        with shutdown.on_signals():
            async with host.orchestrator.events() as listener:
                yield WatchSession(shutdown, writer, SessionEvents(host, listener), outputs)
    finally:
        await shutdown.close()
        outputs.close()
        writer.close()
