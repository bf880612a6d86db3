"""The board of a session and the workers on it: opened when they are needed, closed with it."""

from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Protocol

from taskloom.acp.client import Client
from taskloom.acp.options import AcpOptions, MakeTools
from taskloom.acp.plans.board_feed import BoardFeed
from taskloom.acp.plans.publisher import PlanPublisher
from taskloom.acp.worker_updates import WorkerUpdates
from taskloom.orchestrator import Orchestrator
from taskloom.runtime import Board, open_board, session_dir
from taskloom.session import PermissionPolicy, SessionDirectory


class Employer(Protocol):
    """What is asked of the session."""

    @property
    def id(self) -> str:
        """Its id, which is also the board's."""
        ...

    @property
    def shows_board(self) -> bool:
        """Whether Tasks are shown as plans."""
        ...

    @property
    def setup(self) -> AcpOptions:
        """How things are made."""
        ...

    @property
    def cwd(self) -> Path:
        """The project."""
        ...

    @property
    def directory(self) -> SessionDirectory:
        """Where the session keeps its state."""
        ...

    @property
    def client(self) -> Client:
        """Who is served."""
        ...

    @property
    def permissions(self) -> PermissionPolicy:
        """The permission policy."""
        ...

    @property
    def publisher(self) -> PlanPublisher:
        """The plans that are shown."""
        ...


class SessionWorkers:
    """The board and the workers of one session, as far as there are any."""

    def __init__(self, session: Employer) -> None:
        """Open nothing yet."""
        self._session = session
        self._stack = AsyncExitStack()
        self._board: Board | None = None
        self._feed: BoardFeed | None = None
        self.crew: WorkerUpdates | None = None

    @property
    def is_working(self) -> bool:
        """Whether a worker run has not ended."""
        return self.crew is not None and bool(self.crew.orchestrator.runs(include_ended=False))

    async def board(self) -> Board | None:
        """Return the session's board; None if it has none."""
        session = self._session
        if self._board is None:
            place = session_dir(session.cwd, session.id, session.setup.state_dir)
            if place.is_dir():
                await self._open_board()
        return self._board

    async def hire(self, make_tools: MakeTools) -> WorkerUpdates:
        """Return the workers; they are there from now on.

        Raises:
            ConfigError: they cannot be, as they are configured.
        """
        session, setup = self._session, self._session.setup
        if self.crew is None:
            assert setup.make_pools is not None, "there is no orchestrate mode without pools"
            permit_of = partial(session.permissions.permit, asker=None)
            pools = setup.make_pools(session.directory, make_tools, permit_of)
            board = self._board or await self._open_board()
            assert self._feed is not None
            orchestrator = Orchestrator(
                board,
                pools,
                settings=setup.settings,
                language=setup.language or "en",
                transcripts=session.directory.runs,
            )
            await orchestrator.release_orphaned_steps()
            await self._stack.enter_async_context(orchestrator)
            crew = WorkerUpdates(orchestrator, self._feed, session.client, session.id, session.cwd)
            await crew.start()
            self._stack.push_async_callback(crew.close)
            self.crew = crew
            session.permissions.find_step = orchestrator.step_of
        elif not self.is_working:
            # Another process may have hosted the session since the last turn, and died.
            await self.crew.orchestrator.release_orphaned_steps()
        return self.crew

    async def begin(self) -> None:
        """Begin a turn: follow the board if it is shown."""
        if self._session.shows_board and await self.board() is not None:
            assert self._feed is not None
            self._feed.start()

    async def settle(self) -> None:
        """Return when nobody works any more."""
        if self.crew is not None:
            await self.crew.idle()

    async def end(self) -> None:
        """End a turn: nobody works on, and nothing is shown by itself."""
        if self.crew is not None:
            await self.crew.stop_work()
        if self._feed is not None:
            await self._feed.stop()

    async def show(self) -> None:
        """Bring the plans of Tasks to their true state."""
        if await self.board() is None:
            return
        assert self._feed is not None
        if self._session.shows_board:
            await self._feed.show()
        else:
            self._feed.hide()

    async def close(self) -> None:
        """Let go of board and workers."""
        if self._feed is not None:
            await self._feed.stop()
        await self._stack.aclose()

    async def _open_board(self) -> Board:
        session, setup = self._session, self._session.setup
        self._board = await self._stack.enter_async_context(
            open_board(
                session.cwd, session=session.id, state_dir=setup.state_dir, rules=setup.rules
            )
        )
        self._feed = BoardFeed(self._board, session.publisher)
        if session.shows_board:
            self._feed.start()
        return self._board
