"""Deciding about leases that have run out."""

from datetime import datetime

from taskloom.board.actor import Actor
from taskloom.board.commands import ExpireLeases
from taskloom.board.decide.readiness import after_return
from taskloom.board.events import Event, StepLeaseExpired
from taskloom.board.rules import Rules
from taskloom.board.state.task import Task


def decide_expiry(
    task: Task, _command: ExpireLeases, _actor: Actor, now: datetime, _rules: Rules
) -> list[Event]:
    """Return the end of every lease that is past, and the steps that are ready again."""
    expired = task.index.expired(task.steps, now)
    events: list[Event] = []
    for step in expired:
        assert step.claimed_by_agent_id is not None
        assert step.claimed_by_run_id is not None
        assert step.lease_expires_at is not None
        end = StepLeaseExpired(
            step.status, step.claimed_by_agent_id, step.claimed_by_run_id, step.lease_expires_at
        )
        events.append(Event(end, step.step_id))
    return events + after_return(task, expired)
