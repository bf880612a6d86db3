"""A session's board for asynchronous callers: send a command, ask, follow.

    async with open_board("project", session="s1") as board:
        await board.send(CreateTask(...), actor)

Any number of tasks, loops and threads may use one board. A change that is decided at once and
whose sync is quick never leaves the caller's thread; waiting for another process, reading a
long log and a slow disk do.
"""

from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import datetime
from types import TracebackType
from typing import Final, Self, TypeVar

import anyio
import anyio.to_thread

from taskloom.board import (
    Actor,
    Command,
    CreateTask,
    QuerySteps,
    Receipt,
    Role,
    Rules,
    Scope,
    StepPage,
    Summary,
    Task,
    TaskPage,
    TaskView,
    UpdateBoard,
    check_request,
    query_steps,
    summarise,
    view_task,
)
from taskloom.board.actor import require_sight
from taskloom.board.validation import kind, refuse
from taskloom.errors import TaskloomError
from taskloom.ids import AgentId, PoolId, RunId, Seq, SessionId, StepId, TaskId
from taskloom.runtime.change_signal import ChangeSignal
from taskloom.runtime.clock import Clock
from taskloom.runtime.follow import LOOK_S, Record, follow
from taskloom.runtime.group_commit import GroupCommit
from taskloom.runtime.listing import ListTasks, list_tasks
from taskloom.runtime.pending_answer import PendingAnswer
from taskloom.runtime.recent_changes import Change, Recent
from taskloom.runtime.task_writer import TaskWriter
from taskloom.runtime.task_writers import TaskWriters

_T = TypeVar("_T")

_AT_ONCE_MAX: Final = 100
"""Operations of an update that is decided on the event loop's thread; bigger ones go to another."""


