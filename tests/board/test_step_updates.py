"""Writing a step's state and result: which event stands for which change, and who may."""

from dataclasses import fields

import pytest

from taskloom.board import RenewLease, StepStatus, UpdateStep
from taskloom.board import events as ev
from taskloom.errors import Code
from tests.board.stage import ANN, LEASE, MINUTE, TASK, given, names, setting, step

_S = StepStatus


@pytest.mark.spec("TB-613")
def test_an_update_of_a_step_has_no_field_for_content() -> None:
    sent = {item.name for item in fields(UpdateStep)}
    assert sent.isdisjoint(
        {"title", "summary", "depends_on_step_ids", "worker_pool_id", "required"}
    )


@pytest.mark.spec("TB-614", "TB-1002")
def test_each_change_of_a_holder_has_its_event() -> None:
    stage = given(step("a"))
    stage.claim("a", ANN)
    end = stage.now + LEASE

    (started,) = stage.set("a", "running", ANN)
    assert started.payload == ev.StepStarted(_S.CLAIMED, end)
    (noted,) = stage.set("a", None, ANN, result_summary="Half", artifact_ids=("x",))
    assert noted.payload == ev.StepUpdated(_S.RUNNING, _S.RUNNING, "Half", ["x"], end)
    (again,) = stage.set("a", "running", ANN)
    assert again.payload == ev.StepUpdated(_S.RUNNING, _S.RUNNING, lease_expires_at=end)
    done = stage.set("a", "completed", ANN, result_summary="All", artifact_ids=("x", "y"))
    assert done[0].payload == ev.StepCompleted(_S.RUNNING, "All", ["x", "y"])


@pytest.mark.spec("TB-614", "TB-1002")
@pytest.mark.parametrize(
    ("status", "payload"),
    [
        ("blocked", ev.StepBlocked(_S.CLAIMED, "Why", "R", ["x"])),
        ("completed", ev.StepCompleted(_S.CLAIMED, "R", ["x"])),
        ("failed", ev.StepFailed(_S.CLAIMED, "Why", "R", ["x"])),
    ],
)
def test_the_end_of_a_step_is_never_a_mere_update(status: str, payload: ev.Payload) -> None:
    stage = given(step("a"))
    stage.claim("a", ANN)
    (event,) = stage.set("a", status, ANN, reason="Why", result_summary="R", artifact_ids=("x",))
    assert event.payload == payload


@pytest.mark.spec("TB-613", "TB-614")
@pytest.mark.parametrize(("status", "last"), [("running", "started"), ("cancelled", "cancelled")])
def test_a_result_that_the_event_has_no_field_for_is_noted_before_it(
    status: str, last: str
) -> None:
    stage = given(step("a"))
    stage.claim("a", ANN)

    events = stage.set("a", status, ANN, result_summary="R", artifact_ids=("x",))

    assert names(events) == ["task_step_updated a", f"task_step_{last} a"]
    a = stage.step("a")
    assert (a.status, a.result_summary, a.artifact_ids) == (status, "R", ("x",))


@pytest.mark.spec("TB-615", "TB-701")
def test_a_note_renews_the_lease_and_the_end_of_the_step_ends_it() -> None:
    stage = given(step("a"))
    stage.claim("a", ANN)
    stage.later(MINUTE).set("a", "running", ANN)
    assert stage.step("a").lease_expires_at == stage.now + LEASE
    stage.later(MINUTE).set("a", None, ANN)
    assert stage.step("a").lease_expires_at == stage.now + LEASE
    stage.set("a", "completed", ANN)
    assert stage.step("a").lease_expires_at is None


@pytest.mark.spec("TB-615")
def test_the_orchestrators_note_does_not_renew_a_workers_lease() -> None:
    stage = given(step("a"))
    stage.claim("a", ANN)
    end = stage.step("a").lease_expires_at
    stage.later(MINUTE).set("a", None, result_summary="I looked")
    stage.set("a", "running")
    assert stage.step("a").lease_expires_at == end


@pytest.mark.spec("TB-616")
def test_the_orchestrator_completes_a_ready_step_it_did_itself() -> None:
    stage = given(step("a"), step("b", "a"))
    events = stage.set("a", "completed", result_summary="By hand")
    assert names(events) == ["task_step_completed a", "task_step_ready b"]


@pytest.mark.spec("TB-616")
def test_the_orchestrator_fails_and_reopens_steps() -> None:
    stage = given(step("a"), step("b", "a"))
    assert names(stage.set("b", "failed", reason="Moot")) == ["task_step_failed b"]
    assert names(stage.set("a", "failed", reason="No")) == ["task_step_failed a"]
    assert names(stage.set("b", "pending")) == ["task_step_reopened b"]
    assert names(stage.set("a", "pending", result_summary="Tried")) == [
        "task_step_updated a",
        "task_step_reopened a",
        "task_step_ready a",
    ]
    assert stage.step("a").result_summary == "Tried"


@pytest.mark.spec("TB-616", "TB-412")
@pytest.mark.parametrize("status", ["claimed", "running"])
def test_the_orchestrator_does_not_cancel_what_a_worker_holds(status: str) -> None:
    stage = given(step("a"))
    stage.claim("a", ANN)
    if status == "running":
        stage.set("a", "running", ANN)
    error = stage.refusal(setting("a", "cancelled"))
    assert error.code is Code.INVALID_TRANSITION
    assert "cancel that worker's run" in error.message


@pytest.mark.spec("TB-616", "TB-421")
@pytest.mark.parametrize("status", ["completed", "failed", "blocked"])
def test_when_the_orchestrator_ends_a_held_step_its_worker_writes_no_more(status: str) -> None:
    stage = given(step("a"))
    stage.claim("a", ANN)
    stage.set("a", status, reason="Why")
    assert stage.step("a").claimed_by_run_id is None
    for command in (setting("a", "completed"), RenewLease(task_id=TASK, step_id="a")):
        assert stage.refuses(command, ANN) in (Code.LEASE_LOST, Code.STEP_TERMINAL)


def test_an_update_by_the_orchestrator_that_changes_nothing_is_refused() -> None:
    stage = given(step("a"))
    for status in (None, "pending"):
        assert stage.refuses(setting("a", status)) in (
            Code.VALIDATION_ERROR,
            Code.INVALID_TRANSITION,
        )
