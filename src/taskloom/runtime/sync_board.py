"""The same board for callers without an event loop: scripts, threads, a shell."""

from types import TracebackType
from typing import Self

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
from taskloom.board.actor import require_sight
from taskloom.ids import TaskId
from taskloom.runtime.listing import ListTasks, list_tasks
from taskloom.runtime.session import Session


class SyncBoard:
    """One session's board, blocking. Any number of threads may use it."""

    def __init__(self, session: Session) -> None:
        """Serve a session, often that of a `Board`: the two may be used side by side."""
        self.session = session

    def send(self, command: CreateTask | Command, actor: Actor) -> Receipt:
        """Carry out a command; return when it is durable."""
        if isinstance(command, CreateTask):
            return self.session.create(command, actor)
        desk = self.session.desk(command.task_id)
        receipt = desk.send(command, actor)
        if not desk.is_alive:
            self.session.retire(command.task_id)
        return receipt

    def get(
        self, task_id: TaskId, actor: Actor, *, include_terminal_steps: bool = True
    ) -> TaskView:
        """Show a Task, active or ended."""
        desk = self.session.desk(task_id)

        def view(task: Task) -> TaskView:
            require_sight(actor, task.task_id)
            return view_task(task, desk.wal_path, include_terminal_steps=include_terminal_steps)

        return desk.ask(view, actor)

    def query(self, query: QuerySteps, actor: Actor) -> StepPage:
        """Return a page of steps."""
        desk = self.session.desk(query.task_id)
        return desk.ask(lambda task: query_steps(task, query, actor), actor)

    def list(self, actor: Actor, query: ListTasks | None = None) -> TaskPage:
        """Return a page of the session's Tasks, newest first."""
        return list_tasks(self.session, query or ListTasks(), actor)

    def __enter__(self) -> Self:
        """Rebuild the active Tasks."""
        self.session.resume()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close every log."""
        self.session.close()
