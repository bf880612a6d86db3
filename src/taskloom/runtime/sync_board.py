"""The same board for callers without an event loop: scripts, threads, a shell."""

from collections.abc import Callable, Generator
from contextlib import closing
from datetime import datetime
from types import TracebackType
from typing import Self, TypeVar

from taskloom.board import (
    Actor,
    Command,
    CreateTask,
    QuerySteps,
    Receipt,
    StepPage,
    Task,
    TaskPage,
    TaskView,
    query_steps,
    view_task,
)
from taskloom.board.validation import kind, refuse
from taskloom.ids import Seq, TaskId
from taskloom.runtime.board_actors import BoardActors
from taskloom.runtime.change_signal import SyncChangeSignal
from taskloom.runtime.follow import LOOK_S, Record, follow_sync
from taskloom.runtime.listing import ListTasks, list_tasks
from taskloom.runtime.recent_changes import Change

_T = TypeVar("_T")


class SyncBoard(BoardActors):
    """One session's board, blocking. Any number of threads may use it.

    Its methods are those of `Board` and mean the same. `open_board_sync` opens it.
    """

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

    def recent(self, *, since: datetime, limit: int) -> list[Change]:
        """Return the session's last changes since a moment, oldest first."""
        return self._recent.changes(since=since, limit=limit)

    def list(self, actor: Actor, query: ListTasks | None = None) -> TaskPage:
        """Return a page of the session's Tasks, newest first."""
        return list_tasks(self.writers, query or ListTasks(), actor)

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
