"""Who a decision comes from, as its lines will say."""

from datetime import datetime

from taskloom.board import Actor, Task
from taskloom.codec import EventAuthor
from taskloom.errors import Code, RefusedError
from taskloom.ids import CommandId


def author_of(task: Task, actor: Actor, now: datetime, command_id: CommandId | None) -> EventAuthor:
    """Return what all lines of one decision share."""
    return EventAuthor(
        task.session_id,
        task.task_id,
        task.event_prefix,
        actor.agent_id,
        actor.run_id,
        now,
        command_id,
    )


def check_session(task: Task, actor: Actor) -> None:
    """Refuse an actor of another session."""
    if actor.session_id != task.session_id and not task.foreign:
        raise RefusedError(
            Code.PERMISSION_DENIED,
            f"Task {task.task_id!r} belongs to session {task.session_id!r}; an agent of session "
            f"{actor.session_id!r} cannot change it.",
            {"task_id": task.task_id, "session_id": task.session_id},
        )
