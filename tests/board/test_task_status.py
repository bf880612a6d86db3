"""The Task's own status: running by itself, blocked and ended only by the Orchestrator."""

import pytest

from taskloom.board import (
    CancelTask,
    ClaimStep,
    CompleteTask,
    EndRun,
    ExpireLeases,
    FailTask,
    RenewLease,
    TaskStatus,
    view_line,
    view_task,
)
from taskloom.board import events as ev
from taskloom.board.status import StepStatus
from taskloom.errors import Code
from tests.board.task_driver import (
    ANN,
    BOB,
    CAT,
    TASK,
    TaskDriver,
    given,
    names,
    setting,
    step,
    updating,
)

BLOCK = {"op": "update_task", "status": "blocked", "reason": "Ask the owner"}
REOPEN = {"op": "update_task", "status": "pending"}
COMPLETE = CompleteTask(task_id=TASK)


@pytest.mark.spec("TB-301")
def test_a_task_whose_steps_all_stopped_runs_again_with_the_first_ready_step() -> None:
    driver = given(step("a"))
    driver.set("a", "failed", reason="No")
    driver.update(BLOCK)
    driver.update(REOPEN)
    assert driver.task.status is TaskStatus.PENDING

    events = driver.set("a", "pending")
    assert names(events) == ["task_step_reopened a", "task_step_ready a", "task_running"]
    assert events[-1].payload == ev.TaskRunning(TaskStatus.PENDING)


@pytest.mark.spec("TB-302", "TB-1001")
def test_blocking_is_an_event_of_its_own_with_its_reason() -> None:
    driver = given(step("a"))

    events = driver.update(BLOCK)

    assert names(events) == ["task_updated", "task_blocked"]
    assert events[1].payload == ev.TaskBlocked(TaskStatus.RUNNING, reason="Ask the owner")
    assert view_task(driver.task, "").reason == "Ask the owner"


@pytest.mark.spec("TB-302")
@pytest.mark.parametrize("status", ["running", "completed", "failed", "cancelled", "ready", "", 1])
def test_no_other_status_can_be_written_to_a_task(status: object) -> None:
    driver = given(step("a"))
    error = driver.refusal(updating({"op": "update_task", "status": status}))
    assert error.code is Code.VALIDATION_ERROR
    assert error.details["path"] == "$.operations[0].status"


@pytest.mark.spec("TB-302", "TB-305")
def test_blocking_twice_and_reopening_what_is_not_blocked_are_refused() -> None:
    driver = given(step("a"))
    assert driver.refuses(updating(REOPEN)) is Code.INVALID_TRANSITION
    driver.update(BLOCK)
    assert driver.refuses(updating(BLOCK)) is Code.INVALID_TRANSITION


@pytest.mark.spec("TB-303")
def test_blocking_changes_no_step_and_workers_may_finish() -> None:
    driver = given(step("a"), step("b"), step("c"))
    driver.claim("a", ANN)
    driver.claim("b", BOB)
    driver.set("b", "running", BOB)
    before = driver.statuses()

    driver.update(BLOCK)
    assert driver.statuses() == before

    driver.set("a", "running", ANN, result_summary="Half")
    driver.set("a", "completed", ANN)
    driver.set("b", "failed", BOB, reason="Broke")
    assert driver.statuses() == {"a": "completed", "b": "failed", "c": "ready"}
    assert driver.task.status is TaskStatus.BLOCKED


@pytest.mark.spec("TB-304")
def test_in_a_blocked_task_nothing_is_claimed_and_nothing_becomes_ready() -> None:
    driver = given(step("a"), step("b", "a"), step("c"))
    driver.claim("a", ANN)
    driver.update(BLOCK)

    claim = ClaimStep(task_id=TASK, step_id="c")
    assert driver.refuses(claim, BOB) is Code.TASK_NOT_DISPATCHABLE
    assert names(driver.set("a", "completed", ANN)) == ["task_step_completed a"]
    driver.update({"op": "add_step", "step": {"step_id": "d", "title": "D"}})
    assert driver.statuses()["b"] == driver.statuses()["d"] == "pending"


@pytest.mark.spec("TB-304")
def test_a_lease_that_runs_out_in_a_blocked_task_leaves_the_step_pending() -> None:
    driver = given(step("a"))
    driver.claim("a", ANN)
    driver.update(BLOCK)

    expire = ExpireLeases(task_id=TASK)
    assert names(driver.later().do(expire)) == ["task_step_lease_expired a"]
    assert driver.statuses() == {"a": "pending"}


