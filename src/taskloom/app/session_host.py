"""One session of `taskloom run`: the Orchestrator of a project's configuration."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from msgspec import Struct

from taskloom.agent import ChatModel, Language, Middleware, Result, Retry, RunFailedError, Tool
from taskloom.board import DEFAULT_RULES, Rules
from taskloom.ids import TaskId
from taskloom.orchestrator import ORCHESTRATOR, Orchestrator, Pool, Settings
from taskloom.runtime import Board
from taskloom.session import RETRY, PermissionPolicy, SessionDirectory


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
        self.orchestrator = Orchestrator(
            options.session.project,
            options.pools,
            session=options.session.session_id,
            settings=options.settings,
            rules=options.rules,
            state_dir=options.session.state_dir,
            language=options.language,
            holder="taskloom run",
        )
        if options.permissions is not None:
            options.permissions.find_step = self.orchestrator.step_of

    @property
    def board(self) -> Board:
        """The session's board."""
        return self.orchestrator.board

    @property
    def released_steps(self) -> list[str]:
        """The steps that workers of an earlier host held."""
        return self.orchestrator.released_steps

    async def __aenter__(self) -> Self:
        """Open the session."""
        await self.orchestrator.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the workers and close the session."""
        await self.orchestrator.__aexit__(kind, error, trace)

    async def work(self, message: str = "") -> Result:
        """Resume the session, or give its Orchestrator a message, and return the result.

        Raises:
            RefusedError: the session has no goal, no message and no open Task.
        """
        options = self.options
        try:
            return await self.orchestrator.run(
                message or None,
                again=True,
                model=options.model,
                instruction=options.instruction,
                tools=options.tools,
                middleware=options.middleware,
                retry=options.retry,
                max_iterations=options.max_iterations,
            )
        except RunFailedError as failed:
            return failed.result

    def quit(self) -> None:
        """End the run where it is; it can be resumed later."""
        self.orchestrator.stop(ORCHESTRATOR)

    async def open_tasks(self) -> list[TaskId]:
        """Return the Tasks that have not ended."""
        return await self.orchestrator.open_tasks()
