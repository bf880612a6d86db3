"""What a Task and a step are, and which plans are a DAG at all."""

from dataclasses import fields

import pytest

from taskloom.board import (
    CompleteTask,
    FailTask,
    Rules,
    StepView,
    TaskView,
    decide_create,
    view_line,
    view_task,
)
from taskloom.errors import Code, RefusedError
from tests.board.task_driver import (
    BOSS,
    START,
    TASK,
    creating,
    given,
    names,
    setting,
    step,
    updating,
)


def refused(*steps: object, rules: Rules | None = None, **more: object) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        decide_create(creating(*steps, **more), BOSS, START, rules or Rules())
    return caught.value


@pytest.mark.spec("TB-201", "TB-202")
def test_a_task_and_a_step_show_the_fields_of_the_spec() -> None:
    of_task = "task_id wal_path title summary status root_step_ids steps created_by_agent_id "
    of_task += "created_by_run_id created_at updated_at"
    of_step = "step_id title summary status depends_on_step_ids required worker_pool_id "
    of_step += "claimed_by_agent_id claimed_by_run_id lease_expires_at result_summary reason "
    of_step += "artifact_ids created_at updated_at"

    assert {item.name for item in fields(TaskView)} >= set(of_task.split())
    assert {item.name for item in fields(StepView)} >= set(of_step.split())


@pytest.mark.spec("TB-201", "TB-202")
def test_what_was_given_is_what_is_shown() -> None:
    driver = given(
        step("a", title="Paint", summary="Red", required=False, worker_pool_id="art"),
        step("b", "a"),
    )

    task = view_task(driver.task, "dir/plan.wal.jsonl")
    assert (task.task_id, task.title, task.wal_path) == (TASK, "Plan", "dir/plan.wal.jsonl")
    assert (task.created_by_agent_id, task.created_by_run_id) == ("boss", "boss-1")
    assert task.created_at == task.updated_at == START
    a, b = task.steps
    assert (a.title, a.summary, a.required, a.worker_pool_id) == ("Paint", "Red", False, "art")
    assert (b.required, b.worker_pool_id, b.depends_on_step_ids) == (True, "default", ("a",))
    assert (b.created_at, b.updated_at) == (START, START)


@pytest.mark.spec("TB-202")
def test_a_step_without_a_pool_belongs_to_the_configured_default_pool() -> None:
    driver = given(step("a"), rules=Rules(default_worker_pool="crew"))
    driver.update({"op": "add_step", "step": {"step_id": "b", "title": "B"}})

    assert [each.worker_pool_id for each in driver.task.steps.values()] == ["crew", "crew"]
    assert [each.worker_pool_id for each in driver.replayed().steps.values()] == ["crew", "crew"]


WRONG_IDS = ["", "A", "a b", "a.b", "a/b", "..", "ä", "a\n", "a" * 81, "\ud800", "٣"]


@pytest.mark.spec("TB-203")
@pytest.mark.parametrize("wrong", WRONG_IDS, ids=ascii)
def test_an_id_that_is_not_safe_is_refused(wrong: str) -> None:
    assert refused(step("a"), task_id=wrong).details["path"] == "$.task_id"
    assert refused(step("a"), step(wrong)).details["path"] == "$.steps[1].step_id"
    added = {"op": "add_step", "step": {"step_id": wrong, "title": "T"}}
    error = given(step("a")).refusal(updating(added))
    assert error.code is Code.VALIDATION_ERROR
    assert error.details["path"] == "$.operations[0].step.step_id"


@pytest.mark.spec("TB-203")
@pytest.mark.parametrize("right", ["a", "-", "_", "0", "a-b_c-9", "a" * 80])
def test_a_safe_id_is_kept_as_it_is(right: str) -> None:
    assert list(given(step(right)).task.steps) == [right]


@pytest.mark.spec("TB-203", "TB-206")
def test_a_step_id_that_stands_twice_is_refused_at_creation_and_later() -> None:
    error = refused(step("a"), step("a"))
    assert (error.code, error.details["path"]) == (Code.VALIDATION_ERROR, "$.steps[1].step_id")

    again = {"op": "add_step", "step": {"step_id": "a", "title": "A"}}
    error = given(step("a")).refusal(updating(again))
    assert error.code is Code.VALIDATION_ERROR
    assert error.details["path"] == "$.operations[0].step.step_id"


@pytest.mark.spec("TB-204")
def test_roots_are_the_steps_without_dependencies_after_every_change() -> None:
    driver = given(step("a"), step("b", "a"), step("c"))
    assert driver.task.root_step_ids == ["a", "c"]

    driver.update({"op": "remove_dependency", "step_id": "b", "depends_on_step_id": "a"})
    assert driver.task.root_step_ids == ["a", "b", "c"]

    driver.update({"op": "add_dependency", "step_id": "a", "depends_on_step_id": "c"})
    assert driver.task.root_step_ids == ["b", "c"]

    driver.update({"op": "delete_step", "step_id": "b"})
    assert driver.task.root_step_ids == ["c"]
    assert driver.replayed().root_step_ids == ["c"]


@pytest.mark.spec("TB-205")
def test_plan_order_is_creation_order_whatever_the_text_says() -> None:
    driver = given(step("z", title="Do this last"), step("a", title="First! Urgent!"))
    driver.update({"op": "add_step", "step": {"step_id": "m", "title": "Before all others"}})
    driver.update({"op": "update_step", "step_id": "z", "fields": {"title": "9. at the end"}})

    assert [each.step_id for each in view_task(driver.task, "").steps] == ["z", "a", "m"]


@pytest.mark.spec("TB-205")
@pytest.mark.parametrize("field", ["priority", "order", "reorder", "rank"])
def test_there_is_no_field_to_order_steps_by(field: str) -> None:
    new = {"step_id": "b", "title": "B", field: 1}
    assert refused(new).code is Code.VALIDATION_ERROR
    assert refused(new).details["field"] == field