@pytest.mark.spec("TB-305")
def test_reopening_promotes_what_was_held_back_in_the_same_transaction() -> None:
    driver = given(step("a"), step("b", "a"), step("c", "b"))
    driver.claim("a", ANN)
    driver.update(BLOCK)
    driver.set("a", "completed", ANN)

    assert names(driver.update(REOPEN)) == [
        "task_updated",
        "task_reopened",
        "task_step_ready b",
        "task_running",
    ]
    assert driver.task.status is TaskStatus.RUNNING
    assert driver.task.reason is None


@pytest.mark.spec("TB-305")
def test_block_and_reopen_in_one_update_end_where_they_began() -> None:
    driver = given(step("a"))
    assert names(driver.update(BLOCK, REOPEN)) == [
        "task_updated",
        "task_blocked",
        "task_reopened",
        "task_running",
    ]
    assert driver.replayed().status is TaskStatus.RUNNING


@pytest.mark.spec("TB-306")
def test_completion_names_the_steps_in_its_way() -> None:
    driver = given(step("a"), step("b"), step("c", required=False))
    driver.claim("c", ANN)

    error = driver.refusal(COMPLETE)

    assert error.code is Code.TASK_NOT_COMPLETEABLE
    assert error.details["open_required_step_ids"] == ["a", "b"]
    assert error.details["held_step_ids"] == ["c"]
    assert "a, b" in error.message


@pytest.mark.spec("TB-306", "TB-418")
@pytest.mark.parametrize("status", ["claimed", "running"])
def test_an_optional_step_that_is_held_holds_up_completion(status: str) -> None:
    driver = given(step("a"), step("b", required=False)).complete("a")
    driver.claim("b", ANN)
    if status == "running":
        driver.set("b", "running", ANN)

    assert driver.refusal(COMPLETE).details["held_step_ids"] == ["b"]
    assert not driver.task.is_completeable


@pytest.mark.spec("TB-306", "TB-418", "TB-1001")
def test_optional_steps_nobody_began_are_cancelled_and_the_others_stay() -> None:
    optional = [step(name, required=False) for name in ("ready", "failed", "blocked")]
    driver = given(step("a"), *optional, step("late", "failed", required=False)).complete("a")
    driver.set("failed", "failed", reason="No")
    driver.claim("blocked", ANN)
    driver.set("blocked", "blocked", ANN, reason="Wait")

    events = driver.do(CompleteTask(task_id=TASK, result_summary="Good"))

    assert names(events) == [
        "task_step_cancelled ready",
        "task_step_cancelled late",
        "task_completed",
    ]
    assert events[-1].payload == ev.TaskCompleted("Good", ["ready", "late"])
    assert driver.statuses()["failed"] == "failed"
    assert driver.statuses()["blocked"] == "blocked"


@pytest.mark.spec("TB-420")
def test_a_cancelled_required_step_holds_up_completion_until_it_is_replaced() -> None:
    driver = given(step("a"), step("b")).complete("a")
    driver.update({"op": "cancel_step", "step_id": "b"})
    assert driver.refusal(COMPLETE).details["open_required_step_ids"] == ["b"]

    by_flag = {"op": "update_step", "step_id": "b", "fields": {"required": False}}
    for way in (by_flag, {"op": "delete_step", "step_id": "b"}):
        again = given(step("a"), step("b")).complete("a")
        again.update({"op": "cancel_step", "step_id": "b"})
        again.update(way)
        assert names(again.do(COMPLETE)) == ["task_completed"]


def all_statuses() -> TaskDriver:
    """A Task with a step in each status; `running` and `failed` have a result."""
    ids = ("ready", "claimed", "running", "blocked", "failed", "cancelled", "done")
    driver = given(*map(step, ids), step("pending", "failed")).complete("done")
    for name, run in (("claimed", ANN), ("running", BOB), ("blocked", CAT)):
        driver.claim(name, run)
    driver.set("running", "running", BOB)
    driver.set("running", None, BOB, result_summary="Half")
    driver.set("blocked", "blocked", CAT, reason="Wait")
    driver.set("failed", "failed", reason="Broke", result_summary="Tried")
    driver.update({"op": "cancel_step", "step_id": "cancelled", "reason": "Moot"})
    assert all(driver.statuses()[name] == name for name in ids[:-1])
    return driver


