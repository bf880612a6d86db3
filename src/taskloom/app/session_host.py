"""One session in orchestrator mode, hosted by this process: from a goal to its result.

A turn is one run of the Orchestrator's agent, journalled. When the process dies, the next host of
the session resumes the unfinished turn: calls that were in progress are made again, and since each
has an id on the board, no change is made twice.
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import anyio.to_thread
from msgspec import Struct

from taskloom.agent import Agent, ChatModel, Language, Message, Middleware, Result, Retry, Run, Tool
from taskloom.board import DEFAULT_RULES, Rules
from taskloom.errors import Code, RefusedError
from taskloom.ids import StepId, TaskId
from taskloom.orchestrator import ORCHESTRATOR, Orchestrator, Pool, Settings
from taskloom.orchestrator.prompt.worker_texts import worker_texts
from taskloom.runtime import Board, open_board
from taskloom.session import RETRY, Conversation, PermissionPolicy, SessionDirectory

_REMINDERS_MAX: Final = 3
"""How often an Orchestrator that stops before its Tasks have ended is reminded of them."""
_ENDED: Final = ("completed", "returned_directly")
"""Stop reasons of a turn that is not resumed."""


class HostOptions(Struct, frozen=True, kw_only=True):
    """What a host works with."""

    session: SessionDirectory
    model: ChatModel
    pools: Sequence[Pool]
    instruction: str
    tools: Sequence[Tool] = ()
    """The Orchestrator's own working tools, beside those for Tasks and workers."""
    permissions: PermissionPolicy | None = None
    """The policy behind the tools; the host tells it which step a worker holds."""
    middleware: Sequence[Middleware] = ()
    settings: Settings = Settings()
    rules: Rules = DEFAULT_RULES
    language: Language = "en"
    retry: Retry | None = RETRY
    max_iterations: int = 200


class Host:
    """The host of one session. Use it with `async with`."""

    def __init__(self, options: HostOptions) -> None:
        """Take the options; nothing is opened yet."""
        self.options = options
        self.session = options.session
        self.released_steps: list[StepId] = []
        """Steps that an earlier host held when it died."""
        self._conversation = Conversation(self.session, options.language)
        self._stack = AsyncExitStack()
        self._run: Run | None = None
        self._is_quitting = False
        self._board: Board | None = None
        self._orchestrator: Orchestrator | None = None

    @property
    def board(self) -> Board:
        """The session's board, while the host is open."""
        assert self._board is not None
        return self._board

    @property
    def orchestrator(self) -> Orchestrator:
        """The session's workers, while the host is open."""
        assert self._orchestrator is not None
        return self._orchestrator

    async def __aenter__(self) -> Self:
        """Take the host lock, open board and workers, release the steps of a dead host."""
        options, session = self.options, self.session
        async with AsyncExitStack() as stack:
            stack.enter_context(session.host_lock("taskloom run"))
            session.update()
            stack.callback(self._conversation.close)
            await anyio.to_thread.run_sync(self._conversation.begin)
            self._board = await stack.enter_async_context(
                open_board(
                    session.project,
                    session=session.session_id,
                    state_dir=session.state_dir,
                    rules=options.rules,
                )
            )
            orchestrator = Orchestrator(
                self._board,
                options.pools,
                settings=options.settings,
                language=options.language,
                transcripts=session.runs,
            )
            self.released_steps = await orchestrator.release_orphaned_steps()
            self._orchestrator = await stack.enter_async_context(orchestrator)
            if options.permissions is not None:
                options.permissions.find_step = orchestrator.step_of
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the worker runs and close the session."""
        await self._stack.aclose()

    async def work(self, message: str = "") -> Result:
        """Run the Orchestrator until its Tasks have ended; a message is given to it first.

        Raises:
            RefusedError: the session has no goal, no message and no open Task.
        """
        result = await self._first_turn(message)
        for _ in range(_REMINDERS_MAX):
            if result.stop_reason != "completed" or self._is_quitting:
                break
            reminder = await self._reminder()
            if not reminder:
                break
            result = await self._new_turn(reminder)
        return result

    def quit(self) -> None:
        """Stop the turn where it is; a later host can resume it."""
        self._is_quitting = True
        self.orchestrator.returns_steps_on_close = True
        if self._run is not None:
            self._run.cancel()

    async def open_tasks(self) -> list[TaskId]:
        """Return the Tasks that have not ended."""
        actor = self.board.orchestrator(self.orchestrator.agent_id, run_id="run_host")
        lines = (await self.board.list(actor)).tasks
        return [line.task_id for line in lines if line.status != "unavailable"]

    async def _first_turn(self, message: str) -> Result:
        """Resume the turn that was cut short, or start one."""
        conversation = self._conversation
        unfinished = conversation.unfinished_turn()
        if unfinished is not None:
            result = await self._run_turn(unfinished, None)
            return await self._new_turn(message) if message and not self._is_quitting else result
        if not conversation.messages:
            message = f"{self.session.info.goal}\n\n{message}".strip()
        message = message or await self._reminder()
        if message:
            return await self._new_turn(message)
        ended = self.session.turns()
        if not ended:
            raise RefusedError(
                Code.VALIDATION_ERROR,
                f"Session {self.session.session_id!r} has no open Task. Say what to do next: "
                f'taskloom run --resume {self.session.session_id} "…"',
            )
        return await self._run_turn(ended[-1], None)

    async def _reminder(self) -> str:
        """Return the message about Tasks that have not ended; empty if there are none."""
        left = await self.open_tasks()
        texts = worker_texts(self.options.language)
        return texts.nudge.format(tasks=", ".join(left)) if left else ""

    async def _new_turn(self, message: str) -> Result:
        # A turn that failed or was cancelled is not resumed once another one follows it.
        await anyio.to_thread.run_sync(self._conversation.add_interrupted_turn)
        messages = [*self._conversation.messages, Message.user(message)]
        return await self._run_turn(self.session.next_turn(), messages)

    async def _run_turn(self, journal: Path, messages: list[Message] | None) -> Result:
        options, orchestrator = self.options, self.orchestrator
        agent = Agent(
            options.model,
            tools=[*orchestrator.tools(), *options.tools],
            middleware=[*options.middleware, *orchestrator.middleware()],
            instruction=options.instruction,
            name=ORCHESTRATOR,
            max_iterations=options.max_iterations,
            retry=options.retry,
            language=options.language,
        )
        self._run = run = agent.run(messages, journal=journal)
        if self._is_quitting:
            run.cancel()
        async for event in run:
            orchestrator.publish_output(event)
        if run.result.stop_reason in _ENDED and self._conversation.unfinished_turn() == journal:
            await anyio.to_thread.run_sync(
                self._conversation.add_turn, journal, run.result.messages, run.result.stop_reason
            )
        return run.result
