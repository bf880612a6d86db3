"""A step's status: what moves it, what cannot, and what is final."""

from itertools import product
from typing import get_args

import pytest

from taskloom.board import (
    STEP_NEXT,
    ClaimStep,
    CompleteTask,
    EventType,
    ImpossibleEventError,
    StepStatus,
    Task,
    evolve,
    view_step,
)
from taskloom.board import events as ev
from taskloom.errors import Code
from tests.board.task_driver import (
    ANN,
    BOB,
    CAT,
    START,
    TASK,
    TaskDriver,
    facts,
    given,
    names,
    setting,
    step,
    updating,
    worker,
)

_S = StepStatus


def cancel(step_id: str) -> dict[str, object]:
    return {"op": "cancel_step", "step_id": step_id}


def reopen(step_id: str) -> dict[str, object]:
    return {"op": "reopen_step", "step_id": step_id}


def delete(step_id: str) -> dict[str, object]:
    return {"op": "delete_step", "step_id": step_id}


def content(step_id: str, **fields: object) -> dict[str, object]:
    return {"op": "update_step", "step_id": step_id, "fields": fields}


def depend(step_id: str, on: str) -> dict[str, object]:
    return {"op": "add_dependency", "step_id": step_id, "depends_on_step_id": on}


def with_step(status: StepStatus) -> TaskDriver:
    """A board whose step `x` has this status; `a` is ready and nothing depends on either."""
    driver = given(step("x"), step("a"), step("gate", worker_pool_id="other"))
    if status is _S.PENDING:
        driver.update(depend("x", "gate"))
    elif status is _S.CANCELLED:
        driver.update(cancel("x"))
    elif status is not _S.READY:
        driver.claim("x", ANN)
        if status is not _S.CLAIMED:
            driver.set("x", status, ANN, reason="Why")
    assert driver.step("x").status is status
    return driver


@pytest.mark.spec("TB-401")
@pytest.mark.parametrize("end", ["failed", "cancelled"])
@pytest.mark.parametrize("required", [True, False])
def test_only_completed_satisfies_a_dependency(end: str, required: bool) -> None:
    driver = given(step("a", required=required), step("b", "a"))
    driver.set("a", end, reason="No")

    assert driver.statuses()["b"] == "pending"
    claim = ClaimStep(task_id=TASK, step_id="b")
    assert driver.refuses(claim, ANN) is Code.STEP_NOT_READY


@pytest.mark.spec("TB-402", "TB-403")
@pytest.mark.parametrize("status", ["ready", "claimed", "running", "completed"])
def test_a_step_that_waits_cannot_be_moved_on_by_anybody(status: str) -> None:
    driver = given(step("a"), step("b", "a"))
    code = driver.refuses(setting("b", status))
    assert code is (Code.VALIDATION_ERROR if status == "ready" else Code.INVALID_TRANSITION)


@pytest.mark.spec("TB-403", "TB-621")
def test_the_last_completed_dependency_makes_a_step_ready_in_the_same_transaction() -> None:
    driver = given(step("a"), step("b"), step("c", "a", "b"), step("d", "a"))
    driver.claim("a", ANN)
    driver.claim("b", BOB)

    first = driver.set("a", "completed", ANN)
    assert names(first) == ["task_step_completed a", "task_step_ready d"]
    second = driver.set("b", "completed", BOB)
    assert names(second) == ["task_step_completed b", "task_step_ready c"]


@pytest.mark.spec("TB-403")
@pytest.mark.parametrize("status", list(StepStatus))
def test_nobody_sets_ready_by_hand(status: StepStatus) -> None:
    driver = with_step(status)
    error = driver.refusal(setting("x", "ready"))
    assert (error.code, error.details["path"]) == (Code.VALIDATION_ERROR, "$.status")
    assert driver.refuses(setting("x", "ready"), ANN) is Code.VALIDATION_ERROR


@pytest.mark.spec("TB-404")
def test_a_new_dependency_takes_a_ready_step_back_and_the_log_says_so() -> None:
    driver = given(step("a"), step("b"))

    events = driver.update(depend("b", "a"))

    assert names(events) == ["task_updated", "task_step_updated b"]
    assert events[1].payload == ev.StepUpdated(_S.READY, _S.PENDING)
    assert driver.replayed().steps["b"].status is _S.PENDING


