"""The same board for callers without an event loop: scripts, threads, a shell."""

import builtins
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import closing
from datetime import datetime
from types import TracebackType
from typing import Self, TypeVar

from taskloom.board import (
    Actor,
    Command,
    CreateTask,
    NewStep,
    QuerySteps,
    Receipt,
    Rules,
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
from taskloom.runtime.change_signal import SyncChangeSignal
from taskloom.runtime.follow import LOOK_S, Record, follow_sync
from taskloom.runtime.handles import SyncTaskHandle
from taskloom.runtime.handles.access import Signal, run_blocking
from taskloom.runtime.handles.tasks import (
    ORCHESTRATOR,
    create_task,
    list_task_lines,
    new_run_id,
    new_task,
)
from taskloom.runtime.log_reader import ListTasks, list_tasks

_T = TypeVar("_T")


class SyncBoard(BoardActors):
    """One session's board, blocking. Any number of threads may use it.

    Its methods are those of `Board` and mean the same. `open_board_sync` opens it.
    """

    # Tasks by handles.

    def create_task(
        self,
        task_id: TaskId,
        title: str,
        steps: Iterable[NewStep] = (),
        *,
        summary: str = "",
        log_name: str | None = None,
        exist_ok: bool = False,
        agent: AgentId = ORCHESTRATOR,
    ) -> SyncTaskHandle:
        """Create a Task with its plan; the parameters are those of `Board.create_task`.

        Raises:
            RefusedError: The plan is wrong, or a Task of this id is active; nothing was written.
        """
        command = new_task(task_id, title, steps, summary, log_name)
        handle = self.task(task_id, agent=agent)
        create = create_task(
            _BlockingAccess(self), command, handle.actor, log_name=log_name, exist_ok=exist_ok
        )
        run_blocking(create)
        return handle

    def task(self, task_id: TaskId, *, agent: AgentId = ORCHESTRATOR) -> SyncTaskHandle:
        """Return the handle of a Task. Whether there is one shows at its first use."""
        return SyncTaskHandle(
            _BlockingAccess(self), task_id, self.orchestrator(agent, run_id=new_run_id(agent))
        )

    def tasks(
        self, status: TaskStatus | Iterable[TaskStatus] | None = None
    ) -> builtins.list[TaskLine]:
        """Return the active Tasks, or those of one or several statuses, newest first."""
        return run_blocking(list_task_lines(_BlockingAccess(self), status))

    # Commands and questions.

    def send(self, command: CreateTask | Command, actor: Actor) -> Receipt:
        """Carry out a command; return when it is durable."""
        return self.writers.send(command, actor)

    def get(
        self, task_id: TaskId, actor: Actor, *, include_terminal_steps: bool = True
    ) -> TaskView:
        """Show a Task, active or ended."""

        def look(task: Task, wal_path: str) -> TaskView:
            return view_task(task, wal_path, include_terminal_steps=include_terminal_steps)

        return self.writers.read(task_id, look, actor)

    def query(self, query: QuerySteps, actor: Actor) -> StepPage:
        """Return a page of steps."""
        if not isinstance(query, QuerySteps):  # pyright: ignore[reportUnnecessaryIsInstance] # callers may send anything
            refuse("$", f"must be a QuerySteps, not {kind(query)}.")
        return self.writers.read(
            query.task_id, lambda task, _: query_steps(task, query, actor), actor
        )

    def read(self, task_id: TaskId, look: Callable[[Task], _T], actor: Actor) -> _T:
        """Return what `look` makes of the Task as it is now, after ended leases were taken back."""
        return self.writers.read(task_id, lambda task, _: look(task), actor)

    def watch(self, task_id: TaskId, *, look_s: float = LOOK_S) -> SyncChangeSignal:
        """Return what wakes its owner at every change of a Task; use it with `with`."""
        return SyncChangeSignal(self.writers.writer(task_id), look_s)

    def log_names(self) -> frozenset[str]:
        """Return the names of the session's logs."""
        return frozenset(each.name for each in self.writers.found())

    def recent(self, *, since: datetime, limit: int) -> list[EventHeader]:
        """Return the session's last changes since a moment, oldest first."""
        return self._recent.changes(since=since, limit=limit)

    def list(self, actor: Actor, query: ListTasks | None = None) -> TaskPage:
        """Return a page of the session's Tasks, newest first."""
        require_orchestrator(actor, "list the session's Tasks")
        return list_tasks(self.writers, query or ListTasks())

    def follow(
        self, task_id: TaskId, *, after: Seq = 0, look_s: float = LOOK_S
    ) -> Generator[Record]:
        """Yield every event after line `after`: first the recorded ones, then new ones."""
        writer = self.writers.writer(task_id)
        wal = self.writers.open_wal(task_id)
        with closing(follow_sync(writer, wal, after, look_s)) as records:
            yield from records

    def close(self) -> None:
        """Close every log. What was acknowledged is durable already."""
        self.writers.close()

    def __enter__(self) -> Self:
        """Restore the active Tasks."""
        self.writers.resume()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close every log."""
        self.close()


class _BlockingAccess:
    """A `SyncBoard` behind the methods of a `Board`; its coroutines block."""

    def __init__(self, board: SyncBoard) -> None:
        self._board = board
        self.orchestrator = board.orchestrator
        self.worker = board.worker
        self.lease_renewer = board.lease_renewer

    @property
    def rules(self) -> Rules:
        return self._board.rules

    async def send(self, command: CreateTask | Command, actor: Actor) -> Receipt:
        return self._board.send(command, actor)

    async def get(self, task_id: TaskId, actor: Actor) -> TaskView:
        return self._board.get(task_id, actor)

    async def query(self, query: QuerySteps, actor: Actor) -> StepPage:
        return self._board.query(query, actor)

    async def read(self, task_id: TaskId, look: Callable[[Task], _T], actor: Actor) -> _T:
        return self._board.read(task_id, look, actor)

    async def list(self, actor: Actor, query: ListTasks | None = None) -> TaskPage:
        return self._board.list(actor, query)

    async def log_names(self) -> frozenset[str]:
        return self._board.log_names()

    async def watch(self, task_id: TaskId) -> Signal:
        return _BlockingSignal(self._board.watch(task_id))

    async def follow(self, task_id: TaskId, *, after: Seq = 0) -> AsyncGenerator[Record]:
        with closing(self._board.follow(task_id, after=after)) as records:
            for record in records:
                yield record


class _BlockingSignal:
    def __init__(self, signal: SyncChangeSignal) -> None:
        self._signal = signal
        self.reset = signal.reset

    async def __aenter__(self) -> Self:
        self._signal.__enter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._signal.__exit__(kind, error, trace)

    async def wait(self, since: int) -> None:
        self._signal.wait(since)
