"""Decides commands: the only place that accepts or refuses one.

Pure: the same Task, command, actor, time and rules give the same events, and nothing changes. The
order of checks is the same for every command: may this actor send it, does the Task still accept
changes, then the command's own conditions.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from taskloom.board import commands as cmd
from taskloom.board.actor import Actor, require_orchestrator, require_sight
from taskloom.board.decide.claim import decide_claim
from taskloom.board.decide.finish import decide_cancel, decide_complete, decide_fail
from taskloom.board.decide.step import (
    decide_end_of_run,
    decide_expiry,
    decide_renewal,
    decide_step,
)
from taskloom.board.decide.update import decide_update
from taskloom.board.events import Event
from taskloom.board.rules import DEFAULT_RULES, Rules
from taskloom.board.state.task import Task
from taskloom.board.validation import kind, refuse
from taskloom.errors import Code, RefusedError


def check_command(command: object) -> None:
    """Refuse what is not a command; callers may send anything."""
    if type(command) not in _DECIDERS:
        refuse("$", f"is not a command, but {kind(command)}.")


def authorise(task: Task, command: cmd.Command, actor: Actor) -> None:
    """Refuse an actor that may not send this command to this Task."""
    only_orchestrator = _ORCHESTRATORS.get(type(command))
    if only_orchestrator is not None:
        require_orchestrator(actor, only_orchestrator)
    elif not isinstance(command, cmd.ExpireLeases):  # Any agent may notice that a lease has ended.
        require_sight(actor, task.task_id)
    if actor.session_id != task.session_id and not task.from_reference_log:
        raise RefusedError(
            Code.PERMISSION_DENIED,
            f"Task {task.task_id!r} belongs to session {task.session_id!r}; an agent of session "
            f"{actor.session_id!r} cannot change it.",
            {"task_id": task.task_id, "session_id": task.session_id},
        )


def decide(
    task: Task, command: cmd.Command, actor: Actor, now: datetime, rules: Rules = DEFAULT_RULES
) -> list[Event]:
    """Return the events that `command` causes, or raise `RefusedError`. Changes nothing.

    An empty list accepts the command without writing anything.
    """
    authorise(task, command, actor)
    return decide_authorised(task, command, actor, now, rules)


def decide_authorised(
    task: Task, command: cmd.Command, actor: Actor, now: datetime, rules: Rules
) -> list[Event]:
    """Decide for an actor that `authorise` has accepted."""
    if task.is_terminal:
        if isinstance(command, cmd.EndRun | cmd.ExpireLeases):
            return []  # A worker may end late; there is nothing to write.
        raise RefusedError(
            Code.TASK_TERMINAL,
            f"Task {task.task_id!r} is {task.status.value}, and that is final. Create a new Task "
            "for further work.",
            {"task_id": task.task_id, "status": task.status.value},
        )
    return _DECIDERS[type(command)](task, command, actor, now, rules)


_ORCHESTRATORS: Final[Mapping[type, str]] = {
    cmd.UpdateBoard: "change a Task's content or topology",
    cmd.CompleteTask: "end a Task",
    cmd.FailTask: "end a Task",
    cmd.CancelTask: "end a Task",
}
"""The commands of the Orchestrator alone, and how a refusal names them."""

_DECIDERS: Final[Mapping[type, Callable[..., list[Event]]]] = {
    cmd.UpdateBoard: decide_update,
    cmd.ClaimStep: decide_claim,
    cmd.UpdateStep: decide_step,
    cmd.CompleteTask: decide_complete,
    cmd.FailTask: decide_fail,
    cmd.CancelTask: decide_cancel,
    cmd.EndRun: decide_end_of_run,
    cmd.RenewLease: decide_renewal,
    cmd.ExpireLeases: decide_expiry,
}
