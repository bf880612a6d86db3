"""Calls that somebody might make: any role, any tool, mostly sensible and sometimes not.

All chance is in `pick`, so that Hypothesis, which can shrink, and a seeded generator, which is
quick, draw from the same calls.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from taskloom.board import (
    Actor,
    CancelTask,
    ClaimStep,
    Command,
    CompleteTask,
    CreateTask,
    EndRun,
    ExpireLeases,
    FailTask,
    NewStep,
    RenewLease,
    RunOutcome,
    StepStatus,
    UpdateStep,
)
from tests.board.task_driver import BOSS, PLAIN, TASK, TaskDriver, updating, worker

T = TypeVar("T")
Call: TypeAlias = tuple[Command, Actor]
POOLS = ("default", "default", "default", "art")


class Pick(Protocol):
    """Takes one of several."""

    def __call__(self, choices: Sequence[T], /) -> T: ...


def plan(pick: Pick, most: int) -> CreateTask:
    """A DAG of up to `most` steps whose edges need not point backwards in the list."""
    size = pick(range(1, most + 1))
    order = list(range(size))
    if pick((True, False)):
        order.reverse()
    steps: list[NewStep] = []
    for place in order:
        wanted = {pick(range(place)) for _ in range(pick((0, 1, 1, 2)))} if place else set[int]()
        steps.append(
            NewStep(
                step_id=f"s{place}",
                title=f"Step {place}",
                depends_on_step_ids=tuple(f"s{on}" for on in sorted(wanted)),
                required=pick((True, True, True, False)),
                worker_pool_id=pick(POOLS),
            )
        )
    return CreateTask(task_id=TASK, wal_name=TASK, title="Plan", steps=tuple(steps))


def claim(driver: TaskDriver, pick: Pick) -> Call:
    new = worker(f"{pick(('ann', 'bob', 'cat'))}-{driver.task.seq}", pool=pick(POOLS))
    actor = pick((new, new, new, new, _anybody(driver, pick)))
    return ClaimStep(task_id=TASK, step_id=_lively(driver, pick, "ready")), actor


def write(driver: TaskDriver, pick: Pick) -> Call:
    step_id = _lively(driver, pick, "claimed", "running")
    step = driver.task.steps.get(step_id)
    holder = _run(driver, step.claimed_by_run_id) if step and step.claimed_by_run_id else BOSS
    actor = pick((holder, holder, holder, BOSS, _anybody(driver, pick)))
    fence = step.claim_seq if step else 0
    status = pick((None, *StepStatus, StepStatus.COMPLETED, StepStatus.COMPLETED))
    done = status is StepStatus.COMPLETED
    return UpdateStep(
        task_id=TASK,
        step_id=step_id,
        status=status,
        result_data=pick((None, {"n": [1, None]}) if done else (None,) * 9 + (["early"],)),
        result_summary=pick((None, "R1", "R2")),
        artifact_ids=pick((None, (), ("x", "y"))),
        reason=pick((None, "Why")),
        fence=pick((None, fence, fence, fence - 1)),
    ), actor


def host(driver: TaskDriver, pick: Pick) -> Call:
    """What the host of a run sends: renewals and its end."""
    actor = _anybody(driver, pick)
    own = driver.task.claims.get(actor.run_id)
    step_id = pick((own, own, _any(driver, pick))) if own is not None else _any(driver, pick)
    fence = driver.task.steps[step_id].claim_seq if step_id in driver.task.steps else 1
    renew = RenewLease(task_id=TASK, step_id=step_id, fence=pick((None, fence, fence + 1)))
    end = EndRun(task_id=TASK, outcome=pick(tuple(RunOutcome)))
    return pick((renew, renew, end)), actor


def expire(driver: TaskDriver, pick: Pick) -> Call:
    return ExpireLeases(task_id=TASK), pick((BOSS, PLAIN))


def end(driver: TaskDriver, pick: Pick) -> Call:
    """The end of the Task; seldom, and completion mostly too early."""
    complete = CompleteTask(task_id=TASK, result_summary="All")
    fail, cancel = FailTask(task_id=TASK, reason="F"), CancelTask(task_id=TASK, reason="C")
    sure = pick(range(12)) == 0
    actor = pick((BOSS, BOSS, _anybody(driver, pick)))
    return pick((complete, fail, cancel)) if sure else complete, actor


def update(driver: TaskDriver, pick: Pick) -> Call:
    count = pick((1, 1, 1, 2, 2, 3, 4))
    operations = [pick(_OPERATIONS)(driver, pick) for _ in range(count)]
    return updating(*operations), pick((BOSS, BOSS, BOSS, BOSS, BOSS, _anybody(driver, pick)))


def _of_task(driver: TaskDriver, pick: Pick) -> dict[str, Any]:
    status = pick(("blocked", "pending", None, None))
    changed: dict[str, Any] = {"title": pick(("T1", "T2"))} if status is None else {}
    return {"op": "update_task", **changed, **({"status": status, "reason": "B"} if status else {})}


def _add(driver: TaskDriver, pick: Pick) -> dict[str, Any]:
    fresh = f"n{driver.task.next_order}"
    on = [_any(driver, pick) for _ in range(pick((0, 1, 2)))]
    new = {"step_id": pick((fresh, fresh, "n0", _any(driver, pick))), "title": "New"}
    more: dict[str, Any] = {"depends_on_step_ids": on, "required": pick((True, False))}
    if pick((True, False)):
        more["metadata"] = {"page": 0}
    return {"op": "add_step", "step": {**new, **more, "worker_pool_id": pick(POOLS)}}


def _content(driver: TaskDriver, pick: Pick) -> dict[str, Any]:
    changed = pick(
        (
            {"title": "T3"},
            {"summary": "S3", "title": "T4"},
            {"required": pick((True, False))},
            {"worker_pool_id": pick(POOLS)},
            {"metadata": {"page": pick((1, 2))}},
            {"depends_on_step_ids": [_any(driver, pick) for _ in range(pick((0, 1, 2)))]},
        )
    )
    return {"op": "update_step", "step_id": _any(driver, pick), "fields": changed}


def _join(driver: TaskDriver, pick: Pick) -> dict[str, Any]:
    step_id = _any(driver, pick)
    on = _any(driver, pick)
    there = driver.task.steps[step_id].depends_on_step_ids if step_id in driver.task.steps else ()
    if there and pick((True, True, False)):
        on, verb = pick(there), "remove"
    else:
        verb = "add"
    return {"op": f"{verb}_dependency", "step_id": step_id, "depends_on_step_id": on}


def _act(driver: TaskDriver, pick: Pick) -> dict[str, Any]:
    verb = pick(("delete", "cancel", "reopen", "reopen"))
    likely = ("blocked", "failed") if verb == "reopen" else ("pending", "ready", "cancelled")
    step_id = pick((_lively(driver, pick, *likely), "n0"))
    return {"op": f"{verb}_step", "step_id": step_id, "reason": "Because"}


def _garbage(driver: TaskDriver, pick: Pick) -> dict[str, Any]:
    return {"op": "fly" if pick(range(8)) == 0 else "delete_step", "step_id": "n0"}


_OPERATIONS = (_of_task, _add, _add, _content, _join, _join, _act, _act, _act, _garbage)


def _any(driver: TaskDriver, pick: Pick) -> str:
    return pick((*driver.task.steps, "n0"))


def _lively(driver: TaskDriver, pick: Pick, *statuses: str) -> str:
    """A step of one of these statuses, if there is one; sometimes any other."""
    likely = [step.step_id for step in driver.task.steps.values() if step.status in statuses]
    return pick(likely) if likely and pick((True, True, True, False)) else _any(driver, pick)


def _run(driver: TaskDriver, run_id: str) -> Actor:
    return worker(run_id)


def _anybody(driver: TaskDriver, pick: Pick) -> Actor:
    """The Orchestrator, a plain agent, a run that claimed once, or one from elsewhere."""
    known = [_run(driver, run_id) for run_id in list(driver.task.claims)[-6:]]
    return pick((BOSS, PLAIN, worker("dan-1"), worker("eve-1", task="other"), *known, *known))


KINDS: tuple[Callable[[TaskDriver, Pick], Call], ...] = (
    *(claim,) * 4,
    *(write,) * 6,
    *(host,) * 2,
    *(update,) * 4,
    expire,
    end,
)
