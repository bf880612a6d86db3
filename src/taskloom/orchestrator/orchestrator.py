"""Orchestrator mode for one session: board, workers and the tools that bring them together.

async with Orchestrator(board, pools) as orchestra:
    agent = Agent(model, tools=orchestra.tools(), middleware=orchestra.middleware())
    await agent.invoke("…")
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from taskloom.agent import Language, Middleware, Tool, run_id
from taskloom.board import Actor, RunOutcome
from taskloom.errors import TaskloomError
from taskloom.ids import AgentId, RunId, Seq, StepId, TaskId
from taskloom.orchestrator.dispatch_request import DispatchRequest
from taskloom.orchestrator.dispatcher import Dispatcher
from taskloom.orchestrator.event_bus import (
    EventBus,
    Listener,
    RunEvent,
    RunOutput,
    SessionEvent,
)
from taskloom.orchestrator.plan_runner import PlanReport, PlanRunner
from taskloom.orchestrator.pool import Pool
from taskloom.orchestrator.prompt.middleware import BoardInPrompt, board_text
from taskloom.orchestrator.prompt.rendering import TokenCount, about_tokens
from taskloom.orchestrator.recovery import release_orphaned_steps, reopen_stopped
from taskloom.orchestrator.settings import DEFAULTS, Settings
from taskloom.orchestrator.tools.dispatch_tools import DispatchTools
from taskloom.orchestrator.tools.orchestrator_tools import OrchestratorTools
from taskloom.orchestrator.tools.worker_tools import WorkerTools
from taskloom.orchestrator.worker_run import RunInfo, WorkerRun
from taskloom.orchestrator.worker_runner import WorkerRunner
from taskloom.orchestrator.worker_slots import WorkerInfo, WorkerSlots
from taskloom.runtime import Board

ORCHESTRATOR: Final = "orchestrator"
"""The name of the Orchestrator's own run, in `output` and `message`."""


