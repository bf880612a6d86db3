"""Orchestrator mode for one session: the board, its workers, and the agent that plans for them.

async with Orchestrator(".", session="s1", workers=[agent_worker("cook", model)]) as orchestrator:
result = await orchestrator.run("Make tea.", model=model)
"""

import asyncio
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import anyio.to_thread

from taskloom.agent import (
    Agent,
    ChatModel,
    Language,
    Middleware,
    Result,
    Retry,
    RunFailedError,
    Tool,
    ToolLike,
    run_id,
)
from taskloom.board import DEFAULT_RULES, Actor, Rules, RunOutcome
from taskloom.ids import AgentId, RunId, SessionId, StepId, TaskId
from taskloom.orchestrator.board_events import BoardEvents
from taskloom.orchestrator.dispatcher import Dispatcher
from taskloom.orchestrator.event_bus import (
    ORCHESTRATOR,
    EventBus,
    Listener,
    RunOutput,
    SessionEvent,
)
from taskloom.orchestrator.goal_run import GoalRunner
from taskloom.orchestrator.plan_runner import PlanReport, PlanRunner
from taskloom.orchestrator.pool import DEFAULT_SETTINGS, Pool, Settings, merge_pools
from taskloom.orchestrator.prompt.board_in_prompt import BoardInPrompt, board_text
from taskloom.orchestrator.prompt.render import TokenCount, estimate_tokens
from taskloom.orchestrator.prompt.texts import guide
from taskloom.orchestrator.recovery import release_orphaned_steps, reopen_stopped
from taskloom.orchestrator.tools.dispatch_tools import DispatchTools
from taskloom.orchestrator.tools.orchestrator_tools import OrchestratorTools
from taskloom.orchestrator.tools.worker_tools import WorkerTools
from taskloom.orchestrator.worker_run import RunInfo, WorkerRun
from taskloom.orchestrator.worker_runner import WorkerRunner
from taskloom.orchestrator.worker_slots import WorkerInfo, WorkerSlots
from taskloom.runtime import DEFAULT_SESSION, STATE_DIR, Board, TaskHandle, open_board
from taskloom.session import RETRY, SessionDirectory, SessionStore

MAX_ITERATIONS: Final = 200
"""Model calls of one run of the Orchestrator's agent."""


