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
from tests.board.stage import ANN, BOB, CAT, TASK, Stage, given, names, setting, step, updating

BLOCK = {"op": "update_task", "status": "blocked", "reason": "Ask the owner"}
REOPEN = {"op": "update_task", "status": "pending"}
COMPLETE = CompleteTask(task_id=TASK)


@pytest.mark.spec("TB-301")
def test_a_task_whose_steps_all_stopped_runs_again_with_the_first_ready_step() -> None:
    stage = given(step("a"))
    stage.set("a", "failed", reason="No")
    stage.update(BLOCK)
    stage.update(REOPEN)
    assert stage.task.status is TaskStatus.PENDING

    events = stage.set("a", "pending")
    assert names(events) == ["task_step_reopened a", "task_step_ready a", "task_running"]
    assert events[-1].payload == ev.TaskRunning(TaskStatus.PENDING)


@pytest.mark.spec("TB-302", "TB-1001")
def test_blocking_is_an_event_of_its_own_with_its_reason() -> None:
    stage = given(step("a"))

    events = stage.update(BLOCK)

    assert names(events) == ["task_updated", "task_blocked"]
    assert events[1].payload == ev.TaskBlocked(TaskStatus.RUNNING, reason="Ask the owner")
    assert view_task(stage.task, "").reason == "Ask the owner"


@pytest.mark.spec("TB-302")
@pytest.mark.parametrize("status", ["running", "completed", "failed", "cancelled", "ready", "", 1])
def test_no_other_status_can_be_written_to_a_task(status: object) -> None:
    stage = given(step("a"))
    error = stage.refusal(updating({"op": "update_task", "status": status}))
    assert error.code is Code.VALIDATION_ERROR
    assert error.details["path"] == "$.operations[0].status"


@pytest.mark.spec("TB-302", "TB-305")
def test_blocking_twice_and_reopening_what_is_not_blocked_are_refused() -> None:
    stage = given(step("a"))
    assert stage.refuses(updating(REOPEN)) is Code.INVALID_TRANSITION
    stage.update(BLOCK)
    assert stage.refuses(updating(BLOCK)) is Code.INVALID_TRANSITION


@pytest.mark.spec("TB-303")
def test_blocking_changes_no_step_and_workers_may_finish() -> None:
    stage = given(step("a"), step("b"), step("c"))
    stage.claim("a", ANN)
    stage.claim("b", BOB)
    stage.set("b", "running", BOB)
    before = stage.statuses()

    stage.update(BLOCK)
    assert stage.statuses() == before

    stage.set("a", "running", ANN, result_summary="Half")
    stage.set("a", "completed", ANN)
    stage.set("b", "failed", BOB, reason="Broke")
    assert stage.statuses() == {"a": "completed", "b": "failed", "c": "ready"}
    assert stage.task.status is TaskStatus.BLOCKED


@pytest.mark.spec("TB-304")
def test_in_a_blocked_task_nothing_is_claimed_and_nothing_becomes_ready() -> None:
    stage = given(step("a"), step("b", "a"), step("c"))
    stage.claim("a", ANN)
    stage.update(BLOCK)

    claim = ClaimStep(task_id=TASK, step_id="c")
    assert stage.refuses(claim, BOB) is Code.TASK_NOT_DISPATCHABLE
    assert names(stage.set("a", "completed", ANN)) == ["task_step_completed a"]
    stage.update({"op": "add_step", "step": {"step_id": "d", "title": "D"}})
    assert stage.statuses()["b"] == stage.statuses()["d"] == "pending"


@pytest.mark.spec("TB-304")
def test_a_lease_that_runs_out_in_a_blocked_task_leaves_the_step_pending() -> None:
    stage = given(step("a"))
    stage.claim("a", ANN)
    stage.update(BLOCK)

    expire = ExpireLeases(task_id=TASK)
    assert names(stage.later().do(expire)) == ["task_step_lease_expired a"]
    assert stage.statuses() == {"a": "pending"}


