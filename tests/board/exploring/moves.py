"""Everything that can be asked at one point of the space, by everybody.

Two workers, each with at most one run that holds a step at a time; a new run for each claim; of
the runs whose claim has ended, the last one for each step still tries to write.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain, permutations
from typing import NamedTuple, TypeAlias

from taskloom.board import (
    Actor,
    CancelTask,
    ClaimStep,
    Command,
    CompleteTask,
    EndRun,
    ExpireLeases,
    FailTask,
    RenewLease,
    RunOutcome,
    StepStatus,
    Task,
    UpdateStep,
)
from tests.board.exploring.shapes import NAMES
from tests.board.task_driver import BOSS, PLAIN, TASK, updating, worker

WORKERS = ("ann", "bob")

Raw: TypeAlias = Mapping[str, object]
"""An operation as a model writes it."""


class Move(NamedTuple):
    """Somebody asks something."""

    actor: Actor
    command: Command

    def __str__(self) -> str:
        return f"{self.actor.run_id}: {self.command}"


def execution(task: Task) -> Iterator[Move]:
    """Claims, updates of steps, leases, ends of runs, ends of the Task, by every role."""
    holders = {step.claimed_by_run_id: step for step in task.steps.values()}
    busy = {step.claimed_by_agent_id for step in task.steps.values()}
    # Of two idle workers it does not matter which one begins.
    fresh = [_run(name, len(task.claims) + 1) for name in WORKERS if name not in busy][:1]
    stale = {step_id: run for run, step_id in task.claims.items() if run not in holders}
    for step in task.steps.values():
        step_id, holder, ended = step.step_id, step.claimed_by_run_id, stale.get(step.step_id)
        yield from _by_others(step_id, fresh)
        for status in _STATUSES:
            yield Move(BOSS, _set(step_id, status))
        if holder is not None:
            yield from _by_holder(_known(holder), step_id, step.claim_seq, list(task.steps))
        if ended is not None:
            yield from _by_ended(_known(ended), step_id, step.claim_seq)
    yield from _of_task(fresh)


def _by_others(step_id: str, fresh: list[Actor]) -> Iterator[Move]:
    for actor in (BOSS, PLAIN):
        yield Move(actor, _claim(step_id))
        yield Move(actor, _renew(step_id, None))
    yield Move(PLAIN, _set(step_id, StepStatus.COMPLETED))
    for run in fresh:
        yield Move(run, _claim(step_id))
        yield Move(run, _set(step_id, StepStatus.COMPLETED))
        yield Move(run, _renew(step_id, None))


def _by_holder(run: Actor, step_id: str, fence: int, all_ids: list[str]) -> Iterator[Move]:
    for status in _STATUSES:
        yield Move(run, _set(step_id, status, fence=fence))
    yield Move(run, _set(step_id, StepStatus.COMPLETED, fence=fence - 1))
    yield Move(run, _set(step_id, None, fence=fence - 1))
    yield Move(run, _renew(step_id, fence))
    yield Move(run, _renew(step_id, fence - 1))
    for outcome in (RunOutcome.FINISHED, RunOutcome.CANCELLED):
        yield Move(run, EndRun(task_id=TASK, outcome=outcome))
    for other in all_ids:
        yield Move(run, _claim(other))
        if other != step_id:
            yield Move(run, _set(other, StepStatus.COMPLETED))


def _by_ended(run: Actor, step_id: str, fence: int) -> Iterator[Move]:
    for status in (None, StepStatus.RUNNING, StepStatus.COMPLETED, StepStatus.FAILED):
        yield Move(run, _set(step_id, status))
    yield Move(run, _set(step_id, StepStatus.COMPLETED, fence=fence))
    yield Move(run, _renew(step_id, fence))
    yield Move(run, _claim(step_id))
    yield Move(run, _END_OF_RUN)


def _of_task(fresh: list[Actor]) -> Iterator[Move]:
    for actor in (BOSS, PLAIN, *fresh):
        for command in _ENDS:
            yield Move(actor, command)
    for command in (_END_OF_RUN, _BLOCK, _EXPIRE):
        yield Move(PLAIN, command)
    for command in (_EXPIRE, _BLOCK, _UNBLOCK):
        yield Move(BOSS, command)
    for run in fresh:
        yield Move(run, _END_OF_RUN)
        yield Move(run, _BLOCK)


def topology(task: Task, most: int) -> Iterator[Move]:
    """All eight operations of an update, one by one and in telling pairs."""
    for update in _updates(tuple(task.steps), most):
        yield Move(BOSS, update)


@cache
def _updates(there: tuple[str, ...], most: int) -> list[Command]:
    singles = [*chain.from_iterable(map(_on_step, there)), *_joins(there), *_adds(there, most)]
    combos = [*chain.from_iterable(map(_pairs, there)), *_mixed(there)]
    whole = {"op": "update_task", "title": "Other", "summary": "Other"}
    return [updating(*ops) for ops in [(whole,), *((op,) for op in singles), *combos]]


def _on_step(step_id: str) -> Iterator[Raw]:
    for name in ("delete_step", "cancel_step", "reopen_step"):
        yield {"op": name, "step_id": step_id}
    for changed in ({"title": "New"}, {"required": False}, {"required": True}):
        yield _content(step_id, **changed)
    yield _content(step_id, depends_on_step_ids=[])


def _joins(there: tuple[str, ...]) -> Iterator[Raw]:
    for one, other in permutations(there, 2):
        yield _depend(one, other)
        yield {"op": "remove_dependency", "step_id": one, "depends_on_step_id": other}
        yield _content(one, depends_on_step_ids=[other], title="Joined")
    yield _depend(there[0], there[0])
    yield _depend(there[0], "nowhere")


def _adds(there: tuple[str, ...], most: int) -> Iterator[Raw]:
    free = [name for name in NAMES if name not in there]
    if len(there) < most and free:
        for on in ([], *([other] for other in there), list(there)):
            yield _add(free[0], on)
    yield _add(there[0], [])


def _pairs(step_id: str) -> Iterator[tuple[Raw, ...]]:
    reopen, delete, cancel = (
        {"op": name, "step_id": step_id} for name in ("reopen_step", "delete_step", "cancel_step")
    )
    block: Raw = {"op": "update_task", "status": "blocked"}
    unblock: Raw = {"op": "update_task", "status": "pending"}
    yield reopen, delete
    yield reopen, cancel
    yield cancel, delete
    yield cancel, reopen
    yield delete, _add(step_id, [])
    yield reopen, delete, _add(step_id, [])
    yield block, reopen
    yield reopen, unblock
    yield cancel, {"op": "update_task", "status": "sideways"}


def _mixed(there: tuple[str, ...]) -> Iterator[tuple[Raw, ...]]:
    gone = {"op": "delete_step", "step_id": "new"}
    yield _add("new", []), _depend(there[0], "new"), gone
    yield _add("new", [there[0]]), gone
    yield _add("new", []), {"op": "cancel_step", "step_id": "new"}, gone
    for one, other in permutations(there, 2):
        part = {"op": "remove_dependency", "step_id": one, "depends_on_step_id": other}
        remove = {"op": "delete_step", "step_id": other}
        yield part, remove
        yield part, remove, _add(other, []), _depend(one, other)
        yield _depend(one, other), _depend(other, one)


def _add(step_id: str, on: list[str]) -> Raw:
    new = {"step_id": step_id, "title": step_id, "depends_on_step_ids": on}
    return {"op": "add_step", "step": new}


def _depend(step_id: str, on: str) -> Raw:
    return {"op": "add_dependency", "step_id": step_id, "depends_on_step_id": on}


def _content(step_id: str, **changed: object) -> Raw:
    return {"op": "update_step", "step_id": step_id, "fields": changed}


_STATUSES = (None, *StepStatus)
_END_OF_RUN = EndRun(task_id=TASK)
_EXPIRE = ExpireLeases(task_id=TASK)
_BLOCK = updating({"op": "update_task", "status": "blocked", "reason": "Wait"})
_UNBLOCK = updating({"op": "update_task", "status": "pending"})
_ENDS = (CompleteTask(task_id=TASK), FailTask(task_id=TASK), CancelTask(task_id=TASK))


@cache
def _run(name: str, number: int) -> Actor:
    return worker(f"{name}-{number}")


def _known(run_id: str) -> Actor:
    name, _, number = run_id.partition("-")
    return _run(name, int(number))


@cache
def _claim(step_id: str) -> Command:
    return ClaimStep(task_id=TASK, step_id=step_id)


@cache
def _renew(step_id: str, fence: int | None) -> Command:
    return RenewLease(task_id=TASK, step_id=step_id, fence=fence)


@cache
def _set(step_id: str, status: StepStatus | None, *, fence: int | None = None) -> Command:
    return UpdateStep(
        task_id=TASK,
        step_id=step_id,
        status=status,
        result_summary="Mine" if fence is None else "Done",
        fence=fence,
    )