@pytest.mark.spec("TB-404")
def test_a_dropped_dependency_makes_a_step_ready() -> None:
    driver = given(step("a"), step("b", "a"))
    events = driver.update(content("b", depends_on_step_ids=[]))
    assert names(events) == ["task_updated", "task_step_ready b"]


@pytest.mark.spec("TB-405")
@pytest.mark.parametrize("first", ["claimed", "running"])
@pytest.mark.parametrize("then", ["blocked", "completed", "failed", "cancelled"])
def test_a_holder_ends_its_step_in_every_way_with_or_without_running(first: str, then: str) -> None:
    driver = with_step(StepStatus(first))
    assert names(driver.set("x", then, ANN, reason="Why")) == [f"task_step_{then} x"]
    assert driver.statuses()["x"] == then


@pytest.mark.spec("TB-406", "TB-407", "TB-408", "TB-421")
@pytest.mark.parametrize("status", ["blocked", "failed"])
def test_what_a_worker_gave_up_only_the_orchestrator_reopens(status: str) -> None:
    driver = with_step(StepStatus(status))
    x = driver.step("x")
    assert x.reason == "Why"
    assert (x.claimed_by_agent_id, x.claimed_by_run_id, x.lease_expires_at) == (None, None, None)
    assert driver.refuses(setting("x", "pending"), ANN) is Code.LEASE_LOST
    assert driver.refuses(setting("x", "pending"), BOB) is Code.PERMISSION_DENIED
    assert driver.refuses(updating(reopen("x")), BOB) is Code.PERMISSION_DENIED

    events = driver.update({**reopen("x"), "reason": "Once more"})
    assert names(events) == ["task_updated", "task_step_reopened x", "task_step_ready x"]
    assert events[1].payload == ev.StepReopened(StepStatus(status), reason="Once more")
    assert driver.step("x").reason == "Once more"


@pytest.mark.spec("TB-408")
def test_a_reopened_step_with_an_unmet_dependency_stays_pending() -> None:
    driver = with_step(_S.FAILED)
    driver.update(depend("x", "a"))
    assert names(driver.set("x", "pending")) == ["task_step_reopened x"]
    assert driver.statuses()["x"] == "pending"


@pytest.mark.spec("TB-409")
def test_a_cancelled_step_is_final_but_for_its_text() -> None:
    driver = with_step(_S.CANCELLED)
    assert driver.refuses(updating(reopen("x"))) is Code.STEP_TERMINAL
    for status in (None, *set(StepStatus) - {_S.READY}):
        assert driver.refuses(setting("x", status, result_summary="R")) is Code.STEP_TERMINAL

    driver.update(content("x", title="Old plan", summary="Dropped"))
    assert (driver.step("x").title, driver.statuses()["x"]) == ("Old plan", "cancelled")


@pytest.mark.spec("TB-410")
def test_a_completed_step_is_history_but_for_its_text() -> None:
    driver = given(step("x"), step("a"))
    driver.set("x", "completed", result_summary="Done", artifact_ids=("art-1",))
    dropped = {"op": "remove_dependency", "step_id": "x", "depends_on_step_id": "a"}

    assert driver.refuses(updating(delete("x"))) is Code.INVALID_TRANSITION
    assert driver.refuses(updating(reopen("x"))) is Code.STEP_TERMINAL
    assert driver.refuses(setting("x", "pending")) is Code.STEP_TERMINAL
    assert driver.refuses(setting("x", None, result_summary="Other")) is Code.STEP_TERMINAL
    assert driver.refuses(setting("x", None, artifact_ids=())) is Code.STEP_TERMINAL
    for operation in (
        depend("x", "a"),
        dropped,
        content("x", required=False),
        content("x", worker_pool_id="p"),
        content("x", depends_on_step_ids=["a"]),
    ):
        assert driver.refuses(updating(operation)) is Code.STEP_TERMINAL

    driver.update(content("x", title="T", summary="S"))
    x = driver.step("x")
    assert (x.title, x.summary, x.result_summary, x.artifact_ids) == ("T", "S", "Done", ("art-1",))