@pytest.mark.spec("TB-305")
def test_reopening_promotes_what_was_held_back_in_the_same_transaction() -> None:
    stage = given(step("a"), step("b", "a"), step("c", "b"))
    stage.claim("a", ANN)
    stage.update(BLOCK)
    stage.set("a", "completed", ANN)

    assert names(stage.update(REOPEN)) == [
        "task_updated",
        "task_reopened",
        "task_step_ready b",
        "task_running",
    ]
    assert stage.task.status is TaskStatus.RUNNING
    assert stage.task.reason is None


@pytest.mark.spec("TB-305")
def test_block_and_reopen_in_one_update_end_where_they_began() -> None:
    stage = given(step("a"))
    assert names(stage.update(BLOCK, REOPEN)) == [
        "task_updated",
        "task_blocked",
        "task_reopened",
        "task_running",
    ]
    assert stage.replayed().status is TaskStatus.RUNNING


@pytest.mark.spec("TB-306")
def test_completion_names_the_steps_in_its_way() -> None:
    stage = given(step("a"), step("b"), step("c", required=False))
    stage.claim("c", ANN)

    error = stage.refusal(COMPLETE)

    assert error.code is Code.TASK_NOT_COMPLETEABLE
    assert error.details["open_required_step_ids"] == ["a", "b"]
    assert error.details["held_step_ids"] == ["c"]
    assert "a, b" in error.message


@pytest.mark.spec("TB-306", "TB-418")
@pytest.mark.parametrize("status", ["claimed", "running"])
def test_an_optional_step_that_is_held_holds_up_completion(status: str) -> None:
    stage = given(step("a"), step("b", required=False)).complete("a")
    stage.claim("b", ANN)
    if status == "running":
        stage.set("b", "running", ANN)

    assert stage.refusal(COMPLETE).details["held_step_ids"] == ["b"]
    assert not stage.task.is_completeable


@pytest.mark.spec("TB-306", "TB-418", "TB-1001")
def test_optional_steps_nobody_began_are_cancelled_and_the_others_stay() -> None:
    optional = [step(name, required=False) for name in ("ready", "failed", "blocked")]
    stage = given(step("a"), *optional, step("late", "failed", required=False)).complete("a")
    stage.set("failed", "failed", reason="No")
    stage.claim("blocked", ANN)
    stage.set("blocked", "blocked", ANN, reason="Wait")

    events = stage.do(CompleteTask(task_id=TASK, result_summary="Good"))

    assert names(events) == [
        "task_step_cancelled ready",
        "task_step_cancelled late",
        "task_completed",
    ]
    assert events[-1].payload == ev.TaskCompleted("Good", ["ready", "late"])
    assert stage.statuses()["failed"] == "failed"
    assert stage.statuses()["blocked"] == "blocked"


@pytest.mark.spec("TB-420")
def test_a_cancelled_required_step_holds_up_completion_until_it_is_replaced() -> None:
    stage = given(step("a"), step("b")).complete("a")
    stage.update({"op": "cancel_step", "step_id": "b"})
    assert stage.refusal(COMPLETE).details["open_required_step_ids"] == ["b"]

    by_flag = {"op": "update_step", "step_id": "b", "fields": {"required": False}}
    for way in (by_flag, {"op": "delete_step", "step_id": "b"}):
        again = given(step("a"), step("b")).complete("a")
        again.update({"op": "cancel_step", "step_id": "b"})
        again.update(way)
        assert names(again.do(COMPLETE)) == ["task_completed"]


def all_statuses() -> Stage:
    """A Task with a step in each status; `running` and `failed` have a result."""
    ids = ("ready", "claimed", "running", "blocked", "failed", "cancelled", "done")
    stage = given(*map(step, ids), step("pending", "failed")).complete("done")
    for name, run in (("claimed", ANN), ("running", BOB), ("blocked", CAT)):
        stage.claim(name, run)
    stage.set("running", "running", BOB)
    stage.set("running", None, BOB, result_summary="Half")
    stage.set("blocked", "blocked", CAT, reason="Wait")
    stage.set("failed", "failed", reason="Broke", result_summary="Tried")
    stage.update({"op": "cancel_step", "step_id": "cancelled", "reason": "Moot"})
    assert all(stage.statuses()[name] == name for name in ids[:-1])
    return stage


