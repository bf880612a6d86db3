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
    """The result of a command with an id, so that sending it again gets the same answer."""

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
    """The number of required steps that are not completed; the Task can complete at 0."""
    claims: dict[RunId, StepId] = field(default_factory=dict[RunId, StepId])
    """The step that each run has claimed; a run claims once."""
    done: dict[CommandId, Done] = field(default_factory=dict[CommandId, Done])
    seq: Seq = 0
    next_order: int = 0
    next_rank: int = 0
    event_prefix: str = ""
    """The start of every event id of this log; random, so that ids are unique everywhere."""
    from_reference_log: bool = False
    """Whether the reference implementation wrote the log; then nothing is appended to it."""
    live_index: Index | None = None
    """The index, once it was needed; replay is quick because it does without."""

    @property
    def index(self) -> Index:
        """The index: built when it is first needed, and updated by `evolve` from then on."""
        if self.live_index is None:
            self.live_index = Index(self.steps.values())
        return self.live_index

    @property
    def counts(self) -> dict[StepStatus, int]:
        """The number of steps by status."""
        return self.index.counts

    @property
    def is_terminal(self) -> bool:
        """Whether the Task has ended."""
        return self.status in TASK_TERMINAL

    @property
    def root_step_ids(self) -> list[StepId]:
        """The steps without dependencies, in order of creation."""
        return [step.step_id for step in self.steps.values() if not step.depends_on_step_ids]

    @property
    def is_completeable(self) -> bool:
        """Whether `CompleteTask` would be accepted now."""
        held = sum(self.counts[status] for status in HELD)
        return not self.is_terminal and self.required_open == 0 and held == 0

    @property
    def is_stalled(self) -> bool:
        """Whether no step can change until the Orchestrator changes the plan."""
        counts = self.counts
        alive = counts[StepStatus.READY] + counts[StepStatus.CLAIMED] + counts[StepStatus.RUNNING]
        waiting = (
            counts[StepStatus.FAILED] + counts[StepStatus.BLOCKED] + counts[StepStatus.PENDING]
        )
        return not self.is_terminal and alive == 0 and waiting > 0

    def next_lease_end(self) -> datetime | None:
        """Return the earliest end of the leases that are held."""
        return self.index.next_lease_end(self.steps)
