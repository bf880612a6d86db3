"""Leases: how long a claim lasts, who notices its end, and what its holder may do then."""

from datetime import timedelta

import pytest

from taskloom.board import ClaimStep, RenewLease, Rules, TaskStatus
from taskloom.board import events as ev
from taskloom.board.status import StepStatus
from taskloom.errors import Code
from tests.board.task_driver import (
    ANN,
    BOB,
    LEASE,
    MINUTE,
    TASK,
    TaskDriver,
    given,
    index_facts,
    names,
    setting,
    step,
    worker,
)

MOMENT = timedelta(microseconds=1)


def renew(fence: int | None = None) -> RenewLease:
    return RenewLease(task_id=TASK, step_id="a", fence=fence)


def claimed() -> TaskDriver:
    driver = given(step("a"), step("b", "a"))
    driver.claim("a", ANN)
    return driver


@pytest.mark.spec("TB-701")
def test_a_lease_is_five_minutes_unless_configured() -> None:
    assert timedelta(minutes=5) == LEASE
    driver = given(step("a"), rules=Rules(lease=MINUTE))
    driver.claim("a", ANN)
    assert driver.step("a").lease_expires_at == driver.now + MINUTE


@pytest.mark.spec("TB-701", "TB-702")
def test_a_lease_runs_to_its_last_moment_and_no_longer() -> None:
    driver = claimed()
    assert driver.later(LEASE - MOMENT).expire() == []
    assert names(driver.later(MOMENT).expire()) == [
        "task_step_lease_expired a",
        "task_step_ready a",
    ]


@pytest.mark.spec("TB-702", "TB-1002")
def test_an_expired_claim_is_cleared_and_the_step_is_free_again() -> None:
    driver = claimed()
    driver.set("a", "running", ANN)
    end = driver.now + LEASE

    events = driver.later(LEASE + MINUTE).expire()

    assert events[0].payload == ev.StepLeaseExpired(StepStatus.RUNNING, "ann", "ann-1", end)
    a = driver.step("a")
    assert (a.status, a.claimed_by_agent_id, a.claimed_by_run_id) == ("ready", None, None)
    assert a.lease_expires_at is None
    driver.claim("a", BOB)


@pytest.mark.spec("TB-702")
def test_an_expired_step_whose_dependencies_no_longer_hold_stays_pending() -> None:
    driver = claimed()
    driver.update({"op": "add_step", "step": {"step_id": "c", "title": "C"}})
    driver.update({"op": "add_dependency", "step_id": "a", "depends_on_step_id": "c"})

    assert names(driver.later().expire()) == ["task_step_lease_expired a"]
    assert driver.statuses()["a"] == "pending"


@pytest.mark.spec("TB-703")
@pytest.mark.parametrize("written", [False, True], ids=["unnoticed", "noticed"])
@pytest.mark.parametrize("status", [None, "running", "completed", "failed", "blocked"])
def test_after_the_end_the_former_holder_is_refused(status: str | None, written: bool) -> None:
    driver = claimed().later()
    if written:
        driver.expire()
    assert driver.refuses(setting("a", status, reason="Why"), ANN) is Code.LEASE_LOST
    assert driver.refuses(renew(), ANN) is Code.LEASE_LOST


@pytest.mark.spec("TB-703")
def test_the_former_holder_is_refused_while_another_holds_the_step() -> None:
    driver = claimed().later()
    driver.expire()
    driver.claim("a", BOB)
    assert driver.refuses(setting("a", "completed"), ANN) is Code.LEASE_LOST
    driver.set("a", "completed", BOB)


@pytest.mark.spec("TB-704")
def test_an_expired_lease_fails_neither_step_nor_task() -> None:
    driver = given(step("a"))
    for number in range(5):
        driver.claim("a", worker(f"ann-{number}"))
        driver.later().expire()
    assert driver.task.status is TaskStatus.RUNNING
    assert driver.statuses() == {"a": "ready"}


@pytest.mark.spec("TB-705")
def test_a_clock_that_jumps_back_revives_no_claim() -> None:
    driver = claimed().later()
    driver.expire()
    driver.later(-2 * LEASE)
    assert driver.refuses(setting("a", "completed"), ANN) is Code.LEASE_LOST
    assert driver.refuses(renew(), ANN) is Code.LEASE_LOST


