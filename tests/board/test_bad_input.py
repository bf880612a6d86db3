"""Every wrong id, name, field, type, size, status: the code, the path, and nothing changed."""

from typing import Any, cast

import pytest

from taskloom.board import (
    CancelTask,
    ClaimStep,
    Command,
    CompleteTask,
    CreateTask,
    EndRun,
    FailTask,
    RenewLease,
    Rules,
    UpdateStep,
    decide_create,
)
from taskloom.errors import Code, RefusedError
from tests.board.task_driver import ANN, BOSS, START, TASK, TaskDriver, given, step, updating

RULES = Rules(
    title_bytes_max=20,
    summary_bytes_max=30,
    result_bytes_max=30,
    artifacts_max=2,
    operations_max=3,
    steps_max=3,
    dependencies_max=2,
)
LONG = "x" * 31
LONE = "\ud83d"
OP = "$.operations[0]"
STEP: dict[str, object] = {"step_id": "n", "title": "N"}


def add(**changed: object) -> dict[str, object]:
    return {"op": "add_step", "step": {**STEP, **changed}}


def fields(**changed: object) -> dict[str, object]:
    return {"op": "update_step", "step_id": "a", "fields": changed}


def act(name: str, step_id: object = "a", **more: object) -> dict[str, object]:
    return {"op": name, "step_id": step_id, **more}


def depend(step_id: object, on: object) -> dict[str, object]:
    return {"op": "add_dependency", "step_id": step_id, "depends_on_step_id": on}


