"""One session in orchestrator mode, hosted by this process: from a goal to its result.

A turn is one run of the Orchestrator's agent, journalled. When the process dies, the next host of
the session goes on with the unfinished turn: calls that were under way are made again, and because
each has an id on the board, nothing is done twice.
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from msgspec import Struct

from taskloom.agent import Agent, ChatModel, Language, Message, Middleware, Result, Retry, Run, Tool
from taskloom.board import DEFAULT_RULES, Rules
from taskloom.ids import SessionId, StepId, TaskId
from taskloom.orchestrator import ORCHESTRATOR, Orchestrator, Pool, Settings
from taskloom.orchestrator.prompt.worker_texts import worker_texts
from taskloom.runtime import STATE_DIR, Board, open_board
from taskloom.session import PermissionPolicy, SessionStore

_NUDGES_MAX: Final = 3
"""How often an Orchestrator that stops before its Tasks have ended is told so."""


class HostSetup(Struct, frozen=True, kw_only=True):
    """What a host works with."""

    project: Path
    model: ChatModel
    pools: Sequence[Pool]
    instruction: str
    tools: Sequence[Tool] = ()
    """The Orchestrator's own working tools, beside those for Tasks and workers."""
    permissions: PermissionPolicy | None = None
    """The policy behind the tools; the host tells it which step a worker holds."""
    middleware: Sequence[Middleware] = ()
    state_dir: str = STATE_DIR
    settings: Settings = Settings()
    rules: Rules = DEFAULT_RULES
    language: Language = "en"
    retry: Retry | None = None
    max_iterations: int = 200


class Host:
    """The host of one session. Use it with `async with`."""

    def __init__(self, setup: HostSetup, session_id: SessionId) -> None:
        """Name the session; it must have been created."""
        self.setup = setup
        self.session = SessionStore(setup.project, setup.state_dir).open(session_id)
        self.given_back: list[StepId] = []
        """Steps that an earlier host held when it died."""
        self._stack = AsyncExitStack()
        self._run: Run | None = None
        self._is_quitting = False
        self._board: Board | None = None
        self._orchestra: Orchestrator | None = None

    @property
    def board(self) -> Board:
        """The session's board, while the host is open."""
        assert self._board is not None
        return self._board

    @property
    def orchestrator(self) -> Orchestrator:
        """Its workers, while the host is open."""
        assert self._orchestra is not None
        return self._orchestra

    async def __aenter__(self) -> Self:
        """Take the session over: its board, its workers, the steps of a dead host."""
        setup, session = self.setup, self.session
        async with AsyncExitStack() as stack:
            stack.enter_context(session.host_lock("taskloom run"))
            session.update()
            self._board = await stack.enter_async_context(
                open_board(
                    setup.project,
                    session=session.session_id,
                    state_dir=setup.state_dir,
                    rules=setup.rules,
                )
            )
            orchestrator = Orchestrator(
                self._board,
                setup.pools,
                settings=setup.settings,
                language=setup.language,
                transcripts=session.runs,
            )
            self.given_back = await orchestrator.release_orphaned_steps()
            self._orchestra = await stack.enter_async_context(orchestrator)
            if setup.permissions is not None:
                setup.permissions.find_step = orchestrator.step_of
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop what still runs. Steps of runs that were stopped by this come back."""
        await self._stack.aclose()

    async def work(self, more: str = "") -> Result:
        """Go on with the session until its Orchestrator is done; `more` is said to it first."""
        result = await self._finish_turn(more)
        for _ in range(_NUDGES_MAX):
            if result.stop_reason != "completed" or self._is_quitting:
                break
            left = await self.open_tasks()
            if not left:
                break
            nudge = worker_texts(self.setup.language).nudge.format(tasks=", ".join(left))
            result = await self._turn([*result.messages, Message.user(nudge)])
        return result

    def quit(self) -> None:
        """End the turn where it is; it can be gone on with later, and nothing is lost."""
        self._is_quitting = True
        self.orchestrator.returns_steps_on_close = True
        if self._run is not None:
            self._run.cancel()

    async def open_tasks(self) -> list[TaskId]:
        """Return the Tasks that have not ended."""
        actor = self.board.orchestrator(self.orchestrator.agent_id, run_id="run_host")
        lines = (await self.board.list(actor)).tasks
        return [line.task_id for line in lines if line.status != "unavailable"]

    async def _finish_turn(self, more: str) -> Result:
        """Do the first turn, finish one that was cut short, or begin another."""
        turns = self.session.turns()
        if not turns:
            goal = f"{self.session.info.goal}\n\n{more}".strip()
            return await self._turn([Message.user(goal)])
        result = await self._run_turn(turns[-1], None)
        if more and not self._is_quitting:
            return await self._turn([*result.messages, Message.user(more)])
        return result

    async def _turn(self, messages: list[Message]) -> Result:
        return await self._run_turn(self.session.next_turn(), messages)

    async def _run_turn(self, journal: Path, messages: list[Message] | None) -> Result:
        setup, orchestrator = self.setup, self.orchestrator
        agent = Agent(
            setup.model,
            tools=[*orchestrator.tools(), *setup.tools],
            middleware=[*setup.middleware, *orchestrator.middleware()],
            instruction=setup.instruction,
            name=ORCHESTRATOR,
            max_iterations=setup.max_iterations,
            retry=setup.retry,
            language=setup.language,
        )
        self._run = run = agent.run(messages, journal=journal)
        if self._is_quitting:
            run.cancel()
        async for event in run:
            orchestrator.publish_output(event)
        return run.result
