"""Claiming steps by handles: which one, by whom, what it is given, and when waiting ends."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from taskloom.board import StepStatus, TaskStatus, UpdateTask
from taskloom.errors import Code, RefusedError
from taskloom.log import MemoryLog
from taskloom.runtime import Board, open_board
from taskloom.runtime.change_signal import ChangeSignal
from taskloom.runtime.handles import Claim, StepResult, TaskHandle, step
from taskloom.testing import FakeClock
from tests.library.boards import LONG_S, open_twin


async def taken(task: TaskHandle, **more: Any) -> str | None:  # noqa: ANN401 - what claim_next takes
    claim = await task.claim_next(worker="ann", **more)
    return None if claim is None else claim.step.step_id


@pytest.mark.spec("LB-201")
async def test_claim_next_takes_the_first_ready_step_in_plan_order(board: Board) -> None:
    plan = [step("b", "B", after=["c"]), step("c", "C"), step("a", "A")]
    task = await board.create_task("plan", "P", plan)
    first = await task.claim_next(worker="ann")
    assert first is not None
    assert (first.step.step_id, first.step.status) == ("c", StepStatus.CLAIMED)
    await first.complete()
    assert [await taken(task), await taken(task), await taken(task)] == ["b", "a", None]


@pytest.mark.spec("LB-201", "TB-611")
async def test_each_claim_is_a_run_of_its_own(board: Board) -> None:
    task = await board.create_task("plan", "P", [step("a", "A"), step("b", "B"), step("c", "C")])
    claims = [await task.claim_next(worker="ann"), await task.claim("c", worker="ann")]
    claims.append(await task.claim_next(worker="ann"))
    runs = {claim.run_id for claim in claims if claim is not None}
    assert len(runs) == 3
    view = await task.view()
    assert {each.claimed_by_run_id for each in view.steps} == runs
    assert {each.claimed_by_agent_id for each in view.steps} == {"ann"}


@pytest.mark.spec("LB-201")
async def test_claim_takes_one_step_of_whatever_pool_or_says_why_not(board: Board) -> None:
    plan = [step("a", "A"), step("b", "B", pool="art"), step("c", "C", after=["a"])]
    task = await board.create_task("plan", "P", plan)
    assert (await task.claim("b", worker="bob")).step.worker_pool_id == "art"
    for name, code in (
        ("b", Code.STEP_ALREADY_CLAIMED),
        ("c", Code.STEP_NOT_READY),
        ("d", Code.STEP_NOT_FOUND),
    ):
        with pytest.raises(RefusedError) as caught:
            await task.claim(name, worker="ann")
        assert caught.value.code is code


@pytest.mark.spec("LB-201", "TB-917")
async def test_a_worker_takes_the_steps_of_its_pool_alone(board: Board) -> None:
    plan = [step("a", "A"), step("b", "B", pool="art"), step("c", "C")]
    task = await board.create_task("plan", "P", plan)
    assert await taken(task, pool="art") == "b"
    assert await taken(task, pool="art") is None
    assert await taken(task, pool="music", wait=True) is None
    assert await taken(task) == "a"


@pytest.mark.spec("LB-201")
async def test_a_claimer_that_loses_a_race_takes_the_next_step(twin: str, tmp_path: Path) -> None:
    """Every claimer looks at the same plan before any of them claims."""
    count = 24
    async with open_twin(twin, tmp_path) as board:
        plan = [step(f"s{place}", "S") for place in range(count)]
        await board.create_task("plan", "P", plan)
        won: list[str | None] = []

        async def claim(name: str) -> None:
            async with open_twin(twin, tmp_path) as own:
                found = await own.task("plan").claim_next(worker=name)
                won.append(found and found.step.step_id)

        async with anyio.create_task_group() as group:
            for place in range(count):
                group.start_soon(claim, f"w{place}")
        assert sorted(map(str, won)) == sorted(f"s{place}" for place in range(count))


@pytest.mark.spec("LB-205")
async def test_a_claim_is_given_the_results_of_its_dependencies(board: Board) -> None:
    plan = [step("a", "A"), step("b", "B"), step("c", "C"), step("d", "D", after=["a", "b"])]
    task = await board.create_task("plan", "P", plan)
    a, b = await task.claim("a", worker="ann"), await task.claim("b", worker="ann")
    assert a.inputs == {}
    await a.complete("text of a", data={"n": [1, 2]}, artifacts=["out.txt", "log.txt"])
    await b.complete()
    d = await task.claim("d", worker="ann")
    assert d.inputs == {
        "a": StepResult("text of a", {"n": [1, 2]}, ("out.txt", "log.txt")),
        "b": StepResult("", None, ()),
    }


@pytest.mark.spec("LB-205", "TB-707")
async def test_a_claim_knows_its_attempt_its_run_and_its_fence(board: Board) -> None:
    task = await board.create_task("plan", "P", [step("a", "A", metadata={"n": 1})])
    fences: list[int] = []
    for attempt in (1, 2, 3):
        claim = await task.claim_next(worker="ann")
        assert claim is not None
        assert (claim.attempt, claim.step.metadata) == (attempt, {"n": 1})
        fences.append(claim.fence)
        await claim.fail("not yet")
        await task.reopen("a")
    assert fences == sorted(set(fences))
    async for record in task.follow():
        if record.seq == fences[-1]:
            assert record.actor_run_id == claim.run_id
            break


@pytest.mark.spec("LB-205")
async def test_a_claim_reports_progress_and_one_of_three_ends(board: Board) -> None:
    task = await board.create_task("plan", "P", [step("a", "A"), step("b", "B"), step("c", "C")])
    a, b, c = [await task.claim(name, worker="ann") for name in "abc"]
    await a.progress("half way")
    noted = (await task.view()).step("a")
    assert (noted.status, noted.result_summary) == (StepStatus.RUNNING, "half way")
    await a.progress("nearly")
    await a.complete("done", artifacts=("x",))
    await b.fail("broken")
    await c.progress("looking")
    await c.block("no key")
    view = await task.view()
    seen = [(each.status.value, each.result_summary, each.reason) for each in view.steps]
    assert seen == [
        ("completed", "done", None),
        ("failed", None, "broken"),
        ("blocked", "looking", "no key"),
    ]
    for again in (a.complete, b.fail, c.block):
        with pytest.raises(RefusedError):
            await again("twice")


@pytest.mark.spec("LB-203")
async def test_claims_yields_every_step_then_ends(board: Board) -> None:
    plan = [step("a", "A"), step("b", "B", after=["a"]), step("c", "C", after=["a", "b"])]
    task = await board.create_task("plan", "P", plan)
    seen: list[str] = []
    async for claim in task.claims(worker="ann"):
        async with claim:
            seen.append(claim.step.step_id)
            await claim.complete()
    assert seen == ["a", "b", "c"]
    await task.complete()
    assert [claim async for claim in task.claims(worker="ann")] == []


class Patient(Board):
    """A board whose watchers never look by themselves: they must be woken."""

    async def watch(self, task_id: str, *, look_s: float = 3_600) -> ChangeSignal:
        return await super().watch(task_id, look_s=look_s)


def patient(project: Path) -> Patient:
    return Patient(open_board(project, session="s1", log=MemoryLog()).writers)


@pytest.mark.spec("LB-202")
async def test_a_waiting_claimer_is_woken_without_polling(tmp_path: Path) -> None:
    async with patient(tmp_path) as board:
        plan = [step("a", "A"), step("b", "B", after=["a"])]
        task = await board.create_task("plan", "P", plan)
        a = await task.claim("a", worker="ann")
        with anyio.fail_after(LONG_S):
            await _claim_after(task, a.complete)
            await _claim_after(task, lambda: task.add_step("c", "C"), expected="c")
            d = await task.claim_next(worker="ann")
            assert d is None


async def _claim_after(task: TaskHandle, change: Any, expected: str = "b") -> None:  # noqa: ANN401 - any call
    got: list[Claim | None] = []

    async def wait() -> None:
        got.append(await task.claim_next(worker="bob", wait=True))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        assert got == []
        await change()
    (claim,) = got
    assert claim is not None
    assert claim.step.step_id == expected


@pytest.mark.spec("LB-202", "LB-203")
async def test_a_waiting_claimer_goes_away_when_the_task_ends(tmp_path: Path) -> None:
    async with patient(tmp_path) as board:
        task = await board.create_task("plan", "P", [step("a", "A")])
        await task.claim("a", worker="ann")
        ended: list[list[Claim]] = []

        async def work() -> None:
            ended.append([claim async for claim in task.claims(worker="bob")])

        with anyio.fail_after(LONG_S):
            async with anyio.create_task_group() as group:
                group.start_soon(work)
                await anyio.wait_all_tasks_blocked()
                await task.cancel()
        assert ended == [[]]


@pytest.mark.spec("LB-202")
async def test_waiting_ends_when_nothing_can_come_without_a_change_of_the_plan(
    board: Board,
) -> None:
    plan = [step("a", "A"), step("b", "B", after=["a"])]
    task = await board.create_task("plan", "P", plan)
    await (await task.claim("a", worker="ann")).fail("broken")
    assert await taken(task, wait=True) is None
    await task.reopen("a")
    await (await task.claim("a", worker="ann")).block("no key")
    assert await taken(task, wait=True) is None
    await task.reopen("a")
    await task.update(UpdateTask(status=TaskStatus.BLOCKED))
    assert await taken(task, wait=True) is None
    await task.update(UpdateTask(status=TaskStatus.PENDING))
    assert await taken(task, wait=True) == "a"


@pytest.mark.spec("LB-202", "TB-702")
async def test_a_lease_that_runs_out_gives_the_step_to_the_one_who_waits(
    twin: str, tmp_path: Path
) -> None:
    clock = FakeClock()
    async with open_twin(twin, tmp_path, clock=clock) as board:
        task = await board.create_task("plan", "P", [step("a", "A")])
        lost = await task.claim_next(worker="ann")
        assert lost is not None
        got: list[Claim | None] = []

        async def wait() -> None:
            got.append(await task.claim_next(worker="bob", wait=True))

        with anyio.fail_after(LONG_S):
            async with anyio.create_task_group() as group:
                group.start_soon(wait)
                await anyio.wait_all_tasks_blocked()
                clock.move(301)
        (claim,) = got
        assert claim is not None
        assert (claim.attempt, claim.step.claimed_by_agent_id) == (2, "bob")
        with pytest.raises(RefusedError) as caught:
            await lost.complete("late")
        assert caught.value.code is Code.LEASE_LOST


@pytest.mark.spec("LB-202")
async def test_a_claimer_that_is_cancelled_while_it_waits_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    async with open_twin("async", tmp_path) as board:
        task = await board.create_task("plan", "P", [step("a", "A"), step("b", "B", after=["a"])])
        a = await task.claim_next(worker="ann")
        assert a is not None
        with anyio.move_on_after(0.2) as scope:
            await task.claim_next(worker="bob", wait=True)
        assert scope.cancelled_caught
        await a.complete()
        view = await task.view()
        assert view.step("b").status is StepStatus.READY