class Orchestrator:
    """One session in orchestrator mode. Use it with `async with`, from one event loop."""

    def __init__(
        self,
        board: Board,
        pools: Sequence[Pool],
        *,
        settings: Settings = DEFAULTS,
        language: Language = "en",
        count_tokens: TokenCount = about_tokens,
        transcripts: Path | None = None,
    ) -> None:
        """Check the pools; no run starts yet.

        Args:
            board: the session's board, opened.
            pools: who can work.
            settings: time-outs and budgets.
            language: of tool texts and guides.
            count_tokens: measures the board in the prompt.
            transcripts: a directory for what is said in worker runs; none keeps none.

        Raises:
            ConfigError: there is no worker, or a pool cannot be used.
        """
        self.board = board
        self._event_bus = EventBus()
        self._event_bus.begin_run(ORCHESTRATOR)
        self.settings = settings
        self.agent_id: AgentId = f"agent_orchestrator_{board.session_id}"
        self._language: Language = language
        self._count_tokens = count_tokens
        worker_runner = WorkerRunner(
            board,
            self._event_bus,
            task_tools=self._worker_tools,
            board_text=self._text_for,
            transcripts=transcripts,
        )
        roster = WorkerSlots(pools, board.rules.default_worker_pool)
        self._dispatcher = Dispatcher(worker_runner, roster, settings)
        self._dispatcher.noticed = self._notice
        self._dispatch_tools = DispatchTools(self._dispatcher, self._actor, language)
        self.returns_steps_on_close = False
        """Whether steps of runs that closing stops come back; else they stay failed."""
        self._background: set[asyncio.Task[Any]] = set()
        self._followed: set[TaskId] = set()

    # What an agent is given.

    def tools(self) -> list[Tool]:
        """Return the tools of the Orchestrator's agent: eleven for Tasks, four for workers."""
        tasks = OrchestratorTools(self._dispatcher, self._actor, self._language, self.follow)
        return [*tasks.tools(), *self._dispatch_tools.tools()]

    def middleware(self) -> list[Middleware]:
        """Return the middleware that shows the Orchestrator's model the board."""

        async def text() -> str:
            return await board_text(self.board, self._actor(), self.settings, self._count_tokens)

        return [BoardInPrompt(text)]

    # What an interface needs.

    def events(self) -> Listener[SessionEvent]:
        """Return all events from now on, of the board and of worker runs.

        async for event in orchestrator.events(): ...
        """
        listener = self._event_bus.listen()
        for task_id in list(self._followed):
            self._start_following(task_id, self._seq_now(task_id))
        return listener

    def runs(self, *, include_ended: bool = True) -> list[RunInfo]:
        """Return the worker runs, oldest first; of those that ended the last thousand."""
        runs = self._dispatcher.worker_runs.values() if include_ended else self._active()
        return [each.info for each in runs]

    def find_run(self, run_id: RunId) -> RunInfo | None:
        """Return one worker run; None if there is no such run."""
        worker_run = self._dispatcher.worker_runs.get(run_id)
        return worker_run.info if worker_run is not None else None

    def workers(self) -> list[WorkerInfo]:
        """Return the workers in configured order."""
        return [slot.info for slot in self._dispatcher.roster]

    def step_of(self, worker: AgentId) -> StepId:
        """Return the step that a worker's active run has claimed; empty if there is none."""
        active = [each for each in self._active() if each.agent_id == worker]
        return next((each.step_id for each in active if each.step_id is not None), "")

    def output(self, run_id: RunId) -> Listener[RunOutput]:
        """Return what one run emits: its last output, then what follows, until the run ends.

        `ORCHESTRATOR` is the name of the Orchestrator's own run.
        """
        return self._event_bus.output(run_id)

    def publish_output(self, output: RunOutput) -> None:
        """Add to the output of the Orchestrator's own run."""
        self._event_bus.publish_output(ORCHESTRATOR, output)

    def stop(self, run_id: RunId, reason: str = "", *, now: bool = False) -> bool:
        """Ask a run to stop at its next safe point; `now` cancels it where it is.

        Returns False if there is no such run or it has ended.
        """
        worker_run = self._dispatcher.worker_runs.get(run_id)
        if worker_run is None or worker_run.is_over:
            return False
        self._dispatcher.stop(worker_run, RunOutcome.CANCELLED, reason)
        if now and worker_run.task is not None:
            worker_run.task.cancel()
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
        self._dispatcher.go_on()

    async def wait_idle(self) -> None:
        """Return when no worker run is active."""
        while active := self._active():
            await self._dispatcher.wait(active)

    async def renew_leases(self) -> None:
        """Renew the lease of every active run; this happens by itself at a quarter of the lease."""
        await self._dispatcher.renew()

    def _active(self) -> list[WorkerRun]:
        return self._dispatcher.under_way()

    def _notice(self, task_id: TaskId) -> None:
        """Follow a Task from now on, if that is not done already."""
        if task_id not in self._followed:
            if self._event_bus.has_listeners:
                self._start_following(task_id, self._seq_now(task_id))
            self._followed.add(task_id)

    def _seq_now(self, task_id: TaskId) -> Seq | None:
        """Return where a Task's log ends at this very moment; None if that takes a look."""
        return self.board.durable_seq(task_id)

    async def run_plan(self, task_id: TaskId, *, instruction: str) -> PlanReport:
        """Let the workers do whatever is ready, until nothing can move any more."""
        self._notice(task_id)
        return await PlanRunner(
            self._dispatcher, DispatchRequest(task_id=task_id, instruction=instruction)
        ).run()

    async def release_orphaned_steps(self) -> list[StepId]:
        """Take back the steps of runs that ended with an earlier host of this session."""
        actor = self.board.orchestrator(self.agent_id, run_id="run_host")
        workers = {slot.agent_id for slot in self._dispatcher.roster}
        return await release_orphaned_steps(self.board, actor, workers)

    # Its life.

    async def __aenter__(self) -> Self:
        """Begin to renew leases; tell what was found in the logs."""
        actor = self.board.orchestrator(self.agent_id, run_id="run_host")
        for line in (await self.board.list(actor)).tasks:
            failed = line.status == "unavailable"
            event = RunEvent.WAL_FAILED if failed else RunEvent.WAL_REPLAYED
            self._publish(
                event.value, line.task_id, payload={"error": line.error} if failed else {}
            )
            if not failed:
                self._followed.add(line.task_id)
                if self._event_bus.has_listeners:
                    self._start_following(line.task_id, self._seq_now(line.task_id))
        self._spawn(self._keep_leases())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop every run, write down its end, and let the listeners end."""
        closing = asyncio.ensure_future(self.close())
        try:
            await asyncio.shield(closing)
        finally:
            if not closing.done():
                await asyncio.wait([closing])
            for task in list(self._background):
                task.cancel()
            if self._background:
                await asyncio.wait(list(self._background))
            self._event_bus.close()

    async def close(self) -> None:
        """Stop every run and return when the end of each is written; no run starts any more."""
        await self._dispatcher.close()
        if self.returns_steps_on_close:
            actor = self.board.orchestrator(self.agent_id, run_id="run_host")
            await reopen_stopped(self.board, actor, self._dispatcher.worker_runs.values())

    def follow(self, task_id: TaskId) -> None:
        """Tell listeners of every change of this Task, from its first line on."""
        if self._event_bus.has_listeners:
            self._start_following(task_id, 0)
        self._followed.add(task_id)

    def _start_following(self, task_id: TaskId, after: Seq | None) -> None:
        name = f"follow {task_id}"
        if any(task.get_name() == name for task in self._background):
            return
        self._spawn(self._follow(task_id, after), name)

    async def _follow(self, task_id: TaskId, after: Seq | None) -> None:
        actor = self.board.orchestrator(self.agent_id, run_id="run_host")
        try:
            if after is None:
                after = await self.board.read(task_id, lambda task: task.seq, actor)
            async with aclosing(self.board.follow(task_id, after=after)) as records:
                async for record in records:
                    if not self._event_bus.has_listeners:
                        continue
                    self._event_bus.publish(
                        SessionEvent(
                            event_type=record.event_type.value,
                            session_id=self.board.session_id,
                            at=record.created_at,
                            task_id=task_id,
                            step_id=record.step_id,
                            agent_id=record.actor_agent_id,
                            run_id=record.actor_run_id,
                            wal_seq=record.seq,
                            payload=msgspec.to_builtins(record.payload),
                        )
                    )
        except TaskloomError as error:
            self._publish(RunEvent.WAL_FAILED.value, task_id, payload={"error": error.as_dict()})
        self._followed.discard(task_id)  # It has ended, or cannot be read.

    async def _keep_leases(self) -> None:
        interval_s = self.board.rules.lease.total_seconds() / 4
        while True:
            await asyncio.sleep(interval_s)
            await self._dispatcher.renew()

    def _publish(self, event_type: str, task_id: TaskId, payload: dict[str, Any]) -> None:
        self._event_bus.publish(
            SessionEvent(
                event_type=event_type,
                session_id=self.board.session_id,
                at=self.board.clock.now(),
                task_id=task_id,
                payload=payload,
            )
        )

    def _spawn(self, work: Coroutine[Any, Any, None], name: str | None = None) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def _actor(self) -> Actor:
        """Return the actor for the run that is calling; nothing a model sends is in it."""
        return self.board.orchestrator(self.agent_id, run_id=run_id())

    def _worker_tools(self, worker_run: WorkerRun) -> list[Tool]:
        return WorkerTools(self._dispatcher.worker_runner, self.settings, worker_run).tools(
            self._language
        )

    def _text_for(self, worker_run: WorkerRun) -> Callable[[], Awaitable[str]]:
        async def text() -> str:
            return await board_text(self.board, worker_run.actor, self.settings, self._count_tokens)

        return text
