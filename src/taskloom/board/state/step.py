"""One step of a Task, as it is now."""

from dataclasses import field
from datetime import datetime

from taskloom.board.status import StepStatus
from taskloom.board.validation import JsonData
from taskloom.define import define
from taskloom.ids import AgentId, PoolId, RunId, Seq, StepId


@define(eq=False)
class Step:
    """One step. Lists are tuples: they are replaced, never changed, so views may share them.

    JSON data is never changed either, and copied for each view.
    """

    step_id: StepId
    title: str
    summary: str
    depends_on_step_ids: tuple[StepId, ...]
    required: bool
    worker_pool_id: PoolId
    created_at: datetime
    updated_at: datetime
    order: int
    """Its position in the order of creation."""
    rank: int
    """Its position in a topological order: greater than that of every dependency."""
    unmet: int = 0
    """How many of its dependencies are not completed."""
    dependents: set[StepId] = field(default_factory=set[StepId])
    status: StepStatus = StepStatus.PENDING
    claimed_by_agent_id: AgentId | None = None
    claimed_by_run_id: RunId | None = None
    lease_expires_at: datetime | None = None
    claim_seq: Seq = 0
    """The line of the claim that holds it: the fence of the worker's writes."""
    result_summary: str | None = None
    reason: str | None = None
    artifact_ids: tuple[str, ...] = ()
    result_data: JsonData = None
    attempts: int = 0
    """How many times it was claimed."""
    metadata: JsonData = None
    dispatched: tuple[str, str] | None = None
    """Title and summary as the last claimer saw them."""
    updated_after_dispatch: bool = False