OPERATIONS: list[tuple[object, str]] = [
    # (operation, path of what is wrong)
    ("delete_step", OP),
    (None, OP),
    (7, OP),
    ([], OP),
    ({}, f"{OP}.op"),
    ({"op": None}, f"{OP}.op"),
    ({"op": "DELETE_STEP"}, f"{OP}.op"),
    ({"op": "delete_task", "step_id": "a"}, f"{OP}.op"),
    ({"op": ["delete_step"], "step_id": "a"}, f"{OP}.op"),
    ({"op": "update_task"}, OP),
    ({"op": "update_task", "reason": "Only"}, OP),
    ({"op": "update_task", "status": None}, OP),
    ({"op": "update_task", "status": "running"}, f"{OP}.status"),
    ({"op": "update_task", "title": ""}, f"{OP}.title"),
    ({"op": "update_task", "title": " \n"}, f"{OP}.title"),
    ({"op": "update_task", "title": None}, f"{OP}.title"),
    ({"op": "update_task", "title": "x" * 21}, f"{OP}.title"),
    ({"op": "update_task", "title": LONE}, f"{OP}.title"),
    ({"op": "update_task", "summary": 5}, f"{OP}.summary"),
    ({"op": "update_task", "summary": LONG}, f"{OP}.summary"),
    ({"op": "update_task", "title": "T", "reason": LONG}, f"{OP}.reason"),
    ({"op": "update_task", "title": "T", "step_id": "a"}, OP),
    ({"op": "update_task", "title": "T", "wal_name": "w"}, OP),
    ({"op": "add_step"}, f"{OP}.step"),
    ({"op": "add_step", "step": None}, f"{OP}.step"),
    ({"op": "add_step", "step": "n"}, f"{OP}.step"),
    ({"op": "add_step", "step": {"title": "N"}}, f"{OP}.step.step_id"),
    ({"op": "add_step", "step": {"step_id": "n"}}, f"{OP}.step.title"),
    ({"op": "add_step", "step_id": "n", "title": "N"}, OP),
    (add(step_id="N"), f"{OP}.step.step_id"),
    (add(step_id=None), f"{OP}.step.step_id"),
    (add(step_id="n" * 81), f"{OP}.step.step_id"),
    (add(title=""), f"{OP}.step.title"),
    (add(title=["N"]), f"{OP}.step.title"),
    (add(summary=None), f"{OP}.step.summary"),
    (add(summary="ä" * 16), f"{OP}.step.summary"),
    (add(required="yes"), f"{OP}.step.required"),
    (add(required=1), f"{OP}.step.required"),
    (add(required=None), f"{OP}.step.required"),
    (add(worker_pool_id="The Pool"), f"{OP}.step.worker_pool_id"),
    (add(depends_on_step_ids="a"), f"{OP}.step.depends_on_step_ids"),
    (add(depends_on_step_ids=None), f"{OP}.step.depends_on_step_ids"),
    (add(depends_on_step_ids=["a", "A"]), f"{OP}.step.depends_on_step_ids[1]"),
    (add(depends_on_step_ids=["a", 3]), f"{OP}.step.depends_on_step_ids[1]"),
    (add(depends_on_step_ids=["a", "b", "c"]), f"{OP}.step.depends_on_step_ids"),
    (add(status="completed"), f"{OP}.step"),
    (add(priority=1), f"{OP}.step"),
    (add(claimed_by_agent_id="ann"), f"{OP}.step"),
    ({"op": "update_step", "step_id": "a"}, f"{OP}.fields"),
    ({"op": "update_step", "step_id": "a", "fields": {}}, f"{OP}.fields"),
    ({"op": "update_step", "step_id": "a", "fields": []}, f"{OP}.fields"),
    ({"op": "update_step", "step_id": "a", "title": "T", "fields": {"title": "T"}}, OP),
    (fields(status="completed"), f"{OP}.fields"),
    (fields(result_summary="R"), f"{OP}.fields"),
    (fields(step_id="b"), f"{OP}.fields"),
    (fields(title=None), f"{OP}.fields.title"),
    (fields(title="x" * 21), f"{OP}.fields.title"),
    (fields(summary=LONE), f"{OP}.fields.summary"),
    (fields(required="false"), f"{OP}.fields.required"),
    (fields(worker_pool_id=None), f"{OP}.fields.worker_pool_id"),
    (fields(worker_pool_id=""), f"{OP}.fields.worker_pool_id"),
    (fields(depends_on_step_ids={"b": 1}), f"{OP}.fields.depends_on_step_ids"),
    ({"op": "delete_step"}, f"{OP}.step_id"),
    (act("delete_step", None), f"{OP}.step_id"),
    (act("delete_step", "../a"), f"{OP}.step_id"),
    (act("cancel_step", ["a"]), f"{OP}.step_id"),
    (act("cancel_step", reason=5), f"{OP}.reason"),
    (act("reopen_step", "A"), f"{OP}.step_id"),
    (act("reopen_step", status="pending"), OP),
    ({"op": "add_dependency", "step_id": "a"}, f"{OP}.depends_on_step_id"),
    (depend("a", None), f"{OP}.depends_on_step_id"),
    (depend("A", "a"), f"{OP}.step_id"),
    ({**depend("a", "b"), "op": "remove_dependency"}, f"{OP}.depends_on_step_id"),
]


def board() -> TaskDriver:
    driver = given(step("a"), step("b"), rules=RULES)
    driver.claim("b", ANN)
    return driver


@pytest.mark.spec("TB-623", "TB-604")
@pytest.mark.parametrize(("operation", "path"), OPERATIONS, ids=ascii)
def test_a_wrong_operation_is_refused_with_the_path_of_what_is_wrong(
    operation: object, path: str
) -> None:
    error = board().refusal(updating(operation))
    assert (error.code, error.details["path"]) == (Code.VALIDATION_ERROR, path)
    assert error.message.startswith(path)


@pytest.mark.spec("TB-623")
@pytest.mark.parametrize("operations", [(), [], None, "add_step", {"op": "x"}, 5], ids=ascii)
def test_operations_are_a_list_that_is_not_empty(operations: object) -> None:
    command = updating()
    object.__setattr__(command, "operations", operations)
    error = board().refusal(command)
    assert (error.code, error.details["path"]) == (Code.VALIDATION_ERROR, "$.operations")


