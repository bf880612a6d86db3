"""The fields of payloads in the log, and events that cannot follow."""

from dataclasses import fields

import pytest

from taskloom.board import (
    PAYLOADS,
    TASK_NEXT,
    EventType,
    ImpossibleEventError,
    StepStatus,
    TaskStatus,
    create,
    evolve,
)
from taskloom.board import events as ev
from tests.board.task_driver import START, given, step

PAYLOAD_FIELDS = {
    "task_created": "task",
    "task_running": "previous_status status reason",
    "task_updated": "operations updated_after_dispatch_step_ids",
    "task_blocked": "previous_status status reason",
    "task_reopened": "previous_status status reason",
    "task_completed": "result_summary cancelled_optional_step_ids",
    "task_failed": "reason failed_step_ids",
    "task_cancelled": "reason cancelled_step_ids",
    "task_step_ready": "previous_status status depends_on_step_ids",
    "task_step_claimed": "previous_status claimed_by_agent_id claimed_by_run_id lease_expires_at",
    "task_step_started": "previous_status status lease_expires_at",
    "task_step_updated": "previous_status status result_summary artifact_ids lease_expires_at",
    "task_step_blocked": "previous_status reason result_summary artifact_ids",
    "task_step_completed": "previous_status result_summary artifact_ids result_data",
    "task_step_failed": "previous_status reason result_summary artifact_ids",
    "task_step_cancelled": "previous_status reason result_summary",
    "task_step_reopened": "previous_status status reason",
    "task_step_lease_expired": "previous_status claimed_by_agent_id claimed_by_run_id expired_at",
}
"""As TB-1001 and TB-1002 write them, and LB-206: `result_data` is in the line only if given."""


@pytest.mark.spec("TB-1001", "TB-1002")
@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda payload: payload.type.value)
def test_a_payload_has_the_fields_of_the_spec(payload: type[ev.Payload]) -> None:
    assert {item.name for item in fields(payload)} == set(
        PAYLOAD_FIELDS[payload.type.value].split()
    )


@pytest.mark.spec("TB-1001", "TB-1002")
def test_there_is_one_payload_for_each_event_of_the_spec() -> None:
    assert sorted(payload.type.value for payload in PAYLOADS) == sorted(PAYLOAD_FIELDS)
    assert {event.value for event in EventType} == PAYLOAD_FIELDS.keys()


@pytest.mark.spec("TB-1001")
def test_the_snapshot_of_a_new_task_holds_all_of_its_content() -> None:
    driver = given(step("a", summary="S", required=False, worker_pool_id="p"), step("b", "a"))
    created = driver.log[0].payload
    assert isinstance(created, ev.TaskCreated)
    assert created.task.created_by_run_id == "boss-1"
    assert created.task.steps == [
        ev.StepSnapshot(step_id="a", title="A", summary="S", required=False, worker_pool_id="p"),
        ev.StepSnapshot(
            step_id="b", title="B", depends_on_step_ids=["a"], worker_pool_id="default"
        ),
    ]


def of_task(kind: EventType, before: TaskStatus) -> ev.Payload:
    changing = {
        EventType.TASK_RUNNING: ev.TaskRunning,
        EventType.TASK_BLOCKED: ev.TaskBlocked,
        EventType.TASK_REOPENED: ev.TaskReopened,
    }
    ending = {
        EventType.TASK_COMPLETED: ev.TaskCompleted,
        EventType.TASK_FAILED: ev.TaskFailed,
        EventType.TASK_CANCELLED: ev.TaskCancelled,
    }
    if kind in changing:
        return changing[kind](before)
    return ending[kind]() if kind in ending else ev.TaskUpdated([])


@pytest.mark.spec("TB-419")
@pytest.mark.parametrize("before", list(TaskStatus))
@pytest.mark.parametrize(
    "kind",
    [kind for kind in EventType if not kind.startswith("task_step") and kind != "task_created"],
)
def test_a_task_follows_its_table_and_nothing_else(before: TaskStatus, kind: EventType) -> None:
    task = given(step("a")).task
    task.status = before
    after = TASK_NEXT[before].get(kind)
    if after is None:
        with pytest.raises(ImpossibleEventError):
            evolve(task, of_task(kind, before), None, START, task.seq + 1)
    else:
        evolve(task, of_task(kind, before), None, START, task.seq + 1)
        assert task.status is after


_S = StepStatus
IMPOSSIBLE: dict[str, tuple[ev.Payload, str | None]] = {
    "a step that is not there": (ev.StepReady(_S.PENDING, []), "ghost"),
    "a step event without a step": (ev.StepReady(_S.PENDING, []), None),
    "another status than it says": (ev.StepCompleted(_S.RUNNING), "a"),
    "ready while it waits": (ev.StepReady(_S.PENDING, ["a"]), "b"),
    "the end of a lease nobody has": (ev.StepLeaseExpired(_S.READY, "x", "x-1", START), "a"),
    "a second beginning": (ev.TaskCreated(ev.TaskSnapshot(task_id="t")), None),
    "an unknown operation": (ev.TaskUpdated([{"op": "fly"}]), None),
    "a step added twice": (
        ev.TaskUpdated([{"op": "add_step", "step": {"step_id": "a", "title": "A"}}]),
        None,
    ),
    "a deletion of nothing": (ev.TaskUpdated([{"op": "delete_step", "step_id": "g"}]), None),
    "a circle": (
        ev.TaskUpdated([{"op": "add_dependency", "step_id": "a", "depends_on_step_id": "b"}]),
        None,
    ),
    "a dependency on nothing": (
        ev.TaskUpdated([{"op": "add_dependency", "step_id": "a", "depends_on_step_id": "g"}]),
        None,
    ),
}


@pytest.mark.parametrize(("payload", "step_id"), IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_an_event_that_cannot_follow_is_said_to_be_impossible(
    payload: ev.Payload, step_id: str | None
) -> None:
    task = given(step("a"), step("b", "a")).task
    with pytest.raises(ImpossibleEventError):
        evolve(task, payload, step_id, START, task.seq + 1)


@pytest.mark.parametrize(
    "steps",
    [
        [ev.StepSnapshot(step_id="a", title="A"), ev.StepSnapshot(step_id="a", title="A")],
        [ev.StepSnapshot(step_id="a", title="A", depends_on_step_ids=["g"])],
        [ev.StepSnapshot(step_id="a", title="A", depends_on_step_ids=["a"])],
    ],
    ids=["twice", "unknown", "circle"],
)
def test_a_log_that_begins_with_no_dag_is_impossible(steps: list[ev.StepSnapshot]) -> None:
    begin = ev.TaskCreated(ev.TaskSnapshot(task_id="t", steps=steps))
    with pytest.raises(ImpossibleEventError):
        create(begin, START, 1, "s1")
