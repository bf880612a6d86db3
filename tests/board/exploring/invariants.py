"""What must hold at every point of the space and of every way from one to the next.

Each is a function that asserts one sentence. They look at the state alone and count again what
the board keeps count of; none of them asks the code under test what it thinks.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple

from taskloom.board import (
    STEP_NEXT,
    TASK_NEXT,
    TASK_TERMINAL,
    ClaimStep,
    CompleteTask,
    EndRun,
    Event,
    EventType,
    ExpireLeases,
    RenewLease,
    Role,
    Step,
    StepStatus,
    Task,
    TaskStatus,
    UpdateStep,
)
from taskloom.board.state.index import Index
from tests.board.exploring.moves import Move
from tests.board.task_driver import index_facts

_S = StepStatus
_HELD: Final = {_S.CLAIMED, _S.RUNNING}
_ALIVE: Final = {_S.READY, *_HELD}


class Change(NamedTuple):
    """A command that was accepted."""

    before: Task
    after: Task
    move: Move
    events: list[Event]
    now: datetime


def _unmet(task: Task, step: Step) -> list[str]:
    return [on for on in step.depends_on_step_ids if task.steps[on].status is not _S.COMPLETED]


# Of a state.


def a_step_with_unmet_dependencies_does_not_move(task: Task, now: datetime) -> None:
    """Never ready; claimed or running only when its plan was changed after dispatch."""
    for step in task.steps.values():
        if _unmet(task, step):
            assert step.status is not _S.READY, step
            assert step.status not in _HELD or step.updated_after_dispatch, step


def a_free_step_is_ready(task: Task, now: datetime) -> None:
    """No step stays pending with all dependencies completed, unless the Task is blocked."""
    if task.status is TaskStatus.BLOCKED or task.status in TASK_TERMINAL:
        return
    for step in task.steps.values():
        assert step.status is not _S.PENDING or _unmet(task, step), step


def a_held_step_has_one_holder_and_no_other_step_has_any(task: Task, now: datetime) -> None:
    """Claim fields go together with claimed and running, and no run holds two steps."""
    runs: list[str] = []
    for step in task.steps.values():
        claim = (step.claimed_by_agent_id, step.claimed_by_run_id, step.lease_expires_at)
        if step.status in _HELD:
            assert None not in claim, step
            assert step.claimed_by_run_id is not None
            assert task.claims[step.claimed_by_run_id] == step.step_id
            runs.append(step.claimed_by_run_id)
        else:
            assert claim == (None, None, None), step
    assert len(runs) == len(set(runs))


def counts_are_true(task: Task, now: datetime) -> None:
    """Counts by status, unmet dependencies, open required steps, dependents: counted again."""
    steps = task.steps.values()
    assert task.counts == {
        status: sum(step.status is status for step in steps) for status in StepStatus
    }
    needed = [step for step in steps if step.required and step.status is not _S.COMPLETED]
    assert task.required_open == len(needed)
    for step in steps:
        assert step.unmet == len(_unmet(task, step)), step
        waiting = {other.step_id for other in steps if step.step_id in other.depends_on_step_ids}
        assert step.dependents == waiting, step


def ranks_are_a_topological_order(task: Task, now: datetime) -> None:
    """Every step's rank is its own and greater than those of its dependencies."""
    ranks = {step.step_id: step.rank for step in task.steps.values()}
    assert len(set(ranks.values())) == len(ranks)
    for step in task.steps.values():
        assert all(ranks[on] < step.rank for on in step.depends_on_step_ids), step


def steps_stand_in_order_of_creation(task: Task, now: datetime) -> None:
    """And the roots are those without dependencies, in that order."""
    steps = list(task.steps.values())
    assert [step.order for step in steps] == sorted({step.order for step in steps})
    assert task.root_step_ids == [step.step_id for step in steps if not step.depends_on_step_ids]


def a_pending_task_has_nothing_alive(task: Task, now: datetime) -> None:
    """A step that is ready, claimed or running has made the Task run (or it is blocked)."""
    if task.status is TaskStatus.PENDING:
        assert not any(step.status in _ALIVE for step in task.steps.values())


def an_ended_task_has_nothing_open(task: Task, now: datetime) -> None:
    """Failed and cancelled Tasks close all steps; a completed one has its required steps done."""
    if task.status not in TASK_TERMINAL:
        return
    for step in task.steps.values():
        assert step.status not in {_S.PENDING, *_ALIVE}, step
        if task.status is TaskStatus.COMPLETED:
            assert step.status is _S.COMPLETED or not step.required, step
        else:
            assert step.status is not _S.BLOCKED, step


