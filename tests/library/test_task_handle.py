"""A Task by its handle: changing the plan, looking at it, following it, ending it."""

from typing import cast

import anyio
import pytest

from taskloom.board import (
    DeleteStep,
    EventType,
    StepStatus,
    TaskStatus,
    UpdateFields,
    UpdateStepContent,
    UpdateTask,
)
from taskloom.errors import Code, RefusedError
from taskloom.runtime import Board
from taskloom.runtime.handles import TaskHandle, step


async def created(board: Board) -> TaskHandle:
    """A Task of three steps: b after a, and c."""
    plan = [step("a", "A"), step("b", "B", after=["a"]), step("c", "C")]
    return await board.create_task("plan", "Plan", plan)


async def statuses(task: TaskHandle) -> dict[str, str]:
    return {each.step_id: each.status.value for each in await task.steps()}


@pytest.mark.spec("LB-105")
async def test_update_applies_all_operations_or_none(board: Board) -> None:
    task = await created(board)
    title = UpdateTask(title="New")
    content = UpdateStepContent(step_id="c", fields=UpdateFields(title="See"))
    with pytest.raises(RefusedError, match=r"step_not_found"):
        await task.update(title, content, DeleteStep(step_id="nowhere"))
    assert (await task.view()).title == "Plan"
    await task.update(title, content)
    view = await task.view()
    assert (view.title, view.step("c").title) == ("New", "See")


@pytest.mark.spec("LB-105")
async def test_add_step_takes_what_step_takes(board: Board) -> None:
    task = await created(board)
    await task.add_step(
        "d", "D", after=["a", "c"], summary="S", pool="art", required=False, metadata={"n": 1}
    )
    new = (await task.view()).step("d")
    assert (new.title, new.summary, new.worker_pool_id) == ("D", "S", "art")
    assert (new.depends_on_step_ids, new.required, new.metadata) == (("a", "c"), False, {"n": 1})


@pytest.mark.spec("LB-105")
async def test_a_failed_step_is_reopened_and_a_waiting_one_cancelled(board: Board) -> None:
    task = await created(board)
    claim = await task.claim("a", worker="ann")
    await claim.fail("broken")
    await task.cancel_step("c", "not needed")
    assert await statuses(task) == {"a": "failed", "b": "pending", "c": "cancelled"}
    await task.reopen("a", "again")
    view = await task.view()
    assert (view.step("a").status, view.step("a").reason) == (StepStatus.READY, "again")
    assert view.step("c").reason == "not needed"


@pytest.mark.spec("LB-105")
async def test_steps_are_all_or_those_of_one_or_several_statuses(board: Board) -> None:
    task = await created(board)
    await (await task.claim("a", worker="ann")).complete("done")
    done = StepStatus.COMPLETED
    assert [each.step_id for each in await task.steps()] == ["a", "b", "c"]
    assert [each.step_id for each in await task.steps(StepStatus.READY)] == ["b", "c"]
    assert [each.step_id for each in await task.steps(status=done)] == ["a"]
    assert [each.step_id for each in await task.steps([done, StepStatus.READY])] == ["a", "b", "c"]
    assert await task.steps(StepStatus.BLOCKED) == []
    with pytest.raises(RefusedError, match=r"\$\.statuses\[0\]"):
        await task.steps(cast("StepStatus", "READY"))


@pytest.mark.spec("LB-105", "TB-306", "TB-307", "TB-308")
async def test_a_task_ends_in_one_of_three_ways(board: Board) -> None:
    task = await created(board)
    with pytest.raises(RefusedError) as caught:
        await task.complete("too early")
    assert caught.value.code is Code.TASK_NOT_COMPLETEABLE
    for name in ("a", "b", "c"):
        await (await task.claim(name, worker="ann")).complete()
    await task.complete("out")
    view = await task.view()
    assert (view.status, view.result_summary) == (TaskStatus.COMPLETED, "out")
    for name, status in (("fail", TaskStatus.FAILED), ("cancel", TaskStatus.CANCELLED)):
        task = await created(board)
        await getattr(task, name)("enough")
        view = await task.view()
        assert (view.status, view.reason) == (status, "enough")


@pytest.mark.spec("LB-105")
async def test_follow_yields_every_event_from_a_line_on_until_the_end(board: Board) -> None:
    task = await created(board)
    seen: list[tuple[int, EventType]] = []

    async def listen() -> None:
        async for record in task.follow(after=1):
            seen.append((record.seq, record.event_type))
            ready.set()

    ready = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        await ready.wait()
        await task.cancel()
    assert [seq for seq, _ in seen] == list(range(2, 2 + len(seen)))
    assert seen[-1][1] is EventType.TASK_CANCELLED


@pytest.mark.spec("LB-105")
async def test_wait_returns_the_final_view_whoever_ends_the_task(board: Board) -> None:
    task = await created(board)
    views: list[TaskStatus] = []

    async def wait() -> None:
        views.append((await task.wait()).status)

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        await board.task("plan").fail()
    assert views == [TaskStatus.FAILED] * 2
    assert (await task.wait()).status is TaskStatus.FAILED
