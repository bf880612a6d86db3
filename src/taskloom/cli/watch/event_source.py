"""Everything that happens and is said in a run, taken in turns by whoever shows it."""

from collections.abc import Iterator
from typing import Final

import anyio

from taskloom.app.session_host import Host
from taskloom.board import Actor
from taskloom.errors import TaskloomError
from taskloom.ids import RunId, Seq, TaskId
from taskloom.orchestrator import ORCHESTRATOR, Listener, RunOutput, SessionEvent

_REST_S: Final = 2.0
"""How long after the end the last lines of the logs may take."""

TICK_S: Final = 0.1
"""How often somebody looks: quick for an eye, next to nothing for a machine."""


def looker(host: Host) -> Actor:
    """Return who looks at a host's board."""
    return host.board.orchestrator(host.orchestrator.agent_id, run_id="run_host")


class BoardEvents:
    """What happens on the board and with workers."""

    def __init__(self, host: Host, listener: Listener[SessionEvent]) -> None:
        """Take a listener that listens already."""
        self._host = host
        self._listener = listener
        self._seqs: dict[TaskId, Seq] = {}

    def take(self) -> list[SessionEvent]:
        """Return what happened since the last time."""
        return [self._note(each) for each in self._listener.take()]

    async def rest(self) -> list[SessionEvent]:
        """Return what is left, once the work is done: up to the last line of every log."""
        found = self.take()
        actor = looker(self._host)
        with anyio.move_on_after(_REST_S):
            for task_id in list(self._seqs):
                try:
                    last = await self._host.board.read(task_id, lambda task: task.seq, actor)
                except TaskloomError:
                    continue
                while self._seqs[task_id] < last:
                    found.append(self._note(await anext(self._listener)))
        return found

    def _note(self, session_event: SessionEvent) -> SessionEvent:
        if session_event.task_id is not None and session_event.wal_seq is not None:
            self._seqs[session_event.task_id] = session_event.wal_seq
        return session_event


class RunStreams:
    """What the Orchestrator and the workers say."""

    def __init__(self, host: Host) -> None:
        """Begin with nobody listened to."""
        self._orchestra = host.orchestrator
        self._listeners: dict[RunId, Listener[RunOutput]] = {}
        self._over: set[RunId] = set()

    async def take(self) -> list[tuple[RunId, RunOutput]]:
        """Return what was said since the last time, by each in order."""
        for run_id in self._new():
            self._listeners[run_id] = self._orchestra.output(run_id)
        active = {run.run_id for run in self._orchestra.runs(include_ended=False)}
        found: list[tuple[RunId, RunOutput]] = []
        for run_id, listener in list(self._listeners.items()):
            is_over = run_id != ORCHESTRATOR and run_id not in active
            found += [(run_id, said) for said in listener.take()]
            if is_over:
                await self._let_go(run_id)
        return found

    async def close(self) -> None:
        """Listen to nobody any more."""
        for run_id in list(self._listeners):
            await self._let_go(run_id)

    def _new(self) -> Iterator[RunId]:
        if ORCHESTRATOR not in self._listeners:
            yield ORCHESTRATOR
        run_ids = [run.run_id for run in self._orchestra.runs()]
        self._over &= set(run_ids)
        for run_id in run_ids:
            if run_id not in self._listeners and run_id not in self._over:
                yield run_id

    async def _let_go(self, run_id: RunId) -> None:
        self._listeners.pop(run_id).close()
        self._over.add(run_id)