def diagnostics_are_true(task: Task, now: datetime) -> None:
    """Stalled and completeable are what the spec says they are."""
    open_task = task.status not in TASK_TERMINAL
    there = {step.status for step in task.steps.values()}
    needed = {step.status for step in task.steps.values() if step.required}
    stuck = bool(there & {_S.FAILED, _S.BLOCKED, _S.PENDING})
    assert task.is_stalled == (open_task and not there & _ALIVE and stuck)
    assert task.is_completeable == (open_task and needed <= {_S.COMPLETED} and not there & _HELD)


def the_index_is_true(task: Task, now: datetime) -> None:
    """The index that `evolve` kept answers like one built now."""
    assert task.live_index is not None
    fresh = index_facts(Index(task.steps.values()), task.steps, now)
    assert index_facts(task.live_index, task.steps, now) == fresh


# Of a change.


def plain_agents_change_nothing(change: Change) -> None:
    """Only noticing a lease that has run out is everybody's."""
    if change.move.actor.role not in (Role.ORCHESTRATOR, Role.WORKER):
        assert isinstance(change.move.command, ExpireLeases)


def a_worker_does_only_what_workers_do(change: Change) -> None:
    """It claims, writes, renews and ends; it never plans and never ends a Task."""
    if change.move.actor.role is Role.WORKER:
        mine = (ClaimStep, UpdateStep, RenewLease, EndRun)
        assert isinstance(change.move.command, mine)


def a_worker_touches_its_own_step_alone(change: Change) -> None:
    """Apart from its step, only promotions that follow from completing it."""
    if change.move.actor.role is not Role.WORKER or not change.events:
        return
    own = change.after.claims[change.move.actor.run_id]
    for event in change.events:
        kind = event.payload.type
        follows = kind is EventType.TASK_RUNNING or (
            kind is EventType.STEP_READY
            and event.step_id is not None
            and own in change.after.steps[event.step_id].depends_on_step_ids
        )
        assert event.step_id == own or follows, event
    for step_id, step in change.before.steps.items():
        if step_id != own and change.after.steps[step_id].status is not step.status:
            assert change.after.steps[step_id].status is _S.READY


def only_a_live_claim_writes(change: Change) -> None:
    """A worker's write needs its own claim, the fence of that claim and a lease that runs."""
    command = change.move.command
    if change.move.actor.role is not Role.WORKER or not isinstance(
        command, UpdateStep | RenewLease
    ):
        return
    step = change.before.steps[command.step_id]
    assert step.status in _HELD
    assert step.claimed_by_run_id == change.move.actor.run_id
    assert command.fence in (None, step.claim_seq)
    assert step.lease_expires_at is not None
    assert change.now < step.lease_expires_at


def a_claim_takes_a_ready_step_and_is_the_only_one_of_its_run(change: Change) -> None:
    """Not in a blocked Task, not with unmet dependencies, not a second time."""
    if not isinstance(change.move.command, ClaimStep):
        return
    step = change.before.steps[change.move.command.step_id]
    assert step.status is _S.READY
    assert not _unmet(change.before, step)
    assert change.before.status is not TaskStatus.BLOCKED
    assert change.move.actor.run_id not in change.before.claims
    assert [event.payload.type for event in change.events] == [EventType.STEP_CLAIMED]


def claims_are_never_forgotten(change: Change) -> None:
    """Once a run has claimed, that is known for good."""
    assert change.before.claims.items() <= change.after.claims.items()


def an_ended_task_takes_no_event(change: Change) -> None:
    """Terminal is final."""
    if change.before.status in TASK_TERMINAL:
        assert change.events == []
        assert isinstance(change.move.command, EndRun | ExpireLeases)


def the_end_of_a_task_comes_last(change: Change) -> None:
    """Nothing follows the event that ends a Task, in its transaction or later."""
    ends = {EventType.TASK_COMPLETED, EventType.TASK_FAILED, EventType.TASK_CANCELLED}
    for event in change.events[:-1]:
        assert event.payload.type not in ends


def completed_is_history(change: Change) -> None:
    """A completed step stays, with its status, its result and its artifacts."""
    for step_id, step in change.before.steps.items():
        if step.status is _S.COMPLETED:
            left = change.after.steps[step_id]
            assert left.status is _S.COMPLETED
            assert left.result_summary == step.result_summary
            assert left.artifact_ids == step.artifact_ids