@pytest.mark.spec("TB-706")
def test_a_renewed_lease_lasts_as_long_as_the_run_is_alive() -> None:
    driver = claimed()
    for _ in range(9):
        (event,) = driver.later(LEASE / 3).do(renew(driver.step("a").claim_seq), ANN)
        claim = StepStatus.CLAIMED
        assert event.payload == ev.StepUpdated(claim, claim, lease_expires_at=driver.now + LEASE)
        assert driver.expire() == []
    driver.set("a", "completed", ANN)


@pytest.mark.spec("TB-706")
def test_only_the_holder_renews() -> None:
    driver = claimed()
    assert driver.refuses(renew(), BOB) is Code.PERMISSION_DENIED
    assert driver.refuses(renew()) is Code.PERMISSION_DENIED
    driver.set("a", "failed", ANN, reason="No")
    assert driver.refuses(renew(), ANN) is Code.LEASE_LOST


@pytest.mark.spec("TB-707")
def test_a_write_with_another_fence_than_the_claims_is_refused() -> None:
    driver = claimed()
    fence = driver.step("a").claim_seq
    for wrong in (fence - 1, fence + 1, 0):
        assert driver.refuses(setting("a", "completed", fence=wrong), ANN) is Code.LEASE_LOST
        assert driver.refuses(renew(wrong), ANN) is Code.LEASE_LOST
    driver.set("a", "running", ANN, fence=fence)
    driver.set("a", "completed", ANN, fence=fence)


@pytest.mark.spec("TB-707")
def test_a_write_under_an_older_claim_of_the_same_worker_is_refused() -> None:
    driver = claimed()
    old = driver.step("a").claim_seq
    driver.later().expire()
    newer = worker("ann-2")
    driver.claim("a", newer)

    assert driver.refuses(setting("a", "completed", fence=old), ANN) is Code.LEASE_LOST
    assert driver.refuses(setting("a", "completed", fence=old), newer) is Code.LEASE_LOST
    driver.set("a", "completed", newer, fence=driver.step("a").claim_seq)


@pytest.mark.spec("TB-708")
def test_of_several_who_notice_the_end_of_a_lease_one_writes_it() -> None:
    driver = claimed().later()
    assert names(driver.expire()) == ["task_step_lease_expired a", "task_step_ready a"]
    assert driver.expire() == []


@pytest.mark.spec("TB-702", "TB-708")
def test_a_lease_renewed_in_the_moment_of_its_claim_expires_once() -> None:
    driver = given(step("a"))
    assert driver.task.index.facts()
    driver.claim("a", ANN)
    driver.set("a", "running", ANN)
    driver.do(renew(), ANN)

    assert names(driver.later().expire()) == ["task_step_lease_expired a", "task_step_ready a"]


@pytest.mark.spec("TB-702")
def test_all_leases_that_are_past_end_in_one_transaction_and_the_others_go_on() -> None:
    driver = given(step("a"), step("b"), step("c"))
    driver.claim("b", ANN)
    driver.later(MINUTE).claim("a", BOB)
    driver.later(MINUTE).claim("c", worker("cat-1"))

    assert names(driver.later(LEASE - MINUTE).expire()) == [
        "task_step_lease_expired b",
        "task_step_lease_expired a",
        "task_step_ready b",
        "task_step_ready a",
    ]
    assert driver.task.next_lease_end() == driver.step("c").lease_expires_at
    claim = ClaimStep(task_id=TASK, step_id="c")
    assert driver.refuses(claim, worker("dan-1")) is Code.STEP_ALREADY_CLAIMED


def test_the_next_end_of_a_lease_follows_every_change() -> None:
    driver = given(step("a"), step("b"))
    assert driver.task.next_lease_end() is None
    driver.claim("a", ANN)
    first = driver.now + LEASE
    driver.later(MINUTE).claim("b", BOB)
    assert driver.task.next_lease_end() == first
    driver.later(MINUTE).do(renew(), ANN)
    assert driver.task.next_lease_end() == driver.step("b").lease_expires_at
    driver.set("b", "completed", BOB)
    assert driver.task.next_lease_end() == driver.step("a").lease_expires_at
    again = driver.replayed()
    assert index_facts(again.index, again.steps, driver.now) == index_facts(
        driver.task.index, driver.task.steps, driver.now
    )
