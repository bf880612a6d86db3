"""Claims: one winner, one step for a run in its life, and nothing outside its scope."""

import pytest

from taskloom.board import ClaimStep, EndRun, EventType, RunOutcome, StepStatus
from taskloom.board import events as ev
from taskloom.errors import Code
from tests.board.task_driver import (
    ANN,
    BOB,
    LEASE,
    TASK,
    given,
    names,
    setting,
    step,
    worker,
)


def claim(step_id: str) -> ClaimStep:
    return ClaimStep(task_id=TASK, step_id=step_id)


@pytest.mark.spec("TB-612", "TB-1002")
def test_a_claim_names_holder_and_lease_and_does_not_start_the_step() -> None:
    driver = given(step("a"))

    (event,) = driver.claim("a", ANN)

    end = driver.now + LEASE
    assert event.payload == ev.StepClaimed(StepStatus.READY, "ann", "ann-1", end)
    a = driver.step("a")
    assert (a.status, a.claimed_by_agent_id, a.claimed_by_run_id) == ("claimed", "ann", "ann-1")
    assert (a.lease_expires_at, a.claim_seq) == (end, driver.task.seq)


@pytest.mark.spec("TB-610", "TB-701")
def test_of_two_claimers_the_second_is_told_that_the_step_is_taken() -> None:
    driver = given(step("a"))
    driver.claim("a", ANN)
    error = driver.refusal(claim("a"), BOB)
    assert error.code is Code.STEP_ALREADY_CLAIMED
    assert error.details["claimed_by_agent_id"] == "ann"

    driver.set("a", "running", ANN)
    driver.later(LEASE * 0.99)
    assert driver.refuses(claim("a"), BOB) is Code.STEP_ALREADY_CLAIMED


@pytest.mark.spec("TB-610")
@pytest.mark.parametrize("status", ["pending", "blocked", "failed", "completed", "cancelled"])
def test_what_is_not_ready_cannot_be_claimed(status: str) -> None:
    driver = given(step("gate"), step("a", *(["gate"] if status == "pending" else [])))
    if status != "pending":
        driver.claim("a", BOB)
        driver.set("a", status, BOB, reason="Why")
    error = driver.refusal(claim("a"), ANN)
    assert error.code is Code.STEP_NOT_READY
    assert error.details["unmet_step_ids"] == (["gate"] if status == "pending" else [])


@pytest.mark.spec("TB-610", "TB-609")
def test_a_claim_outside_the_scope_is_refused() -> None:
    driver = given(step("a"), step("b"), step("c", worker_pool_id="art"))
    only_b = worker("bob-1", only=["b", "b"])

    assert driver.refuses(claim("a"), only_b) is Code.PERMISSION_DENIED
    assert driver.refuses(claim("c"), ANN) is Code.PERMISSION_DENIED
    assert driver.refuses(claim("a"), worker("bob-1", task="other")) is Code.PERMISSION_DENIED
    driver.claim("b", only_b)
    driver.claim("c", worker("cat-1", pool="art"))


@pytest.mark.spec("TB-609")
def test_a_scope_may_name_steps_that_are_not_ready_yet() -> None:
    driver = given(step("a"), step("b", "a"))
    later = worker("bob-1", only=["b"])
    assert driver.refuses(claim("b"), later) is Code.STEP_NOT_READY
    driver.complete("a")
    driver.claim("b", later)


@pytest.mark.spec("TB-611")
@pytest.mark.parametrize("end", ["completed", "failed", "blocked", "cancelled", None])
def test_a_run_claims_one_step_in_its_life(end: str | None) -> None:
    driver = given(step("a"), step("b"))
    driver.claim("a", ANN)
    if end is not None:
        driver.set("a", end, ANN, reason="Why")

    error = driver.refusal(claim("b"), ANN)
    assert error.code is Code.STEP_ALREADY_CLAIMED_BY_RUN
    assert error.details["step_id"] == "a"
    driver.claim("b", worker("ann-2"))


@pytest.mark.spec("TB-611")
def test_a_run_that_lost_its_lease_or_whose_step_is_gone_claims_no_other() -> None:
    driver = given(step("a"), step("b"))
    driver.claim("a", ANN)
    driver.later().expire()
    assert driver.refuses(claim("a"), ANN) is Code.STEP_ALREADY_CLAIMED_BY_RUN
    driver.update({"op": "delete_step", "step_id": "a"})
    assert driver.refuses(claim("b"), ANN) is Code.STEP_ALREADY_CLAIMED_BY_RUN


@pytest.mark.spec("TB-610")
def test_a_claim_of_an_unknown_step_is_refused() -> None:
    assert given(step("a")).refuses(claim("ghost"), ANN) is Code.STEP_NOT_FOUND


@pytest.mark.spec("TB-620")
@pytest.mark.parametrize("outcome", list(RunOutcome))
@pytest.mark.parametrize("started", [True, False])
def test_a_run_that_ends_holding_its_step_fails_it_with_the_outcome(
    outcome: RunOutcome, started: bool
) -> None:
    driver = given(step("a"), step("b"))
    driver.claim("a", ANN)
    driver.claim("b", BOB)
    if started:
        driver.set("a", "running", ANN)

    (event,) = driver.do(EndRun(task_id=TASK, outcome=outcome), ANN)

    assert event.payload.type is EventType.STEP_FAILED
    a = driver.step("a")
    assert (a.status, a.reason, a.result_summary) == ("failed", outcome.value, outcome.value)
    assert a.claimed_by_run_id is None
    assert driver.statuses()["b"] == "claimed"


@pytest.mark.spec("TB-620")
def test_the_reasons_of_a_run_that_ended_are_those_of_the_spec() -> None:
    assert [outcome.value for outcome in RunOutcome] == [
        "worker_finished_without_terminal_step_status",
        "worker_cancelled",
        "worker_timeout",
        "worker_failed",
    ]


@pytest.mark.spec("TB-620")
def test_a_run_that_holds_nothing_any_more_ends_without_a_word() -> None:
    driver = given(step("a"), step("b"))
    driver.claim("a", ANN)
    driver.later().expire()
    driver.claim("a", BOB)

    assert driver.do(EndRun(task_id=TASK), ANN) == []
    assert driver.do(EndRun(task_id=TASK), worker("cat-1")) == []
    driver.set("a", "completed", BOB, result_summary="Done")
    assert driver.do(EndRun(task_id=TASK), BOB) == []
    assert driver.step("a").result_summary == "Done"


@pytest.mark.spec("TB-207", "TB-620")
def test_the_result_a_worker_wrote_survives_the_end_of_its_run() -> None:
    driver = given(step("a"))
    driver.claim("a", ANN)
    driver.set("a", None, ANN, result_summary="Half done")
    assert names(driver.do(EndRun(task_id=TASK), ANN)) == ["task_step_failed a"]
    assert driver.step("a").result_summary == "Half done"
    assert driver.refuses(setting("a", "completed"), ANN) is Code.LEASE_LOST


@pytest.mark.spec("TB-620", "TB-703")
def test_a_run_that_ends_after_its_lease_fails_nothing() -> None:
    driver = given(step("a"))
    driver.claim("a", ANN)
    assert driver.later().do(EndRun(task_id=TASK), ANN) == []
    assert names(driver.expire()) == ["task_step_lease_expired a", "task_step_ready a"]
