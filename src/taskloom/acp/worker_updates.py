"""Orchestrate mode: the workers of one session, and how the client sees them."""

import asyncio
import logging
from pathlib import Path
from typing import Final

from taskloom.acp.client import Client
from taskloom.acp.plans.board_feed import BoardFeed
from taskloom.acp.plans.publisher import Send
from taskloom.acp.tool_call_tracker import ToolCallTracker
from taskloom.acp.worker_view import SubagentView, ToolCallView, WorkerView
from taskloom.board import EventType
from taskloom.ids import RunId
from taskloom.orchestrator import Listener, Orchestrator, RunEvent, RunInfo, SessionEvent

SEPARATOR: Final = "."
"""Between a session's id and a run's in the id of a worker's own session."""

_LOG = logging.getLogger("taskloom.acp")


class WorkerUpdates:
    """The workers of one session, from its first turn in orchestrate mode to its end."""

    def __init__(
        self,
        orchestrator: Orchestrator,
        feed: BoardFeed,
        client: Client,
        session_id: str,
        cwd: Path,
    ) -> None:
        """Take an orchestration that is open."""
        self.orchestrator = orchestrator
        self._feed = feed
        self._client = client
        self._session_id = session_id
        self._cwd = cwd
        self._desks: dict[str, ToolCallTracker] = {}
        self._views: set[asyncio.Task[None]] = set()
        self._listener: Listener[SessionEvent] | None = None
        self._listening: asyncio.Task[None] | None = None

    def desk(self, worker: str) -> ToolCallTracker:
        """Return where the calls of a worker are known; it does one run at a time."""
        if worker not in self._desks:
            self._desks[worker] = ToolCallTracker(self._session_id, self._sender(self._session_id))
        return self._desks[worker]

    async def start(self) -> None:
        """Begin to show what workers do."""
        listener = self._listener = self.orchestrator.events()
        loop = asyncio.get_running_loop()
        self._listening = loop.create_task(self._listen(listener), name="taskloom workers")

    async def idle(self) -> None:
        """Return when nobody works any more, and all of it was shown."""
        await self.orchestrator.wait_idle()
        while self._views:
            await asyncio.gather(*self._views, return_exceptions=True)

    async def stop_work(self) -> None:
        """End every run: the person has cancelled, or the orchestrator has failed."""
        for run in self.orchestrator.runs(include_ended=False):
            self.orchestrator.stop(run.run_id, "the turn was ended", now=True)
        await self.idle()

    def stop_one(self, run_id: RunId) -> None:
        """End one run that the person cancelled."""
        self.orchestrator.stop(run_id, "the person cancelled it", now=True)

    async def close(self) -> None:
        """Stop showing."""
        tasks = [*self._views, *([self._listening] if self._listening else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._listener is not None:
            self._listener.close()

    async def _listen(self, listener: Listener[SessionEvent]) -> None:
        async for session_event in listener:
            if session_event.event_type == EventType.TASK_CREATED.value:
                self._feed.look()
            elif session_event.event_type == RunEvent.CHILD_CREATED.value:
                run = self.orchestrator.find_run(session_event.run_id or "")
                if run is not None:
                    view = asyncio.get_running_loop().create_task(self._show(run))
                    self._views.add(view)
                    view.add_done_callback(self._views.discard)

    async def _show(self, run: RunInfo) -> None:
        output = self.orchestrator.output(run.run_id)
        try:
            view = self._view(run)
            await view.begin()
            async for one in output:
                await view.tell(one)
            await view.end(self.orchestrator.find_run(run.run_id) or run)
        except OSError as error:
            _LOG.warning("a worker can no longer be shown: %s", error)

    def _view(self, run: RunInfo) -> WorkerView:
        desk, send = self.desk(run.name), self._sender(self._session_id)
        if not self._client.has("subagents"):
            return ToolCallView(run, desk, send, self._cwd)
        own = f"{self._session_id}{SEPARATOR}{run.run_id}"
        send_own = self._sender(own)
        desk.move(own, send_own)
        return SubagentView(run, desk, send, send_own, self._cwd)

    def _sender(self, session_id: str) -> Send:
        async def send(update: dict[str, object]) -> None:
            await self._client.update(session_id, update)

        return send
