"""The same board for callers without an event loop: scripts, threads, a shell."""

from collections.abc import Callable
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
    check_request,
    query_steps,
    view_task,
)
from taskloom.board.actor import require_sight
from taskloom.errors import TaskloomError
from taskloom.ids import TaskId
from taskloom.runtime.listing import ListTasks, list_tasks
from taskloom.runtime.task_writer import TaskWriter
from taskloom.runtime.task_writers import TaskWriters

_T = TypeVar("_T")


class SyncBoard:
    """One session's board, blocking. Any number of threads may use it."""

    def __init__(self, writers: TaskWriters) -> None:
        """Serve the Tasks of a session; a `Board` may serve the same ones (`board.writers`)."""
        self.writers = writers

    def send(self, command: CreateTask | Command, actor: Actor) -> Receipt:
        """Carry out a command; return when it is durable."""
        if isinstance(command, CreateTask):
            return self.writers.create(command, actor)
        check_request(command, actor)
        writer = self.writers.writer(command.task_id)
        try:
            return writer.send(command, actor)
        except TaskloomError:
            # Another process may have ended the Task and used its id for a new one.
            other = self.writers.current(command.task_id, writer)
            if other is None:
                raise
            return other.send(command, actor)
        finally:
            if not writer.is_alive:
                self.writers.retire(command.task_id)

    def get(
        self, task_id: TaskId, actor: Actor, *, include_terminal_steps: bool = True
    ) -> TaskView:
        """Show a Task, active or ended."""
        writer = self.writers.writer(task_id)

        def view(task: Task) -> TaskView:
            require_sight(actor, task.task_id)
            return view_task(task, writer.wal_path, include_terminal_steps=include_terminal_steps)

        return self._ask(task_id, writer, view, actor)

    def query(self, query: QuerySteps, actor: Actor) -> StepPage:
        """Return a page of steps."""
        writer = self.writers.writer(query.task_id)
        return self._ask(query.task_id, writer, lambda task: query_steps(task, query, actor), actor)

    def _ask(
        self, task_id: TaskId, writer: TaskWriter, ask: Callable[[Task], _T], actor: Actor
    ) -> _T:
        answer = writer.ask(ask, actor)
        other = self.writers.current(task_id, writer)
        return answer if other is None else other.ask(ask, actor)

    def list(self, actor: Actor, query: ListTasks | None = None) -> TaskPage:
        """Return a page of the session's Tasks, newest first."""
        return list_tasks(self.writers, query or ListTasks(), actor)

    def __enter__(self) -> Self:
        """Rebuild the active Tasks."""
        self.writers.resume()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close every log."""
        self.writers.close()
