"""The board and the workers of one session, and how the client sees them.

Both are opened when they are first needed and closed with the session. A turn stays open while
workers work; between turns nothing runs.
"""

import asyncio
import logging
from contextlib import AsyncExitStack
from functools import partial
from typing import Final

from taskloom.acp.options import AcpOptions, MakeTools
from taskloom.acp.plans import BoardFeed, PlanPublisher, Send
from taskloom.acp.protocol.client import Client
from taskloom.acp.protocol.tool_calls import ToolCallTracker
from taskloom.acp.worker_view import SubagentView, ToolCallView, WorkerView
from taskloom.board import EventType
from taskloom.ids import RunId
from taskloom.orchestrator import Listener, Orchestrator, RunEvent, RunInfo, SessionEvent
from taskloom.runtime import Board, open_board, session_dir
from taskloom.session import PermissionPolicy, SessionDirectory

SEPARATOR: Final = "."
"""Between the session's id and the run's in the id of a worker's own session."""

_LOG = logging.getLogger("taskloom.acp")


class SessionWorkers:
    """The board and the workers of one session, as far as it has any."""

    def __init__(
        self,
        session: SessionDirectory,
        options: AcpOptions,
        client: Client,
        publisher: PlanPublisher,
        permissions: PermissionPolicy,
    ) -> None:
        """Take what they are made from; nothing is opened yet."""
        self._session = session
        self._options = options
        self._client = client
        self._publisher = publisher
        self._permissions = permissions
        self._stack = AsyncExitStack()
        self._board: Board | None = None
        self._feed: BoardFeed | None = None
        self._orchestrator: Orchestrator | None = None
        self._tool_calls: dict[str, ToolCallTracker] = {}
        self._views: set[asyncio.Task[None]] = set()

    @property
    def shows_board(self) -> bool:
        """Whether the board's Tasks are shown as plans."""
        chosen = self._session.info.show_board
        return self._options.show_task_board if chosen is None else chosen

    @property
    def is_working(self) -> bool:
        """Whether a worker run has not ended."""
        orchestrator = self._orchestrator
        return orchestrator is not None and bool(orchestrator.runs(include_ended=False))

    async def board(self) -> Board | None:
        """Return the session's board; None if it has none."""
        session = self._session
        directory = session_dir(session.project, session.session_id, session.state_dir)
        if self._board is None and directory.is_dir():
            await self._open_board()
        return self._board

    async def orchestrator(self, make_tools: MakeTools) -> Orchestrator:
        """Return the workers, opened with the first call; requires the host lock.

        Raises:
            ConfigError: they cannot be used as they are configured.
        """
        if self._orchestrator is None:
            self._orchestrator = await self._open_workers(make_tools)
        elif not self.is_working:
            # Another process may have hosted the session since the last turn, and died.
            await self._orchestrator.release_orphaned_steps()
        return self._orchestrator

    def tool_calls(self, worker: str) -> ToolCallTracker:
        """Return the tracker of a worker's tool calls; a worker has one run at a time."""
        if worker not in self._tool_calls:
            session_id = self._session.session_id
            self._tool_calls[worker] = ToolCallTracker(session_id, self._sender(session_id))
        return self._tool_calls[worker]

    async def begin_turn(self) -> None:
        """Follow the board, if it is shown."""
        if self.shows_board and await self.board() is not None:
            assert self._feed is not None
            self._feed.start()

    async def wait_idle(self) -> None:
        """Return when no worker runs and the client has been sent all of their output."""
        if self._orchestrator is not None:
            await self._orchestrator.wait_idle()
        while self._views:
            await asyncio.gather(*self._views, return_exceptions=True)

    async def end_turn(self) -> None:
        """Stop every run and stop following the board."""
        if self._orchestrator is not None:
            for run in self._orchestrator.runs(include_ended=False):
                self._orchestrator.stop(run.run_id, "the turn has ended", now=True)
            await self.wait_idle()
        if self._feed is not None:
            await self._feed.stop()

    def stop_run(self, run_id: RunId) -> None:
        """Stop one run that the person cancelled."""
        if self._orchestrator is not None:
            self._orchestrator.stop(run_id, "the person cancelled it", now=True)

    async def publish_tasks(self) -> None:
        """Bring the plans of the board's Tasks to their current state."""
        if await self.board() is None:
            return
        assert self._feed is not None
        if self.shows_board:
            await self._feed.publish_all()
        else:
            self._feed.remove_all()

    async def close(self) -> None:
        """Close workers and board."""
        if self._feed is not None:
            await self._feed.stop()
        await self._stack.aclose()

    async def _open_board(self) -> Board:
        session = self._session
        self._board = await self._stack.enter_async_context(
            open_board(
                session.project,
                session=session.session_id,
                state_dir=session.state_dir,
                rules=self._options.rules,
            )
        )
        self._feed = BoardFeed(self._board, self._publisher)
        if self.shows_board:
            self._feed.start()
        return self._board

    async def _open_workers(self, make_tools: MakeTools) -> Orchestrator:
        options, session = self._options, self._session
        assert options.make_pools is not None, "orchestrate mode is offered with pools only"
        permit_of = partial(self._permissions.permit, asker=None)
        pools = options.make_pools(session, make_tools, permit_of)
        orchestrator = Orchestrator(
            self._board or await self._open_board(),
            pools,
            settings=options.settings,
            language=options.language or "en",
            transcripts=session.runs,
        )
        await orchestrator.release_orphaned_steps()
        await self._stack.enter_async_context(orchestrator)
        self._permissions.find_step = orchestrator.step_of
        events = orchestrator.events()
        watching = asyncio.get_running_loop().create_task(
            self._watch(orchestrator, events), name="taskloom workers"
        )
        self._stack.push_async_callback(self._stop_watching, watching, events)
        return orchestrator

    async def _watch(self, orchestrator: Orchestrator, events: Listener[SessionEvent]) -> None:
        assert self._feed is not None
        async for event in events:
            if event.event_type == EventType.TASK_CREATED.value:
                self._feed.wake()
            elif event.event_type == RunEvent.CHILD_CREATED.value:
                run = orchestrator.find_run(event.run_id or "")
                if run is not None:
                    view = asyncio.get_running_loop().create_task(self._show(orchestrator, run))
                    self._views.add(view)
                    view.add_done_callback(self._views.discard)

    async def _show(self, orchestrator: Orchestrator, run: RunInfo) -> None:
        output = orchestrator.output(run.run_id)
        try:
            view = self._view(run)
            await view.begin()
            async for one in output:
                await view.show(one)
            await view.end(orchestrator.find_run(run.run_id) or run)
        except OSError as error:
            _LOG.warning("cannot show a worker: %s", error)

    def _view(self, run: RunInfo) -> WorkerView:
        session_id, cwd = self._session.session_id, self._session.project
        tool_calls, send = self.tool_calls(run.name), self._sender(session_id)
        if not self._client.has("subagents"):
            return ToolCallView(run, tool_calls, send, cwd)
        own_id = f"{session_id}{SEPARATOR}{run.run_id}"
        send_own = self._sender(own_id)
        tool_calls.move(own_id, send_own)
        return SubagentView(run, tool_calls, send, send_own, cwd)

    def _sender(self, session_id: str) -> Send:
        return partial(self._client.update, session_id)

    async def _stop_watching(
        self, watching: "asyncio.Task[None]", events: Listener[SessionEvent]
    ) -> None:
        tasks = [watching, *self._views]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        events.close()
