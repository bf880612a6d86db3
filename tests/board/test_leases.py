"""Leases: how long a claim lasts, who notices its end, and what its holder may do then."""

from datetime import timedelta

import pytest

from taskloom.board import ClaimStep, RenewLease, Rules, TaskStatus
from taskloom.board import events as ev
from taskloom.board.status import StepStatus
from taskloom.errors import Code
from tests.board.stage import (
    ANN,
    BOB,
    LEASE,
    MINUTE,
    TASK,
    Stage,
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


def claimed() -> Stage:
    stage = given(step("a"), step("b", "a"))
    stage.claim("a", ANN)
    return stage


@pytest.mark.spec("TB-701")
def test_a_lease_is_five_minutes_unless_configured() -> None:
    assert timedelta(minutes=5) == LEASE
    stage = given(step("a"), rules=Rules(lease=MINUTE))
    stage.claim("a", ANN)
    assert stage.step("a").lease_expires_at == stage.now + MINUTE


@pytest.mark.spec("TB-701", "TB-702")
def test_a_lease_runs_to_its_last_moment_and_no_longer() -> None:
    stage = claimed()
    assert stage.later(LEASE - MOMENT).expire() == []
    assert names(stage.later(MOMENT).expire()) == ["task_step_lease_expired a", "task_step_ready a"]


@pytest.mark.spec("TB-702", "TB-1002")
def test_an_expired_claim_is_cleared_and_the_step_is_free_again() -> None:
    stage = claimed()
    stage.set("a", "running", ANN)
    end = stage.now + LEASE

    events = stage.later(LEASE + MINUTE).expire()

    assert events[0].payload == ev.StepLeaseExpired(StepStatus.RUNNING, "ann", "ann-1", end)
    a = stage.step("a")
    assert (a.status, a.claimed_by_agent_id, a.claimed_by_run_id) == ("ready", None, None)
    assert a.lease_expires_at is None
    stage.claim("a", BOB)


@pytest.mark.spec("TB-702")
def test_an_expired_step_whose_dependencies_no_longer_hold_stays_pending() -> None:
    stage = claimed()
    stage.update({"op": "add_step", "step": {"step_id": "c", "title": "C"}})
    stage.update({"op": "add_dependency", "step_id": "a", "depends_on_step_id": "c"})

    assert names(stage.later().expire()) == ["task_step_lease_expired a"]
    assert stage.statuses()["a"] == "pending"


@pytest.mark.spec("TB-703")
@pytest.mark.parametrize("written", [False, True], ids=["unnoticed", "noticed"])
@pytest.mark.parametrize("status", [None, "running", "completed", "failed", "blocked"])
def test_after_the_end_the_former_holder_is_refused(status: str | None, written: bool) -> None:
    stage = claimed().later()
    if written:
        stage.expire()
    assert stage.refuses(setting("a", status, reason="Why"), ANN) is Code.LEASE_LOST
    assert stage.refuses(renew(), ANN) is Code.LEASE_LOST


@pytest.mark.spec("TB-703")
def test_the_former_holder_is_refused_while_another_holds_the_step() -> None:
    stage = claimed().later()
    stage.expire()
    stage.claim("a", BOB)
    assert stage.refuses(setting("a", "completed"), ANN) is Code.LEASE_LOST
    stage.set("a", "completed", BOB)


@pytest.mark.spec("TB-704")
def test_an_expired_lease_fails_neither_step_nor_task() -> None:
    stage = given(step("a"))
    for number in range(5):
        stage.claim("a", worker(f"ann-{number}"))
        stage.later().expire()
    assert stage.task.status is TaskStatus.RUNNING
    assert stage.statuses() == {"a": "ready"}


@pytest.mark.spec("TB-705")
def test_a_clock_that_jumps_back_revives_no_claim() -> None:
    stage = claimed().later()
    stage.expire()
    stage.later(-2 * LEASE)
    assert stage.refuses(setting("a", "completed"), ANN) is Code.LEASE_LOST
    assert stage.refuses(renew(), ANN) is Code.LEASE_LOST


@pytest.mark.spec("TB-706")
def test_a_renewed_lease_lasts_as_long_as_the_run_is_alive() -> None:
    stage = claimed()
    for _ in range(9):
        (event,) = stage.later(LEASE / 3).do(renew(stage.step("a").claim_seq), ANN)
        claim = StepStatus.CLAIMED
        assert event.payload == ev.StepUpdated(claim, claim, lease_expires_at=stage.now + LEASE)
        assert stage.expire() == []
    stage.set("a", "completed", ANN)


@pytest.mark.spec("TB-706")
def test_only_the_holder_renews() -> None:
    stage = claimed()
    assert stage.refuses(renew(), BOB) is Code.PERMISSION_DENIED
    assert stage.refuses(renew()) is Code.PERMISSION_DENIED
    stage.set("a", "failed", ANN, reason="No")
    assert stage.refuses(renew(), ANN) is Code.LEASE_LOST


@pytest.mark.spec("TB-707")
def test_a_write_with_another_fence_than_the_claims_is_refused() -> None:
    stage = claimed()
    fence = stage.step("a").claim_seq
    for wrong in (fence - 1, fence + 1, 0):
        assert stage.refuses(setting("a", "completed", fence=wrong), ANN) is Code.LEASE_LOST
        assert stage.refuses(renew(wrong), ANN) is Code.LEASE_LOST
    stage.set("a", "running", ANN, fence=fence)
    stage.set("a", "completed", ANN, fence=fence)


@pytest.mark.spec("TB-707")
def test_a_write_under_an_older_claim_of_the_same_worker_is_refused() -> None:
    stage = claimed()
    old = stage.step("a").claim_seq
    stage.later().expire()
    newer = worker("ann-2")
    stage.claim("a", newer)

    assert stage.refuses(setting("a", "completed", fence=old), ANN) is Code.LEASE_LOST
    assert stage.refuses(setting("a", "completed", fence=old), newer) is Code.LEASE_LOST
    stage.set("a", "completed", newer, fence=stage.step("a").claim_seq)


@pytest.mark.spec("TB-708")
def test_of_several_who_notice_the_end_of_a_lease_one_writes_it() -> None:
    stage = claimed().later()
    assert names(stage.expire()) == ["task_step_lease_expired a", "task_step_ready a"]
    assert stage.expire() == []


@pytest.mark.spec("TB-702", "TB-708")
def test_a_lease_renewed_in_the_moment_of_its_claim_expires_once() -> None:
    stage = given(step("a"))
    assert stage.task.index.facts()
    stage.claim("a", ANN)
    stage.set("a", "running", ANN)
    stage.do(renew(), ANN)

    assert names(stage.later().expire()) == ["task_step_lease_expired a", "task_step_ready a"]


@pytest.mark.spec("TB-702")
def test_all_leases_that_are_past_end_in_one_transaction_and_the_others_go_on() -> None:
    stage = given(step("a"), step("b"), step("c"))
    stage.claim("b", ANN)
    stage.later(MINUTE).claim("a", BOB)
    stage.later(MINUTE).claim("c", worker("cat-1"))

    assert names(stage.later(LEASE - MINUTE).expire()) == [
        "task_step_lease_expired b",
        "task_step_lease_expired a",
        "task_step_ready b",
        "task_step_ready a",
    ]
    assert stage.task.next_lease_end() == stage.step("c").lease_expires_at
    claim = ClaimStep(task_id=TASK, step_id="c")
    assert stage.refuses(claim, worker("dan-1")) is Code.STEP_ALREADY_CLAIMED


def test_the_next_end_of_a_lease_follows_every_change() -> None:
    stage = given(step("a"), step("b"))
    assert stage.task.next_lease_end() is None
    stage.claim("a", ANN)
    first = stage.now + LEASE
    stage.later(MINUTE).claim("b", BOB)
    assert stage.task.next_lease_end() == first
    stage.later(MINUTE).do(renew(), ANN)
    assert stage.task.next_lease_end() == stage.step("b").lease_expires_at
    stage.set("b", "completed", BOB)
    assert stage.task.next_lease_end() == stage.step("a").lease_expires_at
    again = stage.replayed()
    assert index_facts(again.index, again.steps, stage.now) == index_facts(
        stage.task.index, stage.task.steps, stage.now
    )