@pytest.mark.spec("TB-307", "TB-617", "TB-1001")
def test_failing_a_task_fails_all_that_is_open_and_nothing_else() -> None:
    stage = all_statuses()
    events = stage.do(FailTask(task_id=TASK, reason="Out of money"))

    open_ids = ["ready", "claimed", "running", "blocked", "pending"]
    assert names(events) == [*(f"task_step_failed {name}" for name in open_ids), "task_failed"]
    assert events[-1].payload == ev.TaskFailed("Out of money", open_ids)
    results = {name: stage.step(name).result_summary for name in ("ready", "running", "failed")}
    assert results == {"ready": "task_failed", "running": "Half", "failed": "Tried"}
    assert {stage.step(name).reason for name in open_ids} == {"task_failed"}
    assert stage.step("failed").reason == "Broke"
    assert stage.statuses()["cancelled"] == "cancelled"
    assert stage.statuses()["done"] == "completed"


@pytest.mark.spec("TB-308", "TB-617", "TB-1001")
def test_cancelling_a_task_cancels_all_that_is_open_and_nothing_else() -> None:
    stage = all_statuses()
    events = stage.do(CancelTask(task_id=TASK, reason="Not wanted"))

    open_ids = ["ready", "claimed", "running", "blocked", "pending"]
    assert names(events) == [
        *(f"task_step_cancelled {name}" for name in open_ids),
        "task_cancelled",
    ]
    assert events[-1].payload == ev.TaskCancelled("Not wanted", open_ids)
    assert {stage.step(name).reason for name in open_ids} == {"task_cancelled"}
    assert stage.step("running").result_summary == "Half"
    assert stage.statuses()["failed"] == "failed"
    assert stage.statuses()["done"] == "completed"


@pytest.mark.spec("TB-310")
@pytest.mark.parametrize("end", [COMPLETE, FailTask(task_id=TASK), CancelTask(task_id=TASK)])
def test_an_ended_task_refuses_every_change(end: CompleteTask | FailTask | CancelTask) -> None:
    stage = given(step("a"), step("b", required=False)).complete("a")
    stage.do(end)
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
        code = stage.refuses(command, actor) if actor else stage.refuses(command)
        assert code is Code.TASK_TERMINAL


@pytest.mark.spec("TB-310")
def test_a_late_worker_may_end_and_changes_nothing() -> None:
    stage = given(step("a"))
    stage.claim("a", ANN)
    stage.do(CancelTask(task_id=TASK))

    assert stage.do(EndRun(task_id=TASK), ANN) == []
    assert stage.later().do(ExpireLeases(task_id=TASK)) == []
    assert stage.refuses(setting("a", "completed"), ANN) is Code.TASK_TERMINAL


@pytest.mark.spec("TB-311")
def test_stalled_and_completeable_are_worked_out_and_shown() -> None:
    stage = given(step("a"), step("b", "a"), step("c", required=False))
    stage.update({"op": "cancel_step", "step_id": "c"})
    assert not stage.task.is_stalled

    stage.set("a", "failed", reason="No")
    assert view_task(stage.task, "").stalled
    assert view_line(stage.task, "").stalled
    assert not view_task(stage.task, "").completeable

    stage.set("a", "pending")
    stage.complete("a", "b")
    assert view_task(stage.task, "").completeable
    assert view_line(stage.task, "").completeable
    assert not stage.task.is_stalled
    assert {line.payload.type.value for line in stage.log}.isdisjoint({"stalled", "completeable"})

    stage.do(COMPLETE)
    assert not stage.task.is_completeable
    assert stage.task.counts[StepStatus.COMPLETED] == 2
