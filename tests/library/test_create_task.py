"""Creating Tasks by handles: names, plans, the same Task again, and handles without a Task."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from taskloom.board import NewStep, Rules, StepStatus, TaskStatus
from taskloom.errors import Code, RefusedError
from taskloom.runtime import Board
from taskloom.runtime.handles import TaskHandle, step
from tests.library.boards import open_twin

PLAN = (
    step("test", "Run the tests", summary="All of them", metadata={"jobs": 2}),
    step("tag", "Tag it", after=["test"], pool="release", required=False),
)


def logs(project: Path) -> list[str]:
    return sorted(path.name for path in project.rglob("*.jsonl"))


async def refused(call: Any) -> RefusedError:  # noqa: ANN401 - any awaitable
    with pytest.raises(RefusedError) as caught:
        await call
    return caught.value


@pytest.mark.spec("LB-101", "LB-102")
async def test_the_log_is_named_like_the_task(board: Board, tmp_path: Path) -> None:
    task = await board.create_task("release", "Release 1.0", PLAN, summary="S")
    view = await task.view()
    assert (view.title, view.summary, view.created_by_agent_id) == (
        "Release 1.0",
        "S",
        "orchestrator",
    )
    assert logs(tmp_path) == ["release.wal.jsonl"]


@pytest.mark.spec("LB-102")
async def test_a_task_whose_name_an_ended_one_used_has_the_next_free_log(
    board: Board, tmp_path: Path
) -> None:
    long = "x" * 80
    for _ in range(3):
        await (await board.create_task("release", "R", PLAN)).cancel()
        await (await board.create_task(long, "R", PLAN)).cancel()
    assert logs(tmp_path) == sorted(
        [
            *("release-2.wal.jsonl", "release-3.wal.jsonl", "release.wal.jsonl"),
            *(f"{long[:78]}-2.wal.jsonl", f"{long[:78]}-3.wal.jsonl", f"{long}.wal.jsonl"),
        ]
    )


@pytest.mark.spec("LB-102", "TB-106")
async def test_a_log_that_was_named_is_never_renamed(board: Board, tmp_path: Path) -> None:
    await (await board.create_task("release", "R", PLAN, log_name="mine")).fail()
    error = await refused(board.create_task("release", "R", PLAN, log_name="mine"))
    assert error.code is Code.PATH_CONFLICT
    assert logs(tmp_path) == ["mine.wal.jsonl"]


@pytest.mark.spec("LB-102", "TB-203")
async def test_an_active_task_is_not_created_twice(board: Board, tmp_path: Path) -> None:
    await board.create_task("release", "R", PLAN)
    error = await refused(board.create_task("release", "R", PLAN))
    assert error.details["path"] == "$.task_id"
    assert logs(tmp_path) == ["release.wal.jsonl"]


@pytest.mark.spec("LB-102")
async def test_exist_ok_returns_the_task_that_was_created_with_the_same_content(
    board: Board, tmp_path: Path
) -> None:
    first = await board.create_task("release", "R", PLAN)
    # What it has become since does not count: a program runs again after it changed its plan.
    await first.add_step("docs", "Write it up", after=["test"])
    claim = await first.claim_next(worker="ann")
    assert claim is not None
    await claim.complete("done")
    again = await board.create_task("release", "R", iter(PLAN), exist_ok=True, agent="another")
    view = await again.view()
    assert view.step("test").status is StepStatus.COMPLETED
    assert [each.step_id for each in view.steps] == ["test", "tag", "docs"]
    await first.cancel()
    await board.create_task("release", "R", PLAN, exist_ok=True)
    assert logs(tmp_path) == ["release-2.wal.jsonl", "release.wal.jsonl"]


def changed(place: int, **more: object) -> tuple[NewStep, ...]:
    """The plan with one step written otherwise."""
    return (*PLAN[:place], replace(PLAN[place], **more), *PLAN[place + 1 :])


OTHER: list[tuple[dict[str, Any], str, str]] = [
    ({"title": "Other"}, "$.title", "'R'"),
    ({"summary": "Other"}, "$.summary", "'Other'"),
    ({"log_name": "other"}, "$.log_name", "'release'"),
    ({"steps": changed(0, title="X")}, "$.steps[0].title", "'X'"),
    ({"steps": changed(0, summary="")}, "$.steps[0].summary", "'All of them'"),
    ({"steps": changed(0, metadata={"jobs": 3})}, "$.steps[0].metadata", "'jobs': 3"),
    ({"steps": changed(1, depends_on_step_ids=())}, "$.steps[1].depends_on_step_ids", "'test'"),
    ({"steps": changed(1, required=True)}, "$.steps[1].required", "False"),
    ({"steps": changed(1, worker_pool_id=None)}, "$.steps[1].worker_pool_id", "'release'"),
    ({"steps": (*PLAN, step("docs", "D"))}, "$.steps[2]", "'docs'"),
    ({"steps": PLAN[:1]}, "$.steps", "'tag'"),
    ({"steps": PLAN[::-1]}, "$.steps", "order"),
]


@pytest.mark.spec("LB-102")
@pytest.mark.parametrize(("other", "path", "named"), OTHER, ids=[path for _, path, _ in OTHER])
async def test_exist_ok_refuses_other_content_and_names_the_difference(
    board: Board, other: dict[str, Any], path: str, named: str
) -> None:
    task = await board.create_task("release", "R", PLAN)
    before = (await task.view()).seq
    given: dict[str, Any] = {"title": "R", "steps": PLAN, **other}
    error = await refused(board.create_task("release", **given, exist_ok=True))
    assert (error.code, error.details["path"]) == (Code.VALIDATION_ERROR, path)
    assert path in error.message
    assert named in error.message
    assert (await task.view()).seq == before


@pytest.mark.spec("LB-102")
async def test_creators_of_the_same_task_at_the_same_moment_get_the_same_one(
    twin: str, tmp_path: Path
) -> None:
    async def create() -> None:
        async with open_twin(twin, tmp_path) as board:
            task = await board.create_task("release", "R", PLAN, exist_ok=True)
            created.append((await task.view()).created_by_run_id)

    created: list[str] = []
    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(create)
    assert len(created) == 8
    assert len(set(created)) == 1
    assert logs(tmp_path) == ["release.wal.jsonl"]


MAKERS: list[Callable[[Iterable[NewStep]], Iterable[NewStep]]] = [
    list[NewStep],
    tuple[NewStep],
    iter,
    lambda steps: (each for each in steps),
    lambda steps: {each.step_id: each for each in steps}.values(),
]


@pytest.mark.spec("LB-103")
@pytest.mark.parametrize("make", MAKERS)
async def test_steps_may_be_any_iterable(
    board: Board, make: Callable[[Iterable[NewStep]], Iterable[NewStep]]
) -> None:
    task = await board.create_task("release", "R", make((step("a", "A"), step("b", "B"))))
    assert [each.step_id for each in await task.steps()] == ["a", "b"]


@pytest.mark.spec("LB-103")
async def test_a_step_has_what_was_given(board: Board) -> None:
    task = await board.create_task("release", "R", PLAN)
    test, tag = await task.steps()
    assert (test.title, test.summary, test.required) == ("Run the tests", "All of them", True)
    assert (test.worker_pool_id, test.metadata, test.status) == ("default", {"jobs": 2}, "ready")
    assert (tag.depends_on_step_ids, tag.required) == (("test",), False)
    assert (tag.worker_pool_id, tag.metadata, tag.status) == ("release", None, "pending")
    assert step("a", "A", after="b").depends_on_step_ids == ("b",)
    assert step("a", "A", after=(name for name in "bc")).depends_on_step_ids == ("b", "c")


CYCLE = [step("a", "A"), step("b", "B", after=["c"]), step("c", "C", after=["b"])]
WRONG: list[tuple[object, str]] = [
    ([step("A b", "X")], "$.steps[0].step_id"),
    ([step("a", "")], "$.steps[0].title"),
    ([step("a", cast("str", 7))], "$.steps[0].title"),
    ([step("a", "A"), step("b", "B", summary="x" * 31)], "$.steps[1].summary"),
    ([step("a", "A"), step("a", "B")], "$.steps[1].step_id"),
    ([step("a", "A", after=["b"])], "$.steps[0].depends_on_step_ids[0]"),
    ([step("a", "A", pool="No Pool")], "$.steps[0].worker_pool_id"),
    ([step("a", "A", required=cast("bool", "yes"))], "$.steps[0].required"),
    ([step("a", "A", metadata=[1])], "$.steps[0].metadata"),
    (CYCLE, "$.steps[2].depends_on_step_ids"),
    ([step("a", "A", after=["a"])], "$.steps[0].depends_on_step_ids"),
    ([step("a", "A"), "b"], "$.steps[1]"),
    ([], "$.steps"),
    (7, "$.steps"),
    (None, "$.steps"),
]


@pytest.mark.spec("LB-103", "TB-206")
@pytest.mark.parametrize(("steps", "path"), WRONG)
async def test_a_wrong_plan_is_refused_with_its_path_and_nothing_is_written(
    twin: str,
    tmp_path: Path,
    steps: Any,  # noqa: ANN401 - callers may send anything
    path: str,
) -> None:
    async with open_twin(twin, tmp_path, rules=Rules(summary_bytes_max=30)) as board:
        error = await refused(board.create_task("release", "R", steps))
        assert str(error.details["path"]).startswith(path)
        assert logs(tmp_path) == []
        with pytest.raises(RefusedError, match=r"task_not_found"):
            await board.task("release").view()


@pytest.mark.spec("LB-103")
@pytest.mark.parametrize("wrong", [None, 7])
def test_dependencies_that_are_no_list_are_refused_where_they_are_written(wrong: Any) -> None:  # noqa: ANN401 - callers may send anything
    with pytest.raises(RefusedError) as caught:
        step("a", "A", after=wrong)
    assert caught.value.details["path"] == "$.after"


@pytest.mark.spec("LB-104")
async def test_a_handle_without_a_task_is_refused_at_its_first_use(board: Board) -> None:
    calls: list[Callable[[TaskHandle], Any]] = [
        lambda task: task.view(),
        lambda task: task.steps(),
        lambda task: task.wait(),
        lambda task: task.add_step("a", "A"),
        lambda task: task.complete(),
        lambda task: task.claim("a", worker="ann"),
        lambda task: task.claim_next(worker="ann"),
        lambda task: task.claim_next(worker="ann", wait=True),
        lambda task: anext(task.claims(worker="ann")),
        lambda task: anext(task.follow()),
    ]
    for call in calls:
        error = await refused(call(board.task("nowhere")))
        assert error.code is Code.TASK_NOT_FOUND


@pytest.mark.spec("LB-104")
async def test_tasks_lists_the_active_ones_or_those_of_a_status(board: Board) -> None:
    for name in ("one", "two", "three", "four"):
        await board.create_task(name, name.upper(), [step("a", "A")])
    await board.task("two").cancel()
    await board.task("three").fail("broken")
    assert {line.task_id for line in await board.tasks()} == {"one", "four"}
    assert [line.task_id for line in await board.tasks(TaskStatus.CANCELLED)] == ["two"]
    (failed,) = await board.tasks(status=TaskStatus.FAILED)
    assert (failed.task_id, failed.reason) == ("three", "broken")
    ended = await board.tasks([TaskStatus.CANCELLED, TaskStatus.FAILED])
    assert [line.task_id for line in ended] == ["three", "two"]
    assert len(await board.tasks(TaskStatus)) == 4