@pytest.mark.spec("TB-411", "TB-616")
@pytest.mark.parametrize("status", list(StepStatus))
def test_the_orchestrator_cancels_only_what_nobody_has_begun(status: StepStatus) -> None:
    by_operation, by_status = updating(cancel("x")), setting("x", "cancelled")
    if status in (_S.PENDING, _S.READY):
        for command in (by_operation, by_status):
            driver = with_step(status)
            assert "task_step_cancelled x" in names(driver.do(command))
            assert driver.statuses()["x"] == "cancelled"
        return
    error = with_step(status).refusal(by_operation)
    assert error.code is Code.INVALID_TRANSITION
    assert len(error.message.split(". ")) > 1, "says what to do instead"
    code = with_step(status).refuses(by_status)
    assert code is (Code.STEP_TERMINAL if status is _S.CANCELLED else Code.INVALID_TRANSITION)


@pytest.mark.spec("TB-413")
@pytest.mark.parametrize("status", [each for each in StepStatus if each is not _S.COMPLETED])
def test_the_orchestrator_changes_all_content_of_a_step_that_is_not_over(
    status: StepStatus,
) -> None:
    driver = with_step(status)
    new = {"title": "T", "summary": "S", "required": False, "worker_pool_id": "p"}

    driver.update(content("x", depends_on_step_ids=["a"], **new))

    x = driver.step("x")
    shown = (x.title, x.summary, x.required, x.worker_pool_id, x.depends_on_step_ids)
    assert shown == ("T", "S", False, "p", ("a",))
    assert driver.task.required_open == 2
    assert facts(driver.replayed()) == facts(driver.task)


@pytest.mark.spec("TB-414", "TB-415")
@pytest.mark.parametrize("status", ["claimed", "running"])
def test_a_change_after_dispatch_is_recorded_and_stops_nobody(status: str) -> None:
    driver = with_step(StepStatus(status))

    events = driver.update(content("x", summary="New"), depend("x", "a"), content("a", title="A2"))

    assert events[0].payload.type is EventType.TASK_UPDATED
    assert isinstance(events[0].payload, ev.TaskUpdated)
    assert events[0].payload.updated_after_dispatch_step_ids == ["x"]
    assert driver.statuses()["x"] == status
    view = view_step(driver.step("x"))
    assert view.updated_after_dispatch
    assert (view.dispatched_title, view.dispatched_summary, view.summary) == ("X", "", "New")
    assert not view_step(driver.step("a")).updated_after_dispatch
    driver.set("x", "completed", ANN)


@pytest.mark.spec("TB-414")
def test_the_next_claimer_has_seen_the_change() -> None:
    driver = with_step(_S.CLAIMED)
    driver.update(content("x", summary="New"))
    driver.later().expire()
    driver.claim("x", BOB)
    assert not driver.step("x").updated_after_dispatch
    assert view_step(driver.step("x")).dispatched_summary is None


@pytest.mark.spec("TB-416")
@pytest.mark.parametrize("status", [_S.BLOCKED, _S.FAILED])
def test_blocked_and_failed_steps_stay_so_when_their_dependencies_change(
    status: StepStatus,
) -> None:
    driver = with_step(status)
    assert names(driver.update(depend("x", "a"))) == ["task_updated"]
    driver.complete("a")
    assert names(driver.update(content("x", depends_on_step_ids=[]))) == ["task_updated"]
    assert driver.step("x").status is status


@pytest.mark.spec("TB-417")
@pytest.mark.parametrize("status", list(StepStatus))
def test_only_pending_ready_and_cancelled_steps_are_deleted(status: StepStatus) -> None:
    driver = with_step(status)
    if status in (_S.PENDING, _S.READY, _S.CANCELLED):
        assert names(driver.update(delete("x"))) == ["task_updated"]
        assert "x" not in driver.task.steps
    else:
        assert driver.refuses(updating(delete("x"))) is Code.INVALID_TRANSITION


@pytest.mark.spec("TB-417")
def test_a_step_that_others_wait_for_is_not_deleted_before_they_let_go() -> None:
    driver = given(step("a"), step("b", "a"), step("c", "a"), step("d", "b"))

    error = driver.refusal(updating(content("d", depends_on_step_ids=[]), delete("a")))
    assert error.code is Code.STEP_HAS_DEPENDENTS
    assert error.details["dependents"] == ["b", "c"]
    assert error.details["index"] == 1

    freed = [content(name, depends_on_step_ids=[]) for name in ("b", "c")]
    assert driver.refuses(updating(delete("a"), *freed)) is Code.STEP_HAS_DEPENDENTS
    driver.update(*freed, delete("a"))
    assert list(driver.task.steps) == ["b", "c", "d"]


