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
from taskloom.board import EventType, RunOutcome
from taskloom.ids import RunId
from taskloom.orchestrator import (
    Listener,
    Orchestrator,
    RunEvent,
    RunOutput,
    SessionEvent,
    WorkerRun,
)

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
        listener = self._listener = self.orchestrator.listen()
        await listener.__aenter__()
        loop = asyncio.get_running_loop()
        self._listening = loop.create_task(self._listen(listener), name="taskloom workers")

    async def idle(self) -> None:
        """Return when nobody works any more, and all of it was shown."""
        while worker_runs := self.orchestrator.dispatcher.under_way():
            await asyncio.gather(*(worker_run.done.wait() for worker_run in worker_runs))
        while self._views:
            await asyncio.gather(*self._views, return_exceptions=True)

    async def stop_work(self) -> None:
        """End every run: the person has cancelled, or the orchestrator has failed."""
        for worker_run in self.orchestrator.dispatcher.under_way():
            self.orchestrator.dispatcher.stop(
                worker_run, RunOutcome.CANCELLED, "the turn was ended"
            )
        await self.idle()

    def stop_one(self, run_id: RunId) -> None:
        """End one run that the person cancelled."""
        self.orchestrator.stop_worker(run_id, "the person cancelled it")

    async def close(self) -> None:
        """Stop showing."""
        tasks = [*self._views, *([self._listening] if self._listening else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._listener is not None:
            await self._listener.__aexit__(None, None, None)

    async def _listen(self, listener: Listener[SessionEvent]) -> None:
        async for session_event in listener:
            if session_event.event_type == EventType.TASK_CREATED.value:
                self._feed.look()
            elif session_event.event_type == RunEvent.CHILD_CREATED.value:
                worker_run = self.orchestrator.dispatcher.worker_runs.get(
                    session_event.run_id or ""
                )
                if worker_run is not None:
                    view = asyncio.get_running_loop().create_task(self._show(worker_run))
                    self._views.add(view)
                    view.add_done_callback(self._views.discard)

    async def _show(self, worker_run: WorkerRun) -> None:
        said = self.orchestrator.event_bus.stream(worker_run.run_id)
        ending = asyncio.get_running_loop().create_task(_close_at_end(worker_run, said))
        try:
            view = self._view(worker_run)
            await view.begin()
            async with said:
                async for one in said:
                    await view.tell(one)
            await worker_run.done.wait()
            await view.end()
        except OSError as error:
            _LOG.warning("a worker can no longer be shown: %s", error)
        finally:
            ending.cancel()

    def _view(self, worker_run: WorkerRun) -> WorkerView:
        desk, send = self.desk(worker_run.agent_id), self._sender(self._session_id)
        if not self._client.has("subagents"):
            return ToolCallView(worker_run, desk, send, self._cwd)
        own = f"{self._session_id}{SEPARATOR}{worker_run.run_id}"
        send_own = self._sender(own)
        desk.move(own, send_own)
        return SubagentView(worker_run, desk, send, send_own, self._cwd)

    def _sender(self, session_id: str) -> Send:
        async def send(update: dict[str, object]) -> None:
            await self._client.update(session_id, update)

        return send


async def _close_at_end(worker_run: WorkerRun, said: Listener[RunOutput]) -> None:
    """Let a listener end with its run, even if the run said nothing at all."""
    await worker_run.done.wait()
    said.close()
