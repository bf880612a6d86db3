"""Commands in, events out. The only place where the board says yes or no.

Pure: the same Task, command, actor, moment and rules give the same answer, and nothing is
changed by asking. The order of checks is the same for every command: may this actor ask it at
all, does the Task still take changes, then the command's own conditions.
"""

from datetime import datetime
from typing import TypeAlias, assert_never

from taskloom.board import commands as cmd
from taskloom.board.actor import Actor, require_orchestrator, require_sight
from taskloom.board.claiming import decide_claim
from taskloom.board.events import Event
from taskloom.board.finishing import decide_cancel, decide_complete, decide_fail
from taskloom.board.leasing import decide_expiry
from taskloom.board.limits import DEFAULT_RULES, Rules
from taskloom.board.stepping import decide_end_of_run, decide_renewal, decide_step
from taskloom.board.task import Task
from taskloom.board.updating import decide_update
from taskloom.errors import Code, Refused

_Asked: TypeAlias = (
    cmd.UpdateBoard
    | cmd.ClaimStep
    | cmd.UpdateStep
    | cmd.CompleteTask
    | cmd.FailTask
    | cmd.CancelTask
    | cmd.EndRun
    | cmd.RenewLease
)
"""Everything but the expiry of leases, which nobody asks for."""


def decide(
    task: Task, command: cmd.Command, actor: Actor, now: datetime, rules: Rules = DEFAULT_RULES
) -> list[Event]:
    """Return the events that `command` causes, or raise `Refused`. Changes nothing.

    An empty list is a yes that needs nothing written.
    """
    if isinstance(command, cmd.ExpireLeases):
        return [] if task.is_terminal else decide_expiry(task, now)
    _check_permission(task, command, actor)
    if task.is_terminal:
        if isinstance(command, cmd.EndRun):
            return []  # A late worker may end; there is nothing left to write.
        raise Refused(
            Code.TASK_TERMINAL,
            f"Task {task.task_id!r} is {task.status.value}, and that is final. Create a new Task "
            "for further work.",
            {"task_id": task.task_id, "status": task.status.value},
        )
    return _decide(task, command, actor, now, rules)


def _decide(task: Task, command: _Asked, actor: Actor, now: datetime, rules: Rules) -> list[Event]:
    match command:
        case cmd.UpdateBoard():
            return decide_update(task, command, rules)
        case cmd.ClaimStep():
            return decide_claim(task, command, actor, now, rules)
        case cmd.UpdateStep():
            return decide_step(task, command, actor, now, rules)
        case cmd.CompleteTask():
            return decide_complete(task, command, rules)
        case cmd.FailTask():
            return decide_fail(task, command, rules)
        case cmd.CancelTask():
            return decide_cancel(task, command, rules)
        case cmd.EndRun():
            return decide_end_of_run(task, command, actor)
        case cmd.RenewLease():
            return decide_renewal(task, command, actor, now, rules)
        case _:
            assert_never(command)


def _check_permission(task: Task, command: cmd.Command, actor: Actor) -> None:
    match command:
        case cmd.UpdateBoard():
            require_orchestrator(actor, "change a Task's content or topology")
        case cmd.CompleteTask() | cmd.FailTask() | cmd.CancelTask():
            require_orchestrator(actor, "end a Task")
        case _:
            require_sight(actor, task.task_id)