class Orchestrator:
    """One session in orchestrator mode. Use it with `async with`, from one event loop."""

    def __init__(
        self,
        project: str | os.PathLike[str] | Board,
        workers: Sequence[Pool],
        *,
        session: SessionId = DEFAULT_SESSION,
        settings: Settings = DEFAULT_SETTINGS,
        rules: Rules = DEFAULT_RULES,
        state_dir: str = STATE_DIR,
        language: Language = "en",
        count_tokens: TokenCount = estimate_tokens,
        transcripts: Path | None = None,
        holder: str = "",
    ) -> None:
        """Check the workers; nothing is opened or started yet.

        Args:
            project: the project's directory: entering the block opens the session, takes its host
                lock and releases the steps of an earlier host. Or an open board, whose owner did
                that; then `run` keeps no journal.
            workers: from `function_worker`, `agent_worker`, `program_worker`, `acp_worker`; or
                pools.
            session: the session's id.
            settings: time limits and budgets.
            rules: of the board, if it is opened here.
            state_dir: the directory of the project's state.
            language: of tool texts and guides.
            count_tokens: measures the board in the prompt.
            transcripts: the directory of worker transcripts; by default the session's.
            holder: the name of this program, shown to others that find the session locked.

        Raises:
            ConfigError: there is no worker, or one cannot be used.
            RefusedError: the session's id is not valid.
        """
        self.board, self._session_store = _open(project, session, rules, state_dir)
        self.settings = settings
        self.agent_id: AgentId = f"agent_orchestrator_{self.board.session_id}"
        self.returns_steps_on_close = False
        """Whether steps of runs that closing stops become ready again; else they stay failed."""
        self.released_steps: list[str] = []
        """The steps that runs of an earlier host held, as `task_id/step_id`."""
        self._holder = holder
        self._language: Language = language
        self._count_tokens = count_tokens
        self._session: SessionDirectory | None = None
        self._stack = AsyncExitStack()
        self._event_bus = EventBus()
        self._event_bus.begin_run(ORCHESTRATOR)
        self._host = self.board.orchestrator(self.agent_id, run_id="run_host")
        self._board_events = BoardEvents(self.board, self._event_bus, self._host)
        self._worker_runner = WorkerRunner(
            self.board,
            self._event_bus,
            task_tools=self._worker_tools,
            board_text=lambda run: partial(self._board_text, run.actor),
            transcripts=transcripts,
        )
        slots = WorkerSlots(merge_pools(workers), self.board.rules.default_worker_pool)
        self._dispatcher = Dispatcher(self._worker_runner, slots, settings)
        self._dispatcher.on_dispatch = self._board_events.add
        self._dispatch_tools = DispatchTools(self._dispatcher, self._actor, language)
        self._goals: GoalRunner | None = None

    # Work.

    async def run(
        self,
        goal: str | None = None,
        *,
        model: ChatModel | str,
        instruction: str = "",
        tools: Sequence[ToolLike] = (),
        middleware: Sequence[Middleware] = (),
        retry: Retry | None = RETRY,
        max_iterations: int = MAX_ITERATIONS,
        again: bool = False,
    ) -> Result:
        """Plan a goal, dispatch workers, and return the answer.

        The run is journalled in the session: the same call after a crash resumes it, and returns
        its result if it is done. Several goals in order continue one conversation.

        Args:
            goal: what to achieve; None resumes the session.
            model: the model that plans: a model, or a string such as `openai:gpt-…`.
            instruction: instead of the built-in one.
            tools: working tools of the planning agent, beside those for Tasks and workers.
            middleware: of the planning agent.
            retry: when a failed model call is made again.
            max_iterations: model calls of the run.
            again: start the goal even if the session has it already.

        Raises:
            RunFailedError: the run failed; its `result` has what was done before.
        """
        runner = self._goal_runner()
        agent = Agent(
            model,
            tools=[*self.tools(), *tools],
            middleware=[runner.inbox, *middleware, *self.middleware()],
            instruction=instruction or guide("orchestrator", self._language),
            name=ORCHESTRATOR,
            max_iterations=max_iterations,
            retry=retry,
            language=self._language,
        )
        try:
            result = await runner.run(agent, goal, again=again)
        except asyncio.CancelledError:
            self.returns_steps_on_close = True  # The same call resumes: its steps must be ready.
            raise
        if result.error is not None:
            raise RunFailedError(result) from result.error
        return result

    async def run_plan(self, task: TaskId | TaskHandle, *, instruction: str = "") -> PlanReport:
        """Carry out a plan without a model: workers take ready steps until nothing can move.

        Args:
            task: the Task's handle or id.
            instruction: for every worker, beside the step itself.
        """
        task_id = task if isinstance(task, str) else task.task_id
        self._board_events.add(task_id)
        return await PlanRunner(self._dispatcher, task_id, instruction).run()

    async def open_tasks(self) -> list[TaskId]:
        """Return the Tasks that have not ended."""
        lines = (await self.board.list(self._host)).tasks
        return [line.task_id for line in lines if line.status != "unavailable"]

    # For an agent that is built elsewhere.

    def tools(self) -> list[Tool]:
        """Return the tools of the Orchestrator's agent: eleven for Tasks, four for workers."""
        created = partial(self._board_events.add, from_start=True)
        tasks = OrchestratorTools(self._dispatcher, self._actor, self._language, created)
        return [*tasks.tools(), *self._dispatch_tools.tools()]

    def middleware(self) -> list[Middleware]:
        """Return the middleware that shows the Orchestrator's model the board."""

        async def text() -> str:
            return await self._board_text(self._actor())

        return [BoardInPrompt(text)]

    # For interfaces.

    def events(self) -> Listener[SessionEvent]:
        """Return all events from now on, of the board and of worker runs.

        async for event in orchestrator.events(): ...
        """
        listener = self._event_bus.listen()
        self._board_events.listening()
        return listener

    def runs(self, *, include_ended: bool = True) -> list[RunInfo]:
        """Return the worker runs, oldest first; at least the last thousand that ended."""
        runs = self._dispatcher.worker_runs.values()
        return [run.info for run in runs if include_ended or not run.is_ended]

    def find_run(self, run_id: RunId) -> RunInfo | None:
        """Return one worker run; None if there is no such run."""
        run = self._dispatcher.worker_runs.get(run_id)
        return run.info if run is not None else None

    def workers(self) -> list[WorkerInfo]:
        """Return the workers in configured order."""
        return [slot.info for slot in self._dispatcher.slots]

    def step_of(self, worker: AgentId) -> StepId:
        """Return the step that a worker's active run has claimed; empty if there is none."""
        active = (run for run in self._dispatcher.active() if run.agent_id == worker)
        return next((run.step_id for run in active if run.step_id is not None), "")

    def output(self, run_id: RunId) -> Listener[RunOutput]:
        """Return what one run emits: its last output, then what follows, until the run ends.

        `ORCHESTRATOR` names the Orchestrator's own run.
        """
        return self._event_bus.output(run_id)

    def publish_output(self, output: RunOutput) -> None:
        """Add to the output of the Orchestrator's own run."""
        self._event_bus.publish_output(ORCHESTRATOR, output)

    async def message(self, run_id: RunId, text: str) -> bool:
        """Deliver a person's message to an active run; return whether it got the message.

        A chat-model agent reads it before its next model call, and its journal keeps it; this
        returns when it has. A program with `messages=True` gets a line. A run that ends before, is
        unknown or takes no messages does not get it.
        """
        if run_id == ORCHESTRATOR:
            return self._goals is not None and await self._goals.inbox.deliver(text)
        run = self._dispatcher.worker_runs.get(run_id)
        return run is not None and await run.message(text)

    def stop(self, run_id: RunId, reason: str = "", *, now: bool = False) -> bool:
        """Ask a run to stop at its next safe point; `now` cancels it where it is.

        `ORCHESTRATOR` ends its own run where it is, so that the next `run` resumes it. Returns
        False if there is no such run or it has ended.
        """
        if run_id == ORCHESTRATOR:
            self.returns_steps_on_close = True
            self._goal_runner().stop()
            return True
        run = self._dispatcher.worker_runs.get(run_id)
        if run is None or run.is_ended:
            return False
        self._dispatcher.stop(run, RunOutcome.CANCELLED, reason)
        if now:
            run.cancel()
        return True

    @property
    def is_paused(self) -> bool:
        """Whether new runs wait."""
        return self._dispatcher.is_paused

    def pause(self) -> None:
        """Start no new run until `resume`; active runs continue."""
        self._dispatcher.pause()

    def resume(self) -> None:
        """Let new runs start again."""
        self._dispatcher.resume()

    async def wait_idle(self) -> None:
        """Return when no worker run is active."""
        while active := self._dispatcher.active():
            await self._dispatcher.wait(active)

    async def renew_leases(self) -> None:
        """Renew the lease of every active run; this happens by itself at a quarter of the lease."""
        await self._dispatcher.renew_leases()

    async def release_orphaned_steps(self) -> list[str]:
        """Release the steps of runs that ended with an earlier host, as `task_id/step_id`.

        Only the host of the session may call it; a session that is opened here does it itself.
        """
        workers = {slot.agent_id for slot in self._dispatcher.slots}
        return await release_orphaned_steps(self.board, self._host, workers)

    # Open and close.

    async def __aenter__(self) -> Self:
        """Open the session if a project was given, and start to renew leases."""
        async with AsyncExitStack() as stack:
            if self._session_store is not None:
                await self._open_session(self._session_store, stack)
            await self._board_events.publish_replayed()
            self._dispatcher.keep_leases()
            self._stack = stack.pop_all()
        return self

    async def _open_session(self, store: SessionStore, stack: AsyncExitStack) -> None:
        session_id = self.board.session_id
        open_session = partial(store.open_or_create, session_id, kind="library")
        session = self._session = await anyio.to_thread.run_sync(open_session)
        stack.enter_context(session.host_lock(self._holder))
        await anyio.to_thread.run_sync(session.update)
        await stack.enter_async_context(self.board)
        if self._worker_runner.transcripts is None:
            self._worker_runner.transcripts = session.runs
        self.released_steps = await self.release_orphaned_steps()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop every run, write its end, and end the listeners."""
        closing = asyncio.ensure_future(self.close())
        try:
            await asyncio.shield(closing)
        finally:
            if not closing.done():
                await asyncio.wait([closing])
            await self._board_events.close()
            self._event_bus.close()
            await self._stack.aclose()

    async def close(self) -> None:
        """Stop every run and return when the end of each is written; no run starts any more."""
        await self._dispatcher.close()
        if self.returns_steps_on_close:
            runs = self._dispatcher.worker_runs.values()
            await reopen_stopped(self.board, self._host, runs)

    def _goal_runner(self) -> GoalRunner:
        if self._goals is None:
            self._goals = GoalRunner(
                self._session,
                self._language,
                open_tasks=self.open_tasks,
                publish=self.publish_output,
            )
            self._stack.callback(self._goals.close)
        return self._goals

    def _actor(self) -> Actor:
        """Return the actor of the run that is calling; a model cannot choose it."""
        return self.board.orchestrator(self.agent_id, run_id=run_id())

    def _worker_tools(self, run: WorkerRun) -> list[Tool]:
        return WorkerTools(self._worker_runner, self.settings, run).tools(self._language)

    async def _board_text(self, actor: Actor) -> str:
        return await board_text(self.board, actor, self.settings, self._count_tokens)


def _open(
    project: str | os.PathLike[str] | Board, session: SessionId, rules: Rules, state_dir: str
) -> tuple[Board, SessionStore | None]:
    if isinstance(project, Board):
        return project, None
    path = Path(project)
    board = open_board(path, session=session, rules=rules, state_dir=state_dir)
    return board, SessionStore(path, state_dir)
