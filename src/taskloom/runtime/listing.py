"""Listing a session's Tasks, reading no more logs than the page shows."""

from dataclasses import dataclass

from taskloom.board import TASK_TERMINAL, Actor, TaskPage, TaskStatus, validation
from taskloom.board.actor import require_orchestrator
from taskloom.runtime.log_index import LogEntry
from taskloom.runtime.task_writers import TaskWriters


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTasks:
    """Which Tasks; what is left out does not limit."""

    status: TaskStatus | None = None
    include_terminal: bool = False
    limit: int = 50
    offset: int = 0


def list_tasks(session: TaskWriters, query: ListTasks, actor: Actor) -> TaskPage:
    """Answer, newest first. May block."""
    require_orchestrator(actor, "list the session's Tasks")
    limit = validation.number(query.limit, "$.limit", least=1, most=10_000)
    offset = validation.number(query.offset, "$.offset", least=0, most=1 << 40)
    wanted = query.status
    if wanted is not None:
        wanted = TaskStatus(
            validation.one_of(wanted, "$.status", [status.value for status in TaskStatus])
        )
    found = session.found()
    if wanted in TASK_TERMINAL:
        # How a Task ended stands in its last line: nothing need be opened to choose.
        found = [each for each in found if each.ended is wanted]
        wanted = None
    elif not query.include_terminal:
        found = [each for each in found if each.ended is None]
    if wanted is not None:
        found = [each for each in found if _may_be(each, wanted)]
        lines = [line for line in map(session.line, found) if line.status == wanted.value]
        page = lines[offset : offset + limit]
        return TaskPage(tasks=tuple(page), total=len(lines), has_more=len(lines) > offset + limit)
    page = [session.line(each) for each in found[offset : offset + limit]]
    return TaskPage(tasks=tuple(page), total=len(found), has_more=len(found) > offset + limit)


def _may_be(found: LogEntry, wanted: TaskStatus) -> bool:
    return found.ended is wanted if found.ended is not None else True
