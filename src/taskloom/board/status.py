"""The statuses of Tasks and steps, and the tables of legal transitions.

Rule 1: `STEP_NEXT` and `TASK_NEXT` alone decide which event may follow which status; a missing
        pair is illegal. The diagrams in the docs are drawn from them.
Rule 2: who may cause a change, and on which conditions, is decided in `actor` and `decide`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class TaskStatus(StrEnum):
    """The status of a Task."""

    PENDING = "pending"
    RUNNING = "running"
    BLOCKED = "blocked"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class StepStatus(StrEnum):
    """The status of a step."""

    PENDING = "pending"
    READY = "ready"
    CLAIMED = "claimed"
    RUNNING = "running"
    BLOCKED = "blocked"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class EventType(StrEnum):
    """The names of events in the log. Renaming a class does not change them."""

    TASK_CREATED = "task_created"
    TASK_RUNNING = "task_running"
    TASK_UPDATED = "task_updated"
    TASK_BLOCKED = "task_blocked"
    TASK_REOPENED = "task_reopened"
    TASK_COMPLETED = "task_completed"
    TASK_FAILED = "task_failed"
    TASK_CANCELLED = "task_cancelled"
    STEP_READY = "task_step_ready"
    STEP_CLAIMED = "task_step_claimed"
    STEP_STARTED = "task_step_started"
    STEP_UPDATED = "task_step_updated"
    STEP_BLOCKED = "task_step_blocked"
    STEP_COMPLETED = "task_step_completed"
    STEP_FAILED = "task_step_failed"
    STEP_CANCELLED = "task_step_cancelled"
    STEP_REOPENED = "task_step_reopened"
    STEP_LEASE_EXPIRED = "task_step_lease_expired"


TASK_TERMINAL: Final = frozenset({TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED})
"""The statuses in which a Task has ended."""

TERMINAL_EVENTS: Final = frozenset(
    {EventType.TASK_COMPLETED, EventType.TASK_FAILED, EventType.TASK_CANCELLED}
)
"""No event follows one of these, so the last line of a log tells whether its Task has ended."""

STEP_OVER: Final = frozenset({StepStatus.COMPLETED, StepStatus.FAILED, StepStatus.CANCELLED})
"""Queries leave these steps out by default. A failed one can still be reopened."""

HELD: Final = frozenset({StepStatus.CLAIMED, StepStatus.RUNNING})
"""A worker run holds the step."""

ALIVE: Final = frozenset({StepStatus.READY, StepStatus.CLAIMED, StepStatus.RUNNING})
"""The Task is running while a step has one of these statuses."""

WAITING: Final = frozenset({StepStatus.PENDING, StepStatus.READY})
"""No run has claimed the step; the board moves it between the two."""

_S, _E = StepStatus, EventType

STEP_NEXT: Final[Mapping[StepStatus, Mapping[EventType, frozenset[StepStatus]]]] = {
    _S.PENDING: {
        _E.STEP_READY: frozenset({_S.READY}),
        _E.STEP_UPDATED: frozenset({_S.PENDING}),
        _E.STEP_FAILED: frozenset({_S.FAILED}),
        _E.STEP_CANCELLED: frozenset({_S.CANCELLED}),
    },
    _S.READY: {
        _E.STEP_CLAIMED: frozenset({_S.CLAIMED}),
        # A new open dependency returns a ready step to pending.
        _E.STEP_UPDATED: frozenset({_S.READY, _S.PENDING}),
        _E.STEP_COMPLETED: frozenset({_S.COMPLETED}),
        _E.STEP_FAILED: frozenset({_S.FAILED}),
        _E.STEP_CANCELLED: frozenset({_S.CANCELLED}),
    },
    _S.CLAIMED: {
        _E.STEP_STARTED: frozenset({_S.RUNNING}),
        _E.STEP_UPDATED: frozenset({_S.CLAIMED}),
        _E.STEP_BLOCKED: frozenset({_S.BLOCKED}),
        _E.STEP_COMPLETED: frozenset({_S.COMPLETED}),
        _E.STEP_FAILED: frozenset({_S.FAILED}),
        _E.STEP_CANCELLED: frozenset({_S.CANCELLED}),
        _E.STEP_LEASE_EXPIRED: frozenset({_S.PENDING}),
    },
    _S.RUNNING: {
        _E.STEP_UPDATED: frozenset({_S.RUNNING}),
        _E.STEP_BLOCKED: frozenset({_S.BLOCKED}),
        _E.STEP_COMPLETED: frozenset({_S.COMPLETED}),
        _E.STEP_FAILED: frozenset({_S.FAILED}),
        _E.STEP_CANCELLED: frozenset({_S.CANCELLED}),
        _E.STEP_LEASE_EXPIRED: frozenset({_S.PENDING}),
    },
    _S.BLOCKED: {
        _E.STEP_UPDATED: frozenset({_S.BLOCKED}),
        _E.STEP_REOPENED: frozenset({_S.PENDING}),
        _E.STEP_FAILED: frozenset({_S.FAILED}),  # only with the whole Task
        _E.STEP_CANCELLED: frozenset({_S.CANCELLED}),  # only with the whole Task
    },
    _S.FAILED: {
        _E.STEP_UPDATED: frozenset({_S.FAILED}),
        _E.STEP_REOPENED: frozenset({_S.PENDING}),
    },
    _S.COMPLETED: {},  # history
    _S.CANCELLED: {},  # final
}
"""Status, event -> the statuses that may follow."""

_T = TaskStatus

TASK_NEXT: Final[Mapping[TaskStatus, Mapping[EventType, TaskStatus]]] = {
    _T.PENDING: {
        _E.TASK_RUNNING: _T.RUNNING,
        _E.TASK_UPDATED: _T.PENDING,
        _E.TASK_BLOCKED: _T.BLOCKED,
        _E.TASK_COMPLETED: _T.COMPLETED,
        _E.TASK_FAILED: _T.FAILED,
        _E.TASK_CANCELLED: _T.CANCELLED,
    },
    _T.RUNNING: {
        _E.TASK_UPDATED: _T.RUNNING,
        _E.TASK_BLOCKED: _T.BLOCKED,
        _E.TASK_COMPLETED: _T.COMPLETED,
        _E.TASK_FAILED: _T.FAILED,
        _E.TASK_CANCELLED: _T.CANCELLED,
    },
    _T.BLOCKED: {
        _E.TASK_UPDATED: _T.BLOCKED,
        _E.TASK_REOPENED: _T.PENDING,
        _E.TASK_COMPLETED: _T.COMPLETED,
        _E.TASK_FAILED: _T.FAILED,
        _E.TASK_CANCELLED: _T.CANCELLED,
    },
    _T.COMPLETED: {},
    _T.FAILED: {},
    _T.CANCELLED: {},
}
"""Status, event -> next status; nothing follows the end of a Task."""
