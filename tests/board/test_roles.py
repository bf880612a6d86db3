"""Who may ask what: the Orchestrator, a worker within its dispatch, and nobody else."""

from dataclasses import fields, replace

import pytest

from taskloom.board import (
    Actor,
    CancelTask,
    ClaimStep,
    Command,
    CompleteTask,
    EndRun,
    FailTask,
    QuerySteps,
    RenewLease,
    Role,
    Rules,
    Scope,
    decide_create,
    query_steps,
    require_sight,
)
from taskloom.board import commands as cmd
from taskloom.errors import Code, RefusedError
from tests.board.task_driver import (
    ANN,
    BOB,
    BOSS,
    START,
    TASK,
    TaskDriver,
    creating,
    given,
    setting,
    step,
    updating,
    worker,
)

COMMANDS: list[Command] = [
    updating({"op": "update_task", "title": "T"}),
    ClaimStep(task_id=TASK, step_id="b"),
    setting("a", "completed"),
    CompleteTask(task_id=TASK),
    FailTask(task_id=TASK),
    CancelTask(task_id=TASK),
    EndRun(task_id=TASK),
    RenewLease(task_id=TASK, step_id="a"),
]


def kind(command: object) -> str:
    return type(command).__name__


def held() -> TaskDriver:
    driver = given(step("a"), step("b"))
    driver.claim("a", ANN)
    return driver


@pytest.mark.spec("TB-501")
@pytest.mark.parametrize("role", [Role.MAIN, Role.SUB, Role.FORK])
@pytest.mark.parametrize("command", COMMANDS, ids=kind)
def test_whoever_is_neither_orchestrator_nor_worker_has_no_task_tools(
    role: Role, command: Command
) -> None:
    driver = held()
    # Not even under the holder's own run id and scope.
    other = replace(ANN, role=role)
    assert driver.refuses(command, other) is Code.TOOL_NOT_AVAILABLE


@pytest.mark.spec("TB-501")
@pytest.mark.parametrize("role", [Role.MAIN, Role.SUB, Role.FORK])
def test_without_task_tools_nothing_is_created_and_nothing_is_seen(role: Role) -> None:
    other = replace(BOSS, role=role)
    with pytest.raises(RefusedError) as caught:
        decide_create(creating(step("a")), other, START, Rules())
    assert caught.value.code is Code.TOOL_NOT_AVAILABLE
    with pytest.raises(RefusedError) as caught:
        require_sight(other, TASK)
    assert caught.value.code is Code.TOOL_NOT_AVAILABLE


@pytest.mark.spec("TB-502", "TB-503")
@pytest.mark.parametrize(
    "command",
    [
        updating({"op": "update_task", "title": "T"}),
        updating({"op": "update_task", "status": "blocked"}),
        updating({"op": "cancel_step", "step_id": "b"}),
        updating({"op": "update_step", "step_id": "a", "fields": {"title": "Mine"}}),
        CompleteTask(task_id=TASK),
        FailTask(task_id=TASK),
        CancelTask(task_id=TASK),
        setting("b", "completed"),
        setting("b", None, result_summary="Mine"),
    ],
    ids=kind,
)
def test_a_worker_neither_plans_nor_ends_nor_writes_to_other_steps(command: Command) -> None:
    assert held().refuses(command, ANN) is Code.PERMISSION_DENIED


@pytest.mark.spec("TB-502")
def test_a_worker_creates_no_task() -> None:
    with pytest.raises(RefusedError) as caught:
        decide_create(creating(step("a")), ANN, START, Rules())
    assert caught.value.code is Code.PERMISSION_DENIED


@pytest.mark.spec("TB-503")
@pytest.mark.parametrize(
    "stranger",
    [BOB, worker("ann-2"), worker("bob-1", task="other"), replace(ANN, scope=None)],
    ids=["another worker", "another run of it", "another Task", "no dispatch"],
)
def test_only_the_run_that_claimed_writes_to_the_step(stranger: Actor) -> None:
    driver = held()
    assert driver.refuses(setting("a", "completed"), stranger) is Code.PERMISSION_DENIED
    renew = RenewLease(task_id=TASK, step_id="a")
    assert driver.refuses(renew, stranger) is Code.PERMISSION_DENIED


@pytest.mark.spec("TB-503")
def test_a_worker_may_do_what_its_run_is_for() -> None:
    driver = given(step("a"))
    assert query_steps(driver.task, QuerySteps(task_id=TASK), ANN).steps
    driver.claim("a", ANN)
    driver.set("a", "running", ANN, result_summary="Half")
    driver.set("a", "completed", ANN, result_summary="CommittedPrefix", artifact_ids=("x",))
    a = driver.step("a")
    assert (a.result_summary, a.artifact_ids) == ("CommittedPrefix", ("x",))


@pytest.mark.spec("TB-504")
def test_no_command_has_a_field_for_the_actor() -> None:
    commands = [each for each in vars(cmd).values() if isinstance(each, type)]
    for command in commands:
        if hasattr(command, "__dataclass_fields__"):
            sent = {item.name for item in fields(command)}
            assert sent.isdisjoint({"actor", "agent_id", "run_id", "session_id", "role"})


@pytest.mark.spec("TB-504")
@pytest.mark.parametrize("field", ["actor_agent_id", "actor_run_id", "role", "run_id"])
def test_an_actor_that_a_model_sends_is_refused(field: str) -> None:
    driver = held()
    sent = {"op": "delete_step", "step_id": "b", field: "boss-1"}
    error = driver.refusal(updating(sent))
    assert (error.code, error.details["field"]) == (Code.VALIDATION_ERROR, field)


@pytest.mark.spec("TB-504")
def test_the_actor_in_the_log_is_the_run_and_not_the_text() -> None:
    driver = given(step("a"))
    driver.claim("a", BOB)
    a = driver.step("a")
    assert (a.claimed_by_agent_id, a.claimed_by_run_id) == ("bob", "bob-1")


@pytest.mark.spec("TB-507")
def test_the_orchestrator_passes_the_same_checks_as_everyone() -> None:
    driver = given(step("a"), step("b", "a"))
    claim = ClaimStep(task_id=TASK, step_id="a")
    circle = {"op": "add_dependency", "step_id": "a", "depends_on_step_id": "b"}

    assert driver.refuses(claim) is Code.PERMISSION_DENIED
    assert driver.refuses(setting("b", "completed")) is Code.INVALID_TRANSITION
    assert driver.refuses(updating(circle)) is Code.DEPENDENCY_CYCLE
    assert driver.refuses(setting("ghost", "completed")) is Code.STEP_NOT_FOUND


@pytest.mark.spec("TB-609")
def test_a_dispatch_for_no_step_at_all_is_refused() -> None:
    with pytest.raises(RefusedError) as caught:
        Scope(task_id=TASK, worker_pool_id="default", allowed_step_ids=frozenset())
    assert caught.value.code is Code.VALIDATION_ERROR
    assert caught.value.details["path"] == "$.allowed_step_ids"