def on_step(**changed: object) -> UpdateStep:
    sent: dict[str, Any] = {"task_id": TASK, "step_id": "b", **changed}
    return UpdateStep(**sent)


def anything(kind: type[object], **sent: object) -> Command:
    """A command as an untyped caller might make it."""
    given: dict[str, Any] = {"task_id": TASK, **sent}
    return cast(Command, kind(**given))


COMMANDS: list[tuple[Command, Code, str | None]] = [
    (on_step(status="done"), Code.VALIDATION_ERROR, "$.status"),
    (on_step(status="ready"), Code.VALIDATION_ERROR, "$.status"),
    (on_step(status=1), Code.VALIDATION_ERROR, "$.status"),
    (on_step(status=""), Code.VALIDATION_ERROR, "$.status"),
    (on_step(status=["running"]), Code.VALIDATION_ERROR, "$.status"),
    (on_step(result_summary=5), Code.VALIDATION_ERROR, "$.result_summary"),
    (on_step(result_summary=LONG), Code.VALIDATION_ERROR, "$.result_summary"),
    (on_step(result_summary=LONE), Code.VALIDATION_ERROR, "$.result_summary"),
    (on_step(status="failed", reason=LONG), Code.VALIDATION_ERROR, "$.reason"),
    (on_step(status="failed", reason={}), Code.VALIDATION_ERROR, "$.reason"),
    (on_step(artifact_ids="x"), Code.VALIDATION_ERROR, "$.artifact_ids"),
    (on_step(artifact_ids=["x", "y", "z"]), Code.VALIDATION_ERROR, "$.artifact_ids"),
    (on_step(artifact_ids=["x", 5]), Code.VALIDATION_ERROR, "$.artifact_ids[1]"),
    (on_step(artifact_ids=["x", ""]), Code.VALIDATION_ERROR, "$.artifact_ids[1]"),
    (on_step(artifact_ids=["x" * 21]), Code.VALIDATION_ERROR, "$.artifact_ids[0]"),
    (on_step(step_id="ghost"), Code.STEP_NOT_FOUND, None),
    (on_step(step_id="B"), Code.STEP_NOT_FOUND, None),
    (on_step(step_id=LONE), Code.STEP_NOT_FOUND, None),
    (on_step(step_id=None), Code.VALIDATION_ERROR, "$.step_id"),
    (on_step(step_id=["b"]), Code.VALIDATION_ERROR, "$.step_id"),
    (anything(ClaimStep, step_id="ghost"), Code.STEP_NOT_FOUND, None),
    (anything(ClaimStep, step_id=7), Code.VALIDATION_ERROR, "$.step_id"),
    (anything(RenewLease, step_id="ghost"), Code.STEP_NOT_FOUND, None),
    (anything(RenewLease, step_id=None), Code.VALIDATION_ERROR, "$.step_id"),
    (on_step(fence="four"), Code.VALIDATION_ERROR, "$.fence"),
    (anything(RenewLease, step_id="b", fence=True), Code.VALIDATION_ERROR, "$.fence"),
    (anything(EndRun, outcome="bored"), Code.VALIDATION_ERROR, "$.outcome"),
    (anything(EndRun, outcome=None), Code.VALIDATION_ERROR, "$.outcome"),
]
OF_TASK: list[tuple[Command, Code, str | None]] = [
    (anything(CompleteTask, result_summary=LONG), Code.VALIDATION_ERROR, "$.result_summary"),
    (anything(CompleteTask, result_summary=5), Code.VALIDATION_ERROR, "$.result_summary"),
    (anything(FailTask, reason=LONG), Code.VALIDATION_ERROR, "$.reason"),
    (anything(FailTask, reason=[]), Code.VALIDATION_ERROR, "$.reason"),
    (anything(CancelTask, reason=LONE), Code.VALIDATION_ERROR, "$.reason"),
    (anything(CancelTask, reason=0), Code.VALIDATION_ERROR, "$.reason"),
]


