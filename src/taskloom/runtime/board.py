"""A session's board for asynchronous callers: send a command, read, follow.

    async with open_board("project", session="s1") as board:
        await board.send(CreateTask(...), actor)

Any number of tasks, loops and threads may use one board. A command that is decided at once and
whose sync is quick never leaves the caller's thread. What has to wait for another process, for a
long log or for a slow disk runs on a thread, the way `SyncBoard` runs it.
"""

import builtins
from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from datetime import datetime
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

import anyio
import anyio.to_thread

from taskloom.board import (
    Actor,
    Command,
    CreateTask,
    NewStep,
    QuerySteps,
    Receipt,
    StepPage,
    Task,
    TaskLine,
    TaskPage,
    TaskStatus,
    TaskView,
    query_steps,
    require_orchestrator,
    view_task,
)
from taskloom.board.validation import kind, refuse
from taskloom.codec import EventHeader
from taskloom.ids import AgentId, Seq, TaskId
from taskloom.runtime.board_actors import BoardActors
from taskloom.runtime.change_signal import ChangeSignal
from taskloom.runtime.follow import LOOK_S, Record, follow
from taskloom.runtime.group_commit import GroupCommit
from taskloom.runtime.handles import TaskHandle
from taskloom.runtime.handles.tasks import (
    ORCHESTRATOR,
    create_task,
    list_task_lines,
    new_run_id,
    new_task,
)
from taskloom.runtime.log_reader import ListTasks, list_tasks
from taskloom.runtime.task_writer import Look, TaskWriter
from taskloom.runtime.task_writers import TaskWriters
from taskloom.runtime.write_lock import WouldBlockError

_T = TypeVar("_T")
_P = ParamSpec("_P")


