"""A Task and its steps as they are now: plain data, changed by `evolve` alone.

What can be worked out from the rest and is expensive to keep (which steps are ready, which
leases end next) is in `index`, built when somebody first asks.
"""

from dataclasses import field
from datetime import datetime
from typing import NamedTuple

from taskloom.board.state.index import Index
from taskloom.board.state.step import Step
from taskloom.board.status import HELD, TASK_TERMINAL, EventType, StepStatus, TaskStatus
from taskloom.define import define
from taskloom.ids import AgentId, CommandId, RunId, Seq, SessionId, StepId, TaskId


class Done(NamedTuple):
    """What a command that carried an id came to, so that asking again is answered the same."""

    first_seq: Seq
    last_seq: Seq
    run_id: RunId
    first_type: EventType
    last_type: EventType
    step_id: StepId | None
    """Of the first event."""


@define(eq=False)
class Task:
    """One DAG of steps."""

    task_id: TaskId
    wal_name: str
    session_id: SessionId
    title: str
    summary: str
    created_by_agent_id: AgentId
    created_by_run_id: RunId
    created_at: datetime
    updated_at: datetime
    status: TaskStatus = TaskStatus.PENDING
    result_summary: str | None = None
    reason: str | None = None
    steps: dict[StepId, Step] = field(default_factory=dict[StepId, Step])
    """In order of creation."""
    required_open: int = 0
    """Required steps that are not completed; nought is what completion needs."""
    claims: dict[RunId, StepId] = field(default_factory=dict[RunId, StepId])
    """Every run that ever claimed, so that none claims twice."""
    done: dict[CommandId, Done] = field(default_factory=dict[CommandId, Done])
    seq: Seq = 0
    next_order: int = 0
    next_rank: int = 0
    event_prefix: str = ""
    """What every event id of this log begins with; random, so ids are unique everywhere."""
    from_reference_log: bool = False
    """Written by the reference implementation: to be read, never appended to."""
    live_index: Index | None = None
    """The index if anybody asked for it yet. Replay is quick because nobody has."""

    @property
    def index(self) -> Index:
        """The index, built at the first question and kept true by `evolve` from then on."""
        if self.live_index is None:
            self.live_index = Index(self.steps.values())
        return self.live_index

    @property
    def counts(self) -> dict[StepStatus, int]:
        """How many steps are where."""
        return self.index.counts

    @property
    def is_terminal(self) -> bool:
        """Whether the Task has ended, one way or another."""
        return self.status in TASK_TERMINAL

    @property
    def root_step_ids(self) -> list[StepId]:
        """The steps without dependencies, in order of creation."""
        return [step.step_id for step in self.steps.values() if not step.depends_on_step_ids]

    @property
    def is_completeable(self) -> bool:
        """Whether `task_complete` would be accepted now."""
        held = sum(self.counts[status] for status in HELD)
        return not self.is_terminal and self.required_open == 0 and held == 0

    @property
    def is_stalled(self) -> bool:
        """Whether nothing can move without the Orchestrator."""
        counts = self.counts
        alive = counts[StepStatus.READY] + counts[StepStatus.CLAIMED] + counts[StepStatus.RUNNING]
        waiting = (
            counts[StepStatus.FAILED] + counts[StepStatus.BLOCKED] + counts[StepStatus.PENDING]
        )
        return not self.is_terminal and alive == 0 and waiting > 0

    def next_lease_end(self) -> datetime | None:
        """When the first of the running leases ends."""
        return self.index.next_lease_end(self.steps)
