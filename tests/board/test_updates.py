"""An update: operations in order, all or none, one event, and the same again at replay."""

import pytest

from taskloom.board import (
    AddDependency,
    AddStep,
    CancelStep,
    DeleteStep,
    Event,
    NewStep,
    Operation,
    RemoveDependency,
    ReopenStep,
    StepStatus,
    TaskStatus,
    UpdateFields,
    UpdateStepContent,
    UpdateTask,
)
from taskloom.board import events as ev
from taskloom.errors import Code
from tests.board.task_driver import ANN, TaskDriver, facts, given, names, step, updating

Raw = dict[str, object]


def add(step_id: str, *on: str) -> Raw:
    new = {"step_id": step_id, "title": step_id.upper(), "depends_on_step_ids": list(on)}
    return {"op": "add_step", "step": new}


def act(verb: str, step_id: str, **more: object) -> Raw:
    return {"op": f"{verb}_step", "step_id": step_id, **more}


def depend(step_id: str, on: str, verb: str = "add") -> Raw:
    return {"op": f"{verb}_dependency", "step_id": step_id, "depends_on_step_id": on}


def content(step_id: str, **fields: object) -> Raw:
    return {"op": "update_step", "step_id": step_id, "fields": fields}


def stage_with_failed() -> TaskDriver:
    """`a` failed, `b` waits for it, `c` is ready, `d` is claimed."""
    driver = given(step("a"), step("b", "a"), step("c"), step("d"))
    driver.set("a", "failed", reason="No")
    driver.claim("d", ANN)
    return driver


@pytest.mark.spec("TB-604", "TB-605")
def test_all_eight_operations_in_one_update() -> None:
    driver = stage_with_failed()

    events = driver.update(
        {"op": "update_task", "title": "New title", "summary": "New summary"},
        add("e", "c"),
        content("c", title="C2", required=False),
        depend("e", "d"),
        depend("e", "c", "remove"),
        act("reopen", "a", reason="Again"),
        depend("b", "a", "remove"),
        act("delete", "b"),
        act("cancel", "c", reason="Moot"),
    )

    assert names(events) == [
        "task_updated",
        "task_step_reopened a",
        "task_step_cancelled c",
        "task_step_ready a",
    ]
    assert (driver.task.title, driver.task.summary) == ("New title", "New summary")
    assert driver.statuses() == {"a": "ready", "c": "cancelled", "d": "claimed", "e": "pending"}
    assert driver.step("e").depends_on_step_ids == ("d",)
    assert facts(driver.replayed()) == facts(driver.task)


@pytest.mark.spec("TB-604")
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_failing_operation_undoes_all_and_is_named(place: int) -> None:
    driver = given(step("a"), step("b"))
    operations = [content("a", title="New"), add("c", "a")]
    operations.insert(place, act("reopen", "b"))

    error = driver.refusal(updating(*operations))

    assert error.code is Code.INVALID_TRANSITION
    assert error.details["index"] == place
    assert error.message.startswith(f"$.operations[{place}]")


@pytest.mark.spec("TB-604", "TB-206")
def test_a_circle_closed_by_an_update_names_the_operation_that_closed_it() -> None:
    driver = given(step("a"), step("b", "a"), step("c", "b"))

    error = driver.refusal(updating(content("b", title="B2"), depend("a", "c"), add("d")))

    assert error.code is Code.DEPENDENCY_CYCLE
    assert error.details["index"] == 1
    assert error.details["cycle"] in (["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"])


@pytest.mark.spec("TB-604", "TB-206")
def test_an_unknown_dependency_is_found_at_the_end_and_named_with_its_operation() -> None:
    driver = given(step("a"), step("b"))

    error = driver.refusal(updating(content("a", title="A2"), depend("b", "ghost")))
    assert (error.code, error.details["index"]) == (Code.STEP_NOT_FOUND, 1)
    assert error.details["step_id"] == "ghost"

    # What is missing at first may be added by a later operation.
    driver.update(depend("b", "late"), add("late"))
    assert driver.statuses()["b"] == "pending"


@pytest.mark.spec("TB-604")
def test_operations_see_what_the_ones_before_them_did() -> None:
    driver = given(step("a"))
    assert driver.refuses(updating(depend("b", "a"), add("b"))) is Code.STEP_NOT_FOUND
    assert driver.refuses(updating(add("b"), add("b"))) is Code.VALIDATION_ERROR
    gone_twice = updating(add("b"), act("delete", "b"), act("delete", "b"))
    assert driver.refuses(gone_twice) is Code.STEP_NOT_FOUND
    driver.update(add("b"), depend("b", "a"), act("cancel", "b"))
    assert driver.statuses() == {"a": "ready", "b": "cancelled"}