@pytest.mark.spec("TB-206")
def test_a_circle_is_refused_and_named() -> None:
    error = refused(step("a", "c"), step("b", "a"), step("c", "b"), step("d", "a"))

    assert error.code is Code.DEPENDENCY_CYCLE
    rotations = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]
    assert error.details["cycle"] in rotations
    assert any(" -> ".join([*cycle, cycle[0]]) in error.message for cycle in rotations)


@pytest.mark.spec("TB-206")
def test_a_step_that_waits_for_itself_is_a_circle() -> None:
    assert refused(step("a", "a")).details["cycle"] == ["a"]
    driver = given(step("a"))
    itself = {"op": "add_dependency", "step_id": "a", "depends_on_step_id": "a"}
    error = driver.refusal(updating(itself))
    assert (error.code, error.details["cycle"]) == (Code.DEPENDENCY_CYCLE, ["a"])


@pytest.mark.spec("TB-206")
def test_a_dependency_on_an_unknown_step_is_refused_with_its_path() -> None:
    error = refused(step("a"), step("b", "a", "ghost"))

    assert error.code is Code.STEP_NOT_FOUND
    assert error.details == {"path": "$.steps[1].depends_on_step_ids[1]", "step_id": "ghost"}


@pytest.mark.spec("TB-206")
def test_a_plan_may_name_steps_before_they_are_written() -> None:
    driver = given(step("c", "b"), step("b", "a"), step("a"))

    assert list(driver.task.steps) == ["c", "b", "a"]
    assert driver.statuses() == {"c": "pending", "b": "pending", "a": "ready"}


@pytest.mark.spec("TB-208")
def test_every_limit_can_be_set_and_one_more_is_too_much() -> None:
    rules = Rules(steps_max=2, dependencies_max=1, title_bytes_max=4, summary_bytes_max=5)

    given(step("a", title="äß", summary="12345"), step("b", "a"), rules=rules)
    paths = {
        "$.steps": refused(step("a"), step("b"), step("c"), rules=rules, title="P"),
        "$.title": refused(step("a"), rules=rules, title="äßä"),
        "$.summary": refused(step("a"), rules=rules, title="P", summary="123456"),
        "$.steps[0].title": refused(step("a", title="12345"), rules=rules, title="P"),
        "$.steps[0].summary": refused(step("a", summary="äßä"), rules=rules, title="P"),
        "$.steps[0].depends_on_step_ids": refused(step("a", "b", "c"), rules=rules, title="P"),
    }
    for path, error in paths.items():
        assert (error.code, error.details["path"]) == (Code.VALIDATION_ERROR, path)
        assert "at most" in error.message


@pytest.mark.spec("TB-208")
def test_later_changes_obey_the_limits_too() -> None:
    rules = Rules(steps_max=2, operations_max=2, result_bytes_max=3, artifacts_max=1)
    driver = given(step("a"), step("b"), rules=rules)
    one = {"op": "update_task", "title": "T"}
    more = {"op": "add_step", "step": {"step_id": "c", "title": "C"}}
    path = "path"

    assert driver.refusal(updating(one, one, one)).details[path] == "$.operations"
    assert driver.refusal(updating(more)).details[path] == "$.operations[0]"
    long = setting("a", None, result_summary="1234")
    assert driver.refusal(long).details[path] == "$.result_summary"
    many = setting("a", None, artifact_ids=("x", "y"))
    assert driver.refusal(many).details[path] == "$.artifact_ids"
    reason = FailTask(task_id=TASK, reason="1234")
    assert driver.refusal(reason).details[path] == "$.reason"


@pytest.mark.spec("TB-208")
def test_ten_thousand_steps_are_let_in() -> None:
    chain = [step("s0"), *(step(f"s{at}", f"s{at - 1}") for at in range(1, 10_000))]
    assert len(given(*chain).task.steps) == 10_000


@pytest.mark.spec("TB-209")
def test_how_a_task_ended_is_kept_and_shown() -> None:
    done = given(step("a")).complete("a")
    done.do(CompleteTask(task_id=TASK, result_summary="All painted"))
    failed = given(step("a"))
    failed.do(FailTask(task_id=TASK, reason="No paint"))

    assert view_task(done.replayed(), "").result_summary == "All painted"
    assert view_line(done.task, "").result_summary == "All painted"
    assert view_task(failed.replayed(), "").reason == "No paint"
    assert view_line(failed.task, "").reason == "No paint"


@pytest.mark.spec("TB-210")
def test_a_status_in_the_input_of_a_step_is_refused() -> None:
    new = {"step_id": "b", "title": "B", "status": "completed"}
    assert refused(new).details == {"path": "$.steps[0]", "field": "status"}
    error = given(step("a")).refusal(updating({"op": "add_step", "step": new}))
    assert error.details["field"] == "status"


@pytest.mark.spec("TB-211")
def test_a_task_has_at_least_one_step_now_and_later() -> None:
    error = refused()
    assert (error.code, error.details["path"]) == (Code.VALIDATION_ERROR, "$.steps")

    error = given(step("a")).refusal(updating({"op": "delete_step", "step_id": "a"}))
    assert (error.code, error.details["path"]) == (Code.VALIDATION_ERROR, "$.operations")


@pytest.mark.spec("TB-602", "TB-301")
def test_creation_is_the_snapshot_then_what_is_ready_then_running() -> None:
    events = decide_create(creating(step("a"), step("b", "a"), step("c")), BOSS, START, Rules())

    assert names(events) == [
        "task_created",
        "task_step_ready a",
        "task_step_ready c",
        "task_running",
    ]
