"""A log that a later version wrote: what is unknown in it is ignored, what is known counts."""

from collections.abc import Mapping

import pytest

from taskloom.board import ImpossibleEventError, evolve
from taskloom.board.events import TaskUpdated
from taskloom.errors import Code
from tests.board.task_driver import TaskDriver, facts, given, step, updating

Operation = Mapping[str, object]

KNOWN: list[Operation] = [
    {"op": "update_task", "title": "New"},
    {"op": "add_step", "step": {"step_id": "n", "title": "N", "depends_on_step_ids": ["a"]}},
    {"op": "update_step", "step_id": "b", "fields": {"title": "B!", "required": False}},
    {"op": "add_dependency", "step_id": "c", "depends_on_step_id": "b"},
    {"op": "delete_step", "step_id": "d"},
]


def staged() -> TaskDriver:
    return given(*(step(name) for name in "abcd"))


def replayed(*operations: Operation) -> dict[str, object]:
    """What a recorded update comes to."""
    driver = staged()
    update = TaskUpdated([dict(each) for each in operations])
    evolve(driver.task, update, None, driver.now, driver.task.seq + 1)
    return facts(driver.task)


def with_extras(operation: Operation) -> Operation:
    """The same operation as a later version might write it."""
    more: dict[str, object] = {**operation, "colour": "red", "nested": {"op": "delete_step"}}
    for name in ("step", "fields"):
        inner = more.get(name)
        if isinstance(inner, dict):
            more[name] = {**inner, "priority": 3}
    return more


@pytest.mark.spec("TB-1003")
@pytest.mark.parametrize("operation", KNOWN, ids=lambda each: str(each["op"]))
def test_unknown_fields_of_a_recorded_operation_are_ignored(operation: Operation) -> None:
    assert replayed(with_extras(operation)) == replayed(operation)


@pytest.mark.spec("TB-1003")
@pytest.mark.parametrize(
    "operation",
    [
        {"op": "update_task", "colour": "red"},
        {"op": "update_step", "step_id": "b", "fields": {"priority": 3}, "reason": "urgent"},
    ],
    ids=lambda each: str(each["op"]),
)
def test_a_recorded_operation_of_unknown_fields_alone_changes_nothing(operation: Operation) -> None:
    rename: Operation = {"op": "update_task", "title": "New"}
    assert replayed(operation, rename) == replayed(rename)


@pytest.mark.spec("TB-1003")
def test_an_operation_that_is_unknown_altogether_is_not_guessed_at() -> None:
    with pytest.raises(ImpossibleEventError):
        replayed({"op": "split_step", "step_id": "b"})


@pytest.mark.parametrize("operation", KNOWN, ids=lambda each: str(each["op"]))
def test_unknown_fields_are_still_refused_from_whoever_asks(operation: Operation) -> None:
    assert staged().refuses(updating(with_extras(operation))) is Code.VALIDATION_ERROR