@pytest.mark.spec("TB-605")
def test_typed_operations_mean_the_same_as_written_ones() -> None:
    written = [
        {"op": "update_task", "title": "T", "status": "blocked", "reason": "R"},
        {"op": "add_step", "step": {"step_id": "e", "title": "E", "depends_on_step_ids": ["c"]}},
        content("c", title="C2", required=False, worker_pool_id="p", depends_on_step_ids=[]),
        depend("e", "d"),
        depend("e", "c", "remove"),
        act("reopen", "a"),
        act("cancel", "c", reason="R"),
        act("delete", "c"),
    ]
    fields = UpdateFields(title="C2", required=False, worker_pool_id="p", depends_on_step_ids=())
    typed: list[Operation] = [
        UpdateTask(title="T", status=TaskStatus.BLOCKED, reason="R"),
        AddStep(step=NewStep(step_id="e", title="E", depends_on_step_ids=("c",))),
        UpdateStepContent(step_id="c", fields=fields),
        AddDependency(step_id="e", depends_on_step_id="d"),
        RemoveDependency(step_id="e", depends_on_step_id="c"),
        ReopenStep(step_id="a"),
        CancelStep(step_id="c", reason="R"),
        DeleteStep(step_id="c"),
    ]
    one, other = stage_with_failed(), stage_with_failed()
    one.do(updating(*written))
    other.do(updating(*typed))

    assert facts(one.task) == facts(other.task)


@pytest.mark.spec("TB-606")
def test_the_event_holds_the_operations_and_not_the_dag() -> None:
    driver = given(*(step(f"s{at}") for at in range(50)))

    (event,) = driver.update(content("s7", title="Seven"))

    assert event == Event(ev.TaskUpdated([content("s7", title="Seven")], []))


COMBINATIONS = {
    "reopen, delete": [depend("b", "a", "remove"), act("reopen", "a"), act("delete", "a")],
    "reopen, cancel": [act("reopen", "a"), act("cancel", "a")],
    "reopen, cancel, delete": [
        depend("b", "a", "remove"), act("reopen", "a"), act("cancel", "a"), act("delete", "a"),
    ],
    "cancel, delete": [act("cancel", "c"), act("delete", "c")],
    "cancel, delete, add": [act("cancel", "c"), act("delete", "c"), add("c", "d")],
    "add, depend, delete": [add("e"), depend("b", "e"), depend("b", "e", "remove"),
                            act("delete", "e")],
    "add, cancel": [add("e"), act("cancel", "e")],
    "depend, cancel": [depend("c", "d"), act("cancel", "c")],
    "delete, add the same": [act("delete", "c"), add("c")],
    "part, delete, add, join": [
        depend("b", "a", "remove"), act("reopen", "a"), act("delete", "a"), add("a", "c"),
        depend("b", "a"),
    ],
    "block, reopen step": [{"op": "update_task", "status": "blocked"}, act("reopen", "a")],
    "swap an edge": [depend("b", "a", "remove"), depend("a", "b"), act("reopen", "a")],
    "text and status": [
        {"op": "update_task", "title": "T", "summary": "S", "status": "blocked", "reason": "R"},
    ],
    "dispatch and delete": [content("d", title="D2"), act("delete", "c")],
}  # fmt: skip  # one line each reads like a list of stories


@pytest.mark.spec("TB-622")
@pytest.mark.parametrize("operations", COMBINATIONS.values(), ids=COMBINATIONS.keys())
def test_every_sequence_of_operations_replays_to_the_same_state(operations: list[Raw]) -> None:
    driver = stage_with_failed()
    assert driver.task.index.facts()  # From here on the index has to follow.

    driver.update(*operations)

    again = driver.replayed()
    assert facts(again) == facts(driver.task)
    assert again.index.facts() == driver.task.index.facts()


@pytest.mark.spec("TB-622", "TB-606")
def test_status_changes_inside_an_update_have_their_own_events_once() -> None:
    driver = stage_with_failed()
    events = driver.update(act("reopen", "a"), act("cancel", "a"))

    assert names(events) == ["task_updated", "task_step_reopened a", "task_step_cancelled a"]
    assert isinstance(events[2].payload, ev.StepCancelled)
    assert events[2].payload.previous_status is StepStatus.PENDING
    assert driver.task.counts[StepStatus.CANCELLED] == 1


@pytest.mark.spec("TB-622")
def test_the_events_of_a_deleted_step_go_with_it() -> None:
    driver = stage_with_failed()
    events = driver.update(
        depend("b", "a", "remove"), act("reopen", "a"), act("cancel", "a"), act("delete", "a")
    )
    assert names(events) == ["task_updated", "task_step_ready b"]


@pytest.mark.spec("TB-623")
def test_a_malformed_operation_is_told_before_anything_else() -> None:
    driver = given(step("a"))
    error = driver.refusal(updating(act("reopen", "a"), act("delete", "ghost"), {"op": "fly"}))
    assert (error.code, error.details["path"]) == (Code.VALIDATION_ERROR, "$.operations[2].op")


@pytest.mark.spec("TB-619")
def test_an_error_has_a_code_a_message_and_details() -> None:
    error = given(step("a")).refusal(updating(act("delete", "b"))).as_dict()
    assert error["code"] == "step_not_found"
    assert "no step 'b'" in str(error["message"])
    assert error["details"] == {"path": "$.operations[0]", "index": 0, "step_id": "b"}