def cancelled_is_final(change: Change) -> None:
    """A cancelled step stays cancelled, or is deleted (and maybe added anew)."""
    for step_id, step in change.before.steps.items():
        left = change.after.steps.get(step_id)
        if step.status is _S.CANCELLED and left is not None and left.order == step.order:
            assert left.status is _S.CANCELLED


def deleted_steps_were_deletable(change: Change) -> None:
    """Held and completed steps never go; others only with nobody waiting for them."""
    for step_id, step in change.before.steps.items():
        left = change.after.steps.get(step_id)
        if left is None or left.order != step.order:
            assert step.status not in {*_HELD, _S.COMPLETED}


def a_lease_never_ends_early(change: Change) -> None:
    """An expiry is written only about a lease whose end has come."""
    for event in change.events:
        if event.payload.type is EventType.STEP_LEASE_EXPIRED:
            assert event.step_id is not None
            end = change.before.steps[event.step_id].lease_expires_at
            assert end is not None
            assert end <= change.now


def expiry_takes_back_all_that_is_past(change: Change) -> None:
    """After reconciliation no lease is past, and nothing else has failed for it."""
    if isinstance(change.move.command, ExpireLeases) and not change.before.is_terminal:
        for step in change.after.steps.values():
            assert step.lease_expires_at is None or change.now < step.lease_expires_at
        assert change.after.status in (change.before.status, TaskStatus.RUNNING)


def completion_needs_every_required_step(change: Change) -> None:
    """The Task completes only with its required steps completed and nothing held."""
    if isinstance(change.move.command, CompleteTask):
        for step in change.before.steps.values():
            assert step.status is _S.COMPLETED or not step.required
            assert step.status not in _HELD


def blocked_comes_and_goes_by_the_orchestrator(change: Change) -> None:
    """Core never blocks a Task, and nothing a worker does unblocks it."""
    if change.move.actor.role is not Role.ORCHESTRATOR:
        is_blocked = change.before.status is TaskStatus.BLOCKED
        assert (change.after.status is TaskStatus.BLOCKED) == is_blocked


def a_changed_plan_is_sound(change: Change) -> None:
    """After an update all dependencies are there, counted and ranked."""
    if change.events and change.events[0].payload.type is EventType.TASK_UPDATED:
        for step in change.after.steps.values():
            assert change.after.steps.keys() >= set(step.depends_on_step_ids)
        for check in (counts_are_true, ranks_are_a_topological_order, a_free_step_is_ready):
            check(change.after, change.now)


def a_blocked_task_promotes_nothing(change: Change) -> None:
    """No step becomes ready while the Task is blocked and stays so."""
    if change.before.status is TaskStatus.BLOCKED is change.after.status:
        assert not any(event.payload.type is EventType.STEP_READY for event in change.events)


def the_index_has_followed(change: Change) -> None:
    """The index is true after each change, also one that leads to a state known already."""
    the_index_is_true(change.after, change.now)


def in_the_table(event: Event, task: TaskStatus, step: StepStatus | None, after: Task) -> None:
    """An event's transition is one of the table's; `task` and `step` is what they were."""
    kind = event.payload.type
    if event.step_id is None:
        assert TASK_NEXT[task][kind] is after.status
    else:
        assert step is not None
        assert after.steps[event.step_id].status in STEP_NEXT[step][kind]


OF_STATES: Final[tuple[Callable[[Task, datetime], None], ...]] = (
    a_step_with_unmet_dependencies_does_not_move,
    a_free_step_is_ready,
    a_held_step_has_one_holder_and_no_other_step_has_any,
    counts_are_true,
    ranks_are_a_topological_order,
    steps_stand_in_order_of_creation,
    a_pending_task_has_nothing_alive,
    an_ended_task_has_nothing_open,
    diagnostics_are_true,
)
OF_CHANGES: Final[tuple[Callable[[Change], None], ...]] = (
    plain_agents_change_nothing,
    a_worker_does_only_what_workers_do,
    a_worker_touches_its_own_step_alone,
    only_a_live_claim_writes,
    a_claim_takes_a_ready_step_and_is_the_only_one_of_its_run,
    claims_are_never_forgotten,
    an_ended_task_takes_no_event,
    the_end_of_a_task_comes_last,
    completed_is_history,
    cancelled_is_final,
    deleted_steps_were_deletable,
    a_lease_never_ends_early,
    expiry_takes_back_all_that_is_past,
    completion_needs_every_required_step,
    blocked_comes_and_goes_by_the_orchestrator,
    a_changed_plan_is_sound,
    a_blocked_task_promotes_nothing,
    the_index_has_followed,
)