@pytest.mark.spec("TB-307", "TB-617", "TB-1001")
def test_failing_a_task_fails_all_that_is_open_and_nothing_else() -> None:
    driver = all_statuses()
    events = driver.do(FailTask(task_id=TASK, reason="Out of money"))

    open_ids = ["ready", "claimed", "running", "blocked", "pending"]
    assert names(events) == [*(f"task_step_failed {name}" for name in open_ids), "task_failed"]
    assert events[-1].payload == ev.TaskFailed("Out of money", open_ids)
    results = {name: driver.step(name).result_summary for name in ("ready", "running", "failed")}
    assert results == {"ready": "task_failed", "running": "Half", "failed": "Tried"}
    assert {driver.step(name).reason for name in open_ids} == {"task_failed"}
    assert driver.step("failed").reason == "Broke"
    assert driver.statuses()["cancelled"] == "cancelled"
    assert driver.statuses()["done"] == "completed"


@pytest.mark.spec("TB-308", "TB-617", "TB-1001")
def test_cancelling_a_task_cancels_all_that_is_open_and_nothing_else() -> None:
    driver = all_statuses()
    events = driver.do(CancelTask(task_id=TASK, reason="Not wanted"))

    open_ids = ["ready", "claimed", "running", "blocked", "pending"]
    assert names(events) == [
        *(f"task_step_cancelled {name}" for name in open_ids),
        "task_cancelled",
    ]
    assert events[-1].payload == ev.TaskCancelled("Not wanted", open_ids)
    assert {driver.step(name).reason for name in open_ids} == {"task_cancelled"}
    assert driver.step("running").result_summary == "Half"
    assert driver.statuses()["failed"] == "failed"
    assert driver.statuses()["done"] == "completed"


@pytest.mark.spec("TB-310")
@pytest.mark.parametrize("end", [COMPLETE, FailTask(task_id=TASK), CancelTask(task_id=TASK)])
def test_an_ended_task_refuses_every_change(end: CompleteTask | FailTask | CancelTask) -> None:
    driver = given(step("a"), step("b", required=False)).complete("a")
    driver.do(end)
    asked = [
        (updating({"op": "update_task", "title": "More"}), None),
        (setting("a", None, result_summary="More"), None),
        (setting("b", "pending"), None),
        (COMPLETE, None),
        (FailTask(task_id=TASK), None),
        (CancelTask(task_id=TASK), None),
        (ClaimStep(task_id=TASK, step_id="b"), ANN),
        (setting("a", "completed"), ANN),
        (RenewLease(task_id=TASK, step_id="a"), ANN),
    ]
    for command, actor in asked:
        code = driver.refuses(command, actor) if actor else driver.refuses(command)
        assert code is Code.TASK_TERMINAL


@pytest.mark.spec("TB-310")
def test_a_late_worker_may_end_and_changes_nothing() -> None:
    driver = given(step("a"))
    driver.claim("a", ANN)
    driver.do(CancelTask(task_id=TASK))

    assert driver.do(EndRun(task_id=TASK), ANN) == []
    assert driver.later().do(ExpireLeases(task_id=TASK)) == []
    assert driver.refuses(setting("a", "completed"), ANN) is Code.TASK_TERMINAL


@pytest.mark.spec("TB-311")
def test_stalled_and_completeable_are_worked_out_and_shown() -> None:
    driver = given(step("a"), step("b", "a"), step("c", required=False))
    driver.update({"op": "cancel_step", "step_id": "c"})
    assert not driver.task.is_stalled

    driver.set("a", "failed", reason="No")
    assert view_task(driver.task, "").stalled
    assert view_line(driver.task, "").stalled
    assert not view_task(driver.task, "").completeable

    driver.set("a", "pending")
    driver.complete("a", "b")
    assert view_task(driver.task, "").completeable
    assert view_line(driver.task, "").completeable
    assert not driver.task.is_stalled
    assert {line.payload.type.value for line in driver.log}.isdisjoint({"stalled", "completeable"})

    driver.do(COMPLETE)
    assert not driver.task.is_completeable
    assert driver.task.counts[StepStatus.COMPLETED] == 2