@pytest.mark.spec("TB-208", "TB-619")
@pytest.mark.parametrize(("command", "code", "path"), COMMANDS, ids=ascii)
def test_a_wrong_command_of_a_worker_is_refused(
    command: Command, code: Code, path: str | None
) -> None:
    error = board().refusal(command, ANN)
    assert (error.code, error.details.get("path")) == (code, path)


@pytest.mark.spec("TB-208", "TB-619")
@pytest.mark.parametrize(("command", "code", "path"), OF_TASK, ids=ascii)
def test_a_wrong_end_of_a_task_is_refused(command: Command, code: Code, path: str | None) -> None:
    error = board().refusal(command)
    assert (error.code, error.details.get("path")) == (code, path)


TASKS: list[tuple[dict[str, object], str]] = [
    ({"task_id": "Plan"}, "$.task_id"),
    ({"task_id": ""}, "$.task_id"),
    ({"task_id": None}, "$.task_id"),
    ({"task_id": "p" * 81}, "$.task_id"),
    ({"wal_name": ""}, "$.wal_name"),
    ({"wal_name": ".hidden"}, "$.wal_name"),
    ({"wal_name": "/etc/plan"}, "$.wal_name"),
    ({"wal_name": "a/b"}, "$.wal_name"),
    ({"wal_name": ".."}, "$.wal_name"),
    ({"wal_name": "plan.jsonl"}, "$.wal_name"),
    ({"wal_name": "p" * 81}, "$.wal_name"),
    ({"wal_name": 5}, "$.wal_name"),
    ({"title": ""}, "$.title"),
    ({"title": None}, "$.title"),
    ({"title": "x" * 21}, "$.title"),
    ({"title": LONE}, "$.title"),
    ({"summary": LONG}, "$.summary"),
    ({"summary": None}, "$.summary"),
    ({"steps": ()}, "$.steps"),
    ({"steps": None}, "$.steps"),
    ({"steps": {"step_id": "a"}}, "$.steps"),
    ({"steps": [{"step_id": f"s{at}", "title": "S"} for at in range(4)]}, "$.steps"),
    ({"steps": ["a"]}, "$.steps[0]"),
    ({"steps": [STEP, {**STEP, "step_id": "m", "required": 0}]}, "$.steps[1].required"),
    ({"steps": [STEP, STEP]}, "$.steps[1].step_id"),
    ({"steps": [{**STEP, "worker_pool_id": 5}]}, "$.steps[0].worker_pool_id"),
    ({"steps": [{**STEP, "status": "ready"}]}, "$.steps[0]"),
    ({"steps": [{**STEP, "depends_on_step_ids": ["N"]}]}, "$.steps[0].depends_on_step_ids[0]"),
]


@pytest.mark.spec("TB-602", "TB-203", "TB-208")
@pytest.mark.parametrize(("changed", "path"), TASKS, ids=ascii)
def test_a_wrong_new_task_is_refused(changed: dict[str, object], path: str) -> None:
    sent: dict[str, Any] = {
        "task_id": TASK,
        "wal_name": "w",
        "title": "T",
        "steps": [STEP],
        **changed,
    }
    with pytest.raises(RefusedError) as caught:
        decide_create(CreateTask(**sent), BOSS, START, RULES)
    assert caught.value.code is Code.VALIDATION_ERROR
    assert caught.value.details["path"] == path


@pytest.mark.spec("TB-619")
def test_an_error_does_not_repeat_a_long_value_in_full() -> None:
    long = "x" * 100_000
    driver = board()
    for command in (
        updating({"op": long}),
        updating({"op": "delete_step", "step_id": long}),
        updating({"op": "delete_step", "step_id": "a", long: 1}),
        on_step(status=long),
        on_step(step_id=long),
    ):
        error = driver.refusal(command, BOSS)
        assert len(error.message) < 1_000
        assert len(repr(error.details)) < 1_000
