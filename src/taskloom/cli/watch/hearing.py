"""Everything that happens and is said in a run, taken in turns by whoever shows it."""

from collections.abc import Iterator
from typing import Final

import anyio

from taskloom.app.host import ORCHESTRATOR, Host
from taskloom.board import Actor
from taskloom.errors import TaskloomError
from taskloom.ids import RunId, Seq, TaskId
from taskloom.orchestra import Happening, Listener, Said

_REST_S: Final = 2.0
"""How long after the end the last lines of the logs may take."""

TICK_S: Final = 0.1
"""How often somebody looks: quick for an eye, next to nothing for a machine."""


def looker(host: Host) -> Actor:
    """Return who looks at a host's board."""
    return host.board.orchestrator(host.orchestra.agent_id, run_id="run_host")


class Story:
    """What happens on the board and with workers."""

    def __init__(self, host: Host, listener: Listener[Happening]) -> None:
        """Take a listener that listens already."""
        self._host = host
        self._listener = listener
        self._seqs: dict[TaskId, Seq] = {}

    def take(self) -> list[Happening]:
        """Return what happened since the last time."""
        return [self._note(each) for each in self._listener.take()]

    async def rest(self) -> list[Happening]:
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

    def _note(self, happening: Happening) -> Happening:
        if happening.task_id is not None and happening.wal_seq is not None:
            self._seqs[happening.task_id] = happening.wal_seq
        return happening


class Voices:
    """What the Orchestrator and the workers say."""

    def __init__(self, host: Host) -> None:
        """Begin with nobody listened to."""
        self._orchestra = host.orchestra
        # Before the first word: what a stream that has not begun is told is for nobody.
        self._orchestra.hub.begin(ORCHESTRATOR)
        self._listeners: dict[RunId, Listener[Said]] = {}
        self._over: set[RunId] = set()

    async def take(self) -> list[tuple[RunId, Said]]:
        """Return what was said since the last time, by each in order."""
        for run_id in self._new():
            listener = self._listeners[run_id] = self._orchestra.hub.stream(run_id)
            await listener.__aenter__()
        children = self._orchestra.dispatcher.children
        found: list[tuple[RunId, Said]] = []
        for run_id, listener in list(self._listeners.items()):
            child = children.get(run_id)
            is_over = run_id != ORCHESTRATOR and (child is None or child.is_over)
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
        children = self._orchestra.dispatcher.children
        self._over &= children.keys()
        for run_id in list(children):
            if run_id not in self._listeners and run_id not in self._over:
                yield run_id

    async def _let_go(self, run_id: RunId) -> None:
        await self._listeners.pop(run_id).__aexit__(None, None, None)
        self._over.add(run_id)