class Board:
    """One session's board."""

    def __init__(self, writers: TaskWriters) -> None:
        """Serve the Tasks of a session; `open_board` opens one from a directory."""
        self.writers = writers
        self._syncs: dict[tuple[AbstractEventLoop, TaskWriter], GroupCommit] = {}
        self._last_syncs: GroupCommit | None = None
        self._recent = Recent(writers)

    @property
    def session_id(self) -> SessionId:
        """The session whose Tasks these are."""
        return self.writers.session_id

    @property
    def rules(self) -> Rules:
        """The length of a lease, the default pool and the size limits."""
        return self.writers.rules

    @property
    def clock(self) -> Clock:
        """Where leases and the times of events come from."""
        return self.writers.clock

    # Who asks.

    def orchestrator(self, agent_id: AgentId, *, run_id: RunId) -> Actor:
        """Return the actor for one run of an Orchestrator."""
        return Actor(
            agent_id=agent_id,
            run_id=run_id,
            session_id=self.session_id,
            role=Role.ORCHESTRATOR,
        )

    def worker(
        self,
        agent_id: AgentId,
        *,
        run_id: RunId,
        task_id: TaskId,
        worker_pool_id: PoolId | None = None,
        allowed_step_ids: frozenset[StepId] | None = None,
    ) -> Actor:
        """Return the actor for one run of a worker that was dispatched to a Task."""
        return Actor(
            agent_id=agent_id,
            run_id=run_id,
            session_id=self.session_id,
            role=Role.WORKER,
            scope=Scope(
                task_id=task_id,
                worker_pool_id=worker_pool_id or self.rules.default_worker_pool,
                allowed_step_ids=allowed_step_ids,
            ),
        )

    # What they may ask.

    async def send(self, command: CreateTask | Command, actor: Actor) -> Receipt:
        """Carry out a command; return when it is durable.

        Raises:
            RefusedError: The answer is no, and nothing changed.
            StorageError: It could not be made durable.
            UnavailableError: The Task's log is damaged.
        """
        if isinstance(command, CreateTask):
            return await _in_thread(lambda: self.writers.create(command, actor))
        check_request(command, actor)
        there = self.writers.known(command.task_id)
        writer = there if there is not None else await self._desk(command.task_id)
        big = isinstance(command, UpdateBoard) and len(command.operations) > _AT_ONCE_MAX
        pending = None if big else writer.offer(command, actor, wait=False)
        if pending is None:
            return await _in_thread(lambda: self._send_in_thread(writer, command, actor))
        if not writer.is_safe(pending):
            syncs = self._syncs_of(writer)
            if not syncs.settle_alone(pending):
                await syncs.wait(pending)
        if not writer.is_alive:
            return await _in_thread(lambda: self._conclude(writer, pending, command, actor))
        return pending.answer

    async def get(
        self, task_id: TaskId, actor: Actor, *, include_terminal_steps: bool = True
    ) -> TaskView:
        """Show a Task, active or ended."""
        writer = await self._desk(task_id)

        def view(task: Task) -> TaskView:
            require_sight(actor, task.task_id)
            return view_task(task, writer.wal_path, include_terminal_steps=include_terminal_steps)

        return await self._ask(task_id, writer, view, actor)

    async def query(self, query: QuerySteps, actor: Actor) -> StepPage:
        """Return a page of steps."""
        if not isinstance(query, QuerySteps):  # pyright: ignore[reportUnnecessaryIsInstance] # callers may send anything
            refuse("$", f"must be a QuerySteps, not {kind(query)}.")
        writer = await self._desk(query.task_id)
        return await self._ask(
            query.task_id, writer, lambda task: query_steps(task, query, actor), actor
        )

    async def summary(self, task_id: TaskId, actor: Actor, *, budget_bytes: int = 4_800) -> Summary:
        """Return a Task in a few lines that fit the budget."""

        def write(task: Task) -> Summary:
            require_sight(actor, task.task_id)
            return summarise(task, budget_bytes=budget_bytes)

        return await self._ask(task_id, await self._desk(task_id), write, actor)

    async def read(self, task_id: TaskId, look: Callable[[Task], _T], actor: Actor) -> _T:
        """Return what `look` makes of the Task as it is now, after leases were looked at.

        `look` must be quick, change nothing and keep nothing of the Task: it goes on changing.
        """

        def allowed(task: Task) -> _T:
            require_sight(actor, task.task_id)
            return look(task)

        return await self._ask(task_id, await self._desk(task_id), allowed, actor)

    async def watch(self, task_id: TaskId, *, look_s: float = LOOK_S) -> ChangeSignal:
        """Return what wakes its owner at every change of a Task; use it with `async with`."""
        return ChangeSignal(await self._desk(task_id), look_s)

    def durable_seq(self, task_id: TaskId) -> Seq | None:
        """Return the last durable line of an active Task; None if its log is not open yet."""
        writer = self.writers.known(task_id)
        return writer.durable_seq if writer is not None else None

    async def recent(self, *, since: datetime, limit: int) -> list[Change]:
        """Return the session's last changes since a moment, oldest first."""
        return await _in_thread(lambda: self._recent.changes(since=since, limit=limit))

    async def list(self, actor: Actor, query: ListTasks | None = None) -> TaskPage:
        """Return a page of the session's Tasks, newest first."""
        return await _in_thread(lambda: list_tasks(self.writers, query or ListTasks(), actor))

    async def follow(
        self, task_id: TaskId, *, after: Seq = 0, look_s: float = LOOK_S
    ) -> AsyncGenerator[Record]:
        """Yield every event after line `after`: first what is there, then what comes.

        It ends with the Task: nothing follows the last event of one that is over.
        """
        writer = await self._desk(task_id)
        wal = await _in_thread(lambda: self.writers.open_wal(task_id))
        async with aclosing(follow(writer, wal, after, look_s)) as records:
            async for record in records:
                yield record

    def _send_in_thread(self, writer: TaskWriter, command: Command, actor: Actor) -> Receipt:
        pending = writer.offer(command, actor)
        assert pending is not None
        writer.settle(pending)
        return self._conclude(writer, pending, command, actor)

    def _conclude(
        self, writer: TaskWriter, pending: PendingAnswer[Receipt], command: Command, actor: Actor
    ) -> Receipt:
        """Answer; if the Task was found to have ended, ask the one that has its id now."""
        other = None
        if isinstance(pending.outcome, TaskloomError):
            other = self.writers.current(command.task_id, writer)
        if other is not None:
            return other.send(command, actor)
        if not writer.is_alive:
            self._retire(command.task_id, writer)
        return pending.answer

    def _retire(self, task_id: TaskId, writer: TaskWriter) -> None:
        """Let go of what belongs to a Task that has ended."""
        self._last_syncs = None
        for key in [key for key in self._syncs if key[1] is writer]:
            del self._syncs[key]
        self.writers.retire(task_id)

    async def aclose(self) -> None:
        """Close every log. What was acknowledged is durable already."""
        self._last_syncs = None
        self._syncs.clear()
        await _in_thread(self.writers.close)

    async def __aenter__(self) -> Self:
        """Rebuild the active Tasks."""
        await _in_thread(self.writers.resume)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close every log."""
        with anyio.CancelScope(shield=True):
            await self.aclose()

    async def _desk(self, task_id: TaskId) -> TaskWriter:
        writer = self.writers.known(task_id)
        if writer is not None:
            return writer
        return await _in_thread(lambda: self.writers.writer(task_id))

    async def _ask(
        self, task_id: TaskId, writer: TaskWriter, ask: Callable[[Task], _T], actor: Actor
    ) -> _T:
        was_alive = writer.is_alive
        pending = writer.look(ask, actor, wait=False)
        if pending is None:
            answer = await _in_thread(lambda: writer.ask(ask, actor))
        else:
            answer = await self._settled(writer, pending)
        if was_alive and not writer.is_alive:
            other = await _in_thread(lambda: self.writers.current(task_id, writer))
            if other is not None:
                return await _in_thread(lambda: other.ask(ask, actor))
        return answer

    async def _settled(self, writer: TaskWriter, pending: PendingAnswer[_T]) -> _T:
        if not writer.is_safe(pending):
            await self._syncs_of(writer).wait(pending)
        return pending.answer

    def _syncs_of(self, writer: TaskWriter) -> GroupCommit:
        loop = get_running_loop()
        syncs = self._last_syncs
        if syncs is not None and syncs.loop is loop and syncs.writer is writer:
            return syncs  # Mostly it is the one that was asked for last.
        key = (loop, writer)
        syncs = self._syncs.get(key)
        if syncs is None:
            for old in [old for old in self._syncs if old[0].is_closed()]:
                del self._syncs[old]
            syncs = self._syncs[key] = GroupCommit(loop, writer)
        self._last_syncs = syncs
        return syncs


async def _in_thread(call: Callable[[], _T]) -> _T:
    return await anyio.to_thread.run_sync(call)
