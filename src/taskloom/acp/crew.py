"""Orchestrate mode: the workers of one session, and how the client sees them."""

import asyncio
import logging
from pathlib import Path
from typing import Final

from taskloom.acp.board_feed import BoardFeed
from taskloom.acp.call_desk import CallDesk
from taskloom.acp.client import Client
from taskloom.acp.publisher import Send
from taskloom.acp.worker_view import SubagentView, ToolCallView, WorkerView
from taskloom.board import EventType, RunOutcome
from taskloom.ids import RunId
from taskloom.orchestra import Child, Happening, Listener, Orchestration, RunEvent, Said

SEPARATOR: Final = "."
"""Between a session's id and a run's in the id of a worker's own session."""

_LOG = logging.getLogger("taskloom.acp")


class Crew:
    """The workers of one session, from its first turn in orchestrate mode to its end."""

    def __init__(
        self, orchestra: Orchestration, feed: BoardFeed, client: Client, session_id: str, cwd: Path
    ) -> None:
        """Take an orchestration that is open."""
        self.orchestra = orchestra
        self._feed = feed
        self._client = client
        self._session_id = session_id
        self._cwd = cwd
        self._desks: dict[str, CallDesk] = {}
        self._views: set[asyncio.Task[None]] = set()
        self._listener: Listener[Happening] | None = None
        self._listening: asyncio.Task[None] | None = None

    def desk(self, worker: str) -> CallDesk:
        """Return where the calls of a worker are known; it does one run at a time."""
        if worker not in self._desks:
            self._desks[worker] = CallDesk(self._session_id, self._sender(self._session_id))
        return self._desks[worker]

    async def start(self) -> None:
        """Begin to show what workers do."""
        listener = self._listener = self.orchestra.listen()
        await listener.__aenter__()
        loop = asyncio.get_running_loop()
        self._listening = loop.create_task(self._listen(listener), name="taskloom workers")

    async def idle(self) -> None:
        """Return when nobody works any more, and all of it was shown."""
        while children := self.orchestra.dispatcher.under_way():
            await asyncio.gather(*(child.done.wait() for child in children))
        while self._views:
            await asyncio.gather(*self._views, return_exceptions=True)

    async def stop_work(self) -> None:
        """End every run: the person has cancelled, or the orchestrator has failed."""
        for child in self.orchestra.dispatcher.under_way():
            self.orchestra.dispatcher.stop(child, RunOutcome.CANCELLED, "the turn was ended")
        await self.idle()

    def stop_one(self, run_id: RunId) -> None:
        """End one run that the person cancelled."""
        self.orchestra.stop_worker(run_id, "the person cancelled it")

    async def close(self) -> None:
        """Stop showing."""
        tasks = [*self._views, *([self._listening] if self._listening else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._listener is not None:
            await self._listener.__aexit__(None, None, None)

    async def _listen(self, listener: Listener[Happening]) -> None:
        async for happening in listener:
            if happening.event_type == EventType.TASK_CREATED.value:
                self._feed.look()
            elif happening.event_type == RunEvent.CHILD_CREATED.value:
                child = self.orchestra.dispatcher.children.get(happening.run_id or "")
                if child is not None:
                    view = asyncio.get_running_loop().create_task(self._show(child))
                    self._views.add(view)
                    view.add_done_callback(self._views.discard)

    async def _show(self, child: Child) -> None:
        said = self.orchestra.hub.stream(child.run_id)
        ending = asyncio.get_running_loop().create_task(_close_at_end(child, said))
        try:
            view = self._view(child)
            await view.begin()
            async with said:
                async for one in said:
                    await view.tell(one)
            await child.done.wait()
            await view.end()
        except OSError as error:
            _LOG.warning("a worker can no longer be shown: %s", error)
        finally:
            ending.cancel()

    def _view(self, child: Child) -> WorkerView:
        desk, send = self.desk(child.agent_id), self._sender(self._session_id)
        if not self._client.has("subagents"):
            return ToolCallView(child, desk, send, self._cwd)
        own = f"{self._session_id}{SEPARATOR}{child.run_id}"
        send_own = self._sender(own)
        desk.move(own, send_own)
        return SubagentView(child, desk, send, send_own, self._cwd)

    def _sender(self, session_id: str) -> Send:
        async def send(update: dict[str, object]) -> None:
            await self._client.update(session_id, update)

        return send


async def _close_at_end(child: Child, said: Listener[Said]) -> None:
    """Let a listener end with its run, even if the run said nothing at all."""
    await child.done.wait()
    said.close()