class Board(BoardActors):
    """One session's board. `open_board` opens it."""

    def __init__(self, writers: TaskWriters) -> None:
        """Serve the Tasks of a session. A `SyncBoard` may serve the same ones."""
        super().__init__(writers)
        self._commits: dict[AbstractEventLoop, GroupCommit] = {}
        self._last_commit: GroupCommit | None = None

    # Tasks by handles.

    async def create_task(
        self,
        task_id: TaskId,
        title: str,
        steps: Iterable[NewStep] = (),
        *,
        summary: str = "",
        log_name: str | None = None,
        exist_ok: bool = False,
        agent: AgentId = ORCHESTRATOR,
    ) -> TaskHandle:
        """Create a Task with its plan.

        Args:
            task_id: Its name among the session's active Tasks: a-z, 0-9, - and _.
            title: What is to be done, in a line.
            steps: The plan, made with `step`.
            summary: What every worker needs to know.
            log_name: The name of its log; without one, `task_id`, or if an earlier Task has that,
                the first free of `task_id-2`, `task_id-3` and so on.
            exist_ok: Return the handle of the active Task of this id if it was created with the
                same title, summary and steps.
            agent: Who owns the plan.

        Raises:
            RefusedError: The plan is wrong, or a Task of this id is active; nothing was written.
        """
        command = new_task(task_id, title, steps, summary, log_name)
        handle = self.task(task_id, agent=agent)
        await create_task(self, command, handle.actor, log_name=log_name, exist_ok=exist_ok)
        return handle

    def task(self, task_id: TaskId, *, agent: AgentId = ORCHESTRATOR) -> TaskHandle:
        """Return the handle of a Task. Whether there is one shows at its first use."""
        return TaskHandle(self, task_id, self.orchestrator(agent, run_id=new_run_id(agent)))

    async def tasks(
        self, status: TaskStatus | Iterable[TaskStatus] | None = None
    ) -> builtins.list[TaskLine]:
        """Return the active Tasks, or those of one or several statuses, newest first."""
        return await list_task_lines(self, status)

    # Commands and questions.

    async def send(self, command: CreateTask | Command, actor: Actor) -> Receipt:
        """Carry out a command; return when it is durable.

        Raises:
            RefusedError: The answer is no, and nothing changed.
            StorageError: It could not be made durable.
            UnavailableError: The Task's log is damaged.
        """
        try:
            pending = self.writers.submit(command, actor)
        except WouldBlockError:
            return await _in_thread(self.writers.send, command, actor)
        await self._group_commit().commit(pending)
        if not pending.writer.is_alive:
            if isinstance(pending.outcome, Exception):
                # The Task has ended; another process may have used its id for a new one.
                return await _in_thread(self.writers.send, command, actor)
            await _in_thread(self.writers.retire, command.task_id)
        return pending.result()

    async def get(
        self, task_id: TaskId, actor: Actor, *, include_terminal_steps: bool = True
    ) -> TaskView:
        """Show a Task, active or ended."""

        def look(task: Task, wal_path: str) -> TaskView:
            return view_task(task, wal_path, include_terminal_steps=include_terminal_steps)

        return await self._read(task_id, look, actor)

    async def query(self, query: QuerySteps, actor: Actor) -> StepPage:
        """Return a page of steps."""
        if not isinstance(query, QuerySteps):  # pyright: ignore[reportUnnecessaryIsInstance] # callers may send anything
            refuse("$", f"must be a QuerySteps, not {kind(query)}.")
        return await self._read(
            query.task_id, lambda task, _: query_steps(task, query, actor), actor
        )

    async def read(self, task_id: TaskId, look: Callable[[Task], _T], actor: Actor) -> _T:
        """Return what `look` makes of the Task as it is now, after ended leases were taken back.

        `look` must be quick, change nothing and keep nothing of the Task, which will change. It
        may be called twice.
        """
        return await self._read(task_id, lambda task, _: look(task), actor)

    async def watch(self, task_id: TaskId, *, look_s: float = LOOK_S) -> ChangeSignal:
        """Return what wakes its owner at every change of a Task; use it with `async with`."""
        return ChangeSignal(await self._writer(task_id), look_s)

    async def log_names(self) -> frozenset[str]:
        """Return the names of the session's logs."""
        return frozenset(each.name for each in await _in_thread(self.writers.found))

    async def recent(self, *, since: datetime, limit: int) -> list[EventHeader]:
        """Return the session's last changes since a moment, oldest first."""
        return await _in_thread(self._recent.changes, since=since, limit=limit)

    async def list(self, actor: Actor, query: ListTasks | None = None) -> TaskPage:
        """Return a page of the session's Tasks, newest first."""
        require_orchestrator(actor, "list the session's Tasks")
        return await _in_thread(list_tasks, self.writers, query or ListTasks())

    async def follow(
        self, task_id: TaskId, *, after: Seq = 0, look_s: float = LOOK_S
    ) -> AsyncGenerator[Record]:
        """Yield every event after line `after`: first the recorded ones, then new ones.

        It ends with the Task: nothing follows the last event of one that has ended.
        """
        writer = await self._writer(task_id)
        wal = await _in_thread(self.writers.open_wal, task_id)
        async with aclosing(follow(writer, wal, after, look_s)) as records:
            async for record in records:
                yield record

    async def aclose(self) -> None:
        """Close every log. What was acknowledged is durable already."""
        self._last_commit = None
        self._commits.clear()
        await _in_thread(self.writers.close)

    async def __aenter__(self) -> Self:
        """Restore the active Tasks."""
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

    async def _writer(self, task_id: TaskId) -> TaskWriter:
        writer = self.writers.known(task_id)
        return writer if writer is not None else await _in_thread(self.writers.writer, task_id)

    async def _read(self, task_id: TaskId, look: Look[_T], actor: Actor) -> _T:
        writer = self.writers.known(task_id)
        if writer is not None:
            try:
                pending = writer.read(look, actor, wait=False)
            except WouldBlockError:
                pass
            else:
                await self._group_commit().commit(pending)
                if writer.is_alive:
                    return pending.result()
        return await _in_thread(self.writers.read, task_id, look, actor)

    def _group_commit(self) -> GroupCommit:
        """Return the group commit of the running loop."""
        loop = get_running_loop()
        commit = self._last_commit
        if commit is None or commit.loop is not loop:
            for closed in [each for each in self._commits if each.is_closed()]:
                del self._commits[closed]
            commit = self._commits.setdefault(loop, GroupCommit(loop))
            self._last_commit = commit
        return commit


async def _in_thread(call: Callable[_P, _T], *args: _P.args, **named: _P.kwargs) -> _T:
    return await anyio.to_thread.run_sync(lambda: call(*args, **named))