@pytest.mark.spec("TB-418", "TB-401")
def test_a_required_step_still_needs_the_optional_one_it_waits_for() -> None:
    driver = given(step("a", required=False), step("b", "a"))
    claim = ClaimStep(task_id=TASK, step_id="b")
    complete = CompleteTask(task_id=TASK)
    assert driver.refuses(claim, ANN) is Code.STEP_NOT_READY
    assert driver.refusal(complete).details["open_required_step_ids"] == ["b"]

    driver.complete("a", "b")
    assert names(driver.do(complete)) == ["task_completed"]


STEP_EVENTS: dict[EventType, type[ev.StepPayload]] = {
    kind.type: kind for kind in get_args(ev.StepPayload)
}


def payload(kind: EventType, before: StepStatus, to: StepStatus) -> ev.StepPayload:
    if kind is EventType.STEP_READY:
        return ev.StepReady(before, [])
    if kind is EventType.STEP_CLAIMED:
        return ev.StepClaimed(before, "bob", "bob-9", START)
    if kind is EventType.STEP_UPDATED:
        return ev.StepUpdated(before, to)
    if kind is EventType.STEP_LEASE_EXPIRED:
        return ev.StepLeaseExpired(before, "ann", "ann-1", START)
    return STEP_EVENTS[kind](before)  # pyright: ignore[reportCallIssue]  # these need no more


def follow(task: Task, event: ev.StepPayload) -> StepStatus | None:
    try:
        evolve(task, event, "x", START, task.seq + 1)
    except ImpossibleEventError:
        return None
    return task.steps["x"].status


LANDS = {
    EventType.STEP_READY: {_S.READY},
    EventType.STEP_CLAIMED: {_S.CLAIMED},
    EventType.STEP_STARTED: {_S.RUNNING},
    EventType.STEP_UPDATED: set(StepStatus),
    EventType.STEP_BLOCKED: {_S.BLOCKED},
    EventType.STEP_COMPLETED: {_S.COMPLETED},
    EventType.STEP_FAILED: {_S.FAILED},
    EventType.STEP_CANCELLED: {_S.CANCELLED},
    EventType.STEP_REOPENED: {_S.PENDING},
    EventType.STEP_LEASE_EXPIRED: {_S.PENDING},
}


@pytest.mark.spec("TB-419")
@pytest.mark.parametrize("kind", STEP_EVENTS, ids=lambda kind: kind.value)
@pytest.mark.parametrize("before", list(StepStatus))
def test_evolve_follows_the_table_and_nothing_else(before: StepStatus, kind: EventType) -> None:
    for to in LANDS[kind]:
        driver = with_step(before)
        if before is _S.PENDING:
            driver.step("x").unmet = 0  # So that only the table can say no to ready.
        allowed = to in STEP_NEXT[before].get(kind, frozenset())
        assert follow(driver.task, payload(kind, before, to)) == (to if allowed else None)


@pytest.mark.spec("TB-419")
@pytest.mark.parametrize(("before", "to"), list(product(StepStatus, StepStatus)))
def test_every_pair_outside_the_table_is_refused(before: StepStatus, to: StepStatus) -> None:
    legal = {after for each in STEP_NEXT[before].values() for after in each}
    if to in legal and to is not _S.READY:
        return
    no = {Code.INVALID_TRANSITION, Code.STEP_TERMINAL, Code.VALIDATION_ERROR}
    command = setting("x", to, result_summary="R", reason="Why")
    assert with_step(before).refuses(command) in no
    no |= {Code.LEASE_LOST, Code.PERMISSION_DENIED}
    assert with_step(before).refuses(command, ANN) in no


@pytest.mark.spec("TB-421")
@pytest.mark.parametrize("way", ["blocked", "completed", "failed", "cancelled", "expired"])
def test_each_way_out_of_a_claim_ends_it_for_good(way: str) -> None:
    driver = given(step("x"), step("a"))
    driver.claim("x", ANN)
    if way == "expired":
        driver.later().expire()
        driver.claim("x", BOB)
        driver.set("x", "failed", BOB, reason="No")
    else:
        driver.set("x", way, ANN, reason="Why")
    if way not in ("completed", "cancelled"):
        driver.update(reopen("x"))
        driver.claim("x", CAT)
    for status in (None, "running", "completed"):
        assert driver.refuses(setting("x", status), ANN) in (Code.LEASE_LOST, Code.STEP_TERMINAL)
    assert driver.refuses(setting("x", None), worker("ann-2")) is Code.PERMISSION_DENIED
