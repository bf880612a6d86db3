"""Writing a step's state and result: which event stands for which change, and who may."""

from dataclasses import fields

import pytest

from taskloom.board import RenewLease, StepStatus, UpdateStep
from taskloom.board import events as ev
from taskloom.errors import Code
from tests.board.task_driver import ANN, LEASE, MINUTE, TASK, given, names, setting, step

_S = StepStatus


@pytest.mark.spec("TB-613")
def test_an_update_of_a_step_has_no_field_for_content() -> None:
    sent = {item.name for item in fields(UpdateStep)}
    assert sent.isdisjoint(
        {"title", "summary", "depends_on_step_ids", "worker_pool_id", "required"}
    )


@pytest.mark.spec("TB-614", "TB-1002")
def test_each_change_of_a_holder_has_its_event() -> None:
    driver = given(step("a"))
    driver.claim("a", ANN)
    end = driver.now + LEASE

    (started,) = driver.set("a", "running", ANN)
    assert started.payload == ev.StepStarted(_S.CLAIMED, end)
    (noted,) = driver.set("a", None, ANN, result_summary="Half", artifact_ids=("x",))
    assert noted.payload == ev.StepUpdated(_S.RUNNING, _S.RUNNING, "Half", ["x"], end)
    (again,) = driver.set("a", "running", ANN)
    assert again.payload == ev.StepUpdated(_S.RUNNING, _S.RUNNING, lease_expires_at=end)
    done = driver.set("a", "completed", ANN, result_summary="All", artifact_ids=("x", "y"))
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
    driver = given(step("a"))
    driver.claim("a", ANN)
    (event,) = driver.set("a", status, ANN, reason="Why", result_summary="R", artifact_ids=("x",))
    assert event.payload == payload


@pytest.mark.spec("TB-613", "TB-614")
@pytest.mark.parametrize(("status", "last"), [("running", "started"), ("cancelled", "cancelled")])
def test_a_result_that_the_event_has_no_field_for_is_noted_before_it(
    status: str, last: str
) -> None:
    driver = given(step("a"))
    driver.claim("a", ANN)

    events = driver.set("a", status, ANN, result_summary="R", artifact_ids=("x",))

    assert names(events) == ["task_step_updated a", f"task_step_{last} a"]
    a = driver.step("a")
    assert (a.status, a.result_summary, a.artifact_ids) == (status, "R", ("x",))


@pytest.mark.spec("TB-615", "TB-701")
def test_a_note_renews_the_lease_and_the_end_of_the_step_ends_it() -> None:
    driver = given(step("a"))
    driver.claim("a", ANN)
    driver.later(MINUTE).set("a", "running", ANN)
    assert driver.step("a").lease_expires_at == driver.now + LEASE
    driver.later(MINUTE).set("a", None, ANN)
    assert driver.step("a").lease_expires_at == driver.now + LEASE
    driver.set("a", "completed", ANN)
    assert driver.step("a").lease_expires_at is None


@pytest.mark.spec("TB-615")
def test_the_orchestrators_note_does_not_renew_a_workers_lease() -> None:
    driver = given(step("a"))
    driver.claim("a", ANN)
    end = driver.step("a").lease_expires_at
    driver.later(MINUTE).set("a", None, result_summary="I looked")
    driver.set("a", "running")
    assert driver.step("a").lease_expires_at == end


@pytest.mark.spec("TB-616")
def test_the_orchestrator_completes_a_ready_step_it_did_itself() -> None:
    driver = given(step("a"), step("b", "a"))
    events = driver.set("a", "completed", result_summary="By hand")
    assert names(events) == ["task_step_completed a", "task_step_ready b"]


@pytest.mark.spec("TB-616")
def test_the_orchestrator_fails_and_reopens_steps() -> None:
    driver = given(step("a"), step("b", "a"))
    assert names(driver.set("b", "failed", reason="Moot")) == ["task_step_failed b"]
    assert names(driver.set("a", "failed", reason="No")) == ["task_step_failed a"]
    assert names(driver.set("b", "pending")) == ["task_step_reopened b"]
    assert names(driver.set("a", "pending", result_summary="Tried")) == [
        "task_step_updated a",
        "task_step_reopened a",
        "task_step_ready a",
    ]
    assert driver.step("a").result_summary == "Tried"


@pytest.mark.spec("TB-616", "TB-412")
@pytest.mark.parametrize("status", ["claimed", "running"])
def test_the_orchestrator_does_not_cancel_what_a_worker_holds(status: str) -> None:
    driver = given(step("a"))
    driver.claim("a", ANN)
    if status == "running":
        driver.set("a", "running", ANN)
    error = driver.refusal(setting("a", "cancelled"))
    assert error.code is Code.INVALID_TRANSITION
    assert "cancel that worker's run" in error.message


@pytest.mark.spec("TB-616", "TB-421")
@pytest.mark.parametrize("status", ["completed", "failed", "blocked"])
def test_when_the_orchestrator_ends_a_held_step_its_worker_writes_no_more(status: str) -> None:
    driver = given(step("a"))
    driver.claim("a", ANN)
    driver.set("a", status, reason="Why")
    assert driver.step("a").claimed_by_run_id is None
    for command in (setting("a", "completed"), RenewLease(task_id=TASK, step_id="a")):
        assert driver.refuses(command, ANN) in (Code.LEASE_LOST, Code.STEP_TERMINAL)


def test_an_update_by_the_orchestrator_that_changes_nothing_is_refused() -> None:
    driver = given(step("a"))
    for status in (None, "pending"):
        assert driver.refuses(setting("a", status)) in (
            Code.VALIDATION_ERROR,
            Code.INVALID_TRANSITION,
        )
