"""What happens in orchestrator mode, as events for whoever watches.

Board changes have the names of the log's events; the others are listed here. A plain run
stream shows none of them: watch the hub for these.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct

from taskloom.ids import AgentId, RunId, SessionId, StepId, TaskId


class RunEvent(StrEnum):
    """Events that are not changes of the board."""

    STEP_CLAIM_SKIPPED = "task_step_claim_skipped"
    WAL_REPLAYED = "task_wal_replayed"
    WAL_FAILED = "task_wal_failed"
    WORKER_DISPATCHED = "worker_dispatched"
    WORKER_DISPATCH_FAILED = "worker_dispatch_failed"
    CHILD_CREATED = "child_agent_created"
    CHILD_COMPLETED = "child_agent_completed"
    CHILD_FAILED = "child_agent_failed"
    CHILD_CANCEL_REQUESTED = "child_agent_cancel_requested"
    CHILD_CANCELLED = "child_agent_cancelled"
    CHILD_CANCEL_TIMEOUT = "child_agent_cancel_timeout"
    CHILD_SCHEMA_FAILED = "child_result_schema_validation_failed"
    EVENTS_MISSED = "events_missed"
    """This listener was too slow: `payload["count"]` events were left out. The log has them."""


class SessionEvent(Struct, frozen=True, kw_only=True):
    """One event. `event_type` is a name of the log's events or of `RunEvent`."""

    event_type: str
    session_id: SessionId
    at: datetime
    task_id: TaskId | None = None
    step_id: StepId | None = None
    agent_id: AgentId | None = None
    run_id: RunId | None = None
    wal_seq: int | None = None
    payload: dict[str, Any] = {}
