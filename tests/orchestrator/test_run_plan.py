"""Carrying a plan out without a model to orchestrate it."""

import asyncio
from pathlib import Path

import anyio
import pytest

from taskloom import AddStep, DeleteStep, RefusedError, ReopenStep, open_board
from taskloom.board import CancelTask, TaskStatus, UpdateBoard
from taskloom.board.operations import UpdateTask
from taskloom.orchestrator import (
    AgentExecutor,
    Emit,
    Job,
    Orchestrator,
    Outcome,
    PlanReport,
)
from tests.orchestrator.orchestrators import (
    LONG_S,
    QUICK,
    Doing,
    Stubborn,
    agent_worker,
    at_once,
    boss,
    diligent_model,
    names,
    orchestrator,
    plan,
    pool,
    statuses,
    step,
    steps,
    turn_until,
    until,
    until_asked,
)


async def run_plan(it: Orchestrator, task_id: str = "plan") -> PlanReport:
    with anyio.fail_after(LONG_S):
        return await it.run_plan(task_id, instruction="Do the step.")


@pytest.mark.spec("TB-621", "TB-914", "TB-401")
async def test_a_diamond_is_carried_out_side_by_side_and_in_order(tmp_path: Path) -> None:
    both = asyncio.Barrier(2)
    order: list[str] = []

    async def work(job: Job, _emit: Emit, _asked: asyncio.Event) -> Outcome:
        assert job.step is not None
        if job.step.step_id in ("left", "right"):
            await both.wait()
        order.append(job.step.step_id)
        return Outcome(text=f"{job.step.step_id}({', '.join(sorted(job.inputs))})")

    async with orchestrator(tmp_path, pool(Doing(work), Doing(work), Doing(work))) as it:
        await plan(
            it, step("top"), step("left", "top"), step("right", "top"), step("end", "left", "right")
        )
        done = await run_plan(it)
        board = await steps(it)
        assert [each.status for each in it.workers()] == ["idle"] * 3
    assert done.is_done
    assert (done.completed, done.runs) == (4, 4)
    assert (order[0], order[-1]) == ("top", "end")
    assert board["end"].result_summary == "end(left, right)"


async def test_a_chain_with_many_workers_is_done_step_by_step(tmp_path: Path) -> None:
    async with orchestrator(tmp_path, pool(*[Doing(at_once)] * 4)) as it:
        await plan(it, step("s0"), *(step(f"s{at}", f"s{at - 1}") for at in range(1, 40)))
        done = await run_plan(it)
    assert (done.completed, done.runs, done.open_steps) == (40, 40, {})


async def test_what_failed_stays_failed_and_is_done_when_reopened(tmp_path: Path) -> None:
    broken = True

    async def work(job: Job, _emit: Emit, _asked: asyncio.Event) -> Outcome:
        assert job.step is not None
        if broken and job.step.step_id == "b":
            raise RuntimeError("b is broken")
        return Outcome(text="ok")

    async with orchestrator(tmp_path, pool(Doing(work), Doing(work))) as it:
        await plan(it, step("a"), step("b"), step("c", "b"))
        first = await run_plan(it)
        assert (first.completed, first.open_steps) == (1, {"failed": 1, "pending": 1})
        assert not first.is_done
        failed = (await steps(it))["b"]
        assert failed.reason == "worker_failed"
        assert failed.result_summary == "RuntimeError: b is broken"
        broken = False
        again = UpdateBoard(task_id="plan", operations=(ReopenStep(step_id="b"),))
        await it.board.send(again, boss(it))
        assert (await run_plan(it)).is_done


@pytest.mark.spec("TB-917")
async def test_two_pools_each_do_their_own_and_wait_for_each_other(tmp_path: Path) -> None:
    one, two = Doing(at_once), Doing(at_once)
    async with orchestrator(tmp_path, pool(one), pool(two, pool_id="two", prefix="t")) as it:
        await plan(
            it,
            step("a"),
            step("b", "a", worker_pool_id="two"),
            step("c", "b"),
            step("d", "c", worker_pool_id="two"),
        )
        assert (await run_plan(it)).is_done
    assert [job.step.step_id for job in one.jobs if job.step] == ["a", "c"]
    assert [job.step.step_id for job in two.jobs if job.step] == ["b", "d"]


async def test_steps_of_a_pool_without_workers_are_left(tmp_path: Path) -> None:
    async with orchestrator(tmp_path, pool(Doing(at_once))) as it:
        await plan(it, step("a"), step("b", worker_pool_id="nobody"))
        done = await run_plan(it)
    assert (done.completed, done.open_steps) == (1, {"ready": 1})


async def test_a_worker_that_never_claims_is_sent_no_more(tmp_path: Path) -> None:
    async with orchestrator(tmp_path, pool(agent_worker("Not for me."))) as it:
        await plan(it, step("a"))
        done = await run_plan(it)
        assert (done.completed, done.runs, done.open_steps) == (0, 3, {"ready": 1})


async def test_chat_model_workers_carry_it_out_too(tmp_path: Path) -> None:
    workers = [AgentExecutor(diligent_model()) for _ in range(2)]
    async with orchestrator(tmp_path, pool(*workers)) as it:
        await plan(it, step("a"), step("b", "a"), step("c", "b"))
        assert (await run_plan(it)).is_done


async def test_pausing_lets_runs_end_and_starts_none_until_it_goes_on(tmp_path: Path) -> None:
    async def work(_job: Job, _emit: Emit, _asked: asyncio.Event) -> Outcome:
        it.pause()
        return Outcome(text="ok")

    worker = Doing(work)
    async with orchestrator(tmp_path, pool(worker)) as it:
        await plan(it, step("a"), step("b", "a"))
        async with it.events() as listener:
            carrying = asyncio.ensure_future(run_plan(it))
            with anyio.fail_after(LONG_S):
                await until(listener, "task_step_completed")
            assert await statuses(it) == {"a": "completed", "b": "ready"}
            assert len(worker.jobs) == 1
            it.resume()
            with anyio.fail_after(LONG_S):
                await until(listener, "task_step_completed")
            it.resume()
            assert (await carrying).is_done


@pytest.mark.spec("TB-620")
@pytest.mark.parametrize("turns", range(8))
async def test_cancelled_at_any_moment_nothing_is_left_claimed(tmp_path: Path, turns: int) -> None:
    async with orchestrator(tmp_path, pool(*[Doing(until_asked)] * 3)) as it:
        await plan(it, *(step(f"s{at}") for at in range(5)))
        carrying = asyncio.ensure_future(it.run_plan("plan", instruction="Do it."))
        for _ in range(turns):
            await asyncio.sleep(0)
        with anyio.fail_after(LONG_S):
            carrying.cancel()
            with pytest.raises(asyncio.CancelledError):
                await carrying
        board = await steps(it)
        assert {each.status.value for each in board.values()} <= {"failed", "ready"}
        reasons = {each.reason for each in board.values() if each.status == "failed"}
        assert reasons <= {"worker_cancelled"}
        assert [each.status for each in it.workers()] == ["idle"] * 3
        assert it.runs(include_ended=False) == []


async def test_a_worker_that_ignores_its_stop_does_not_block_the_plan(tmp_path: Path) -> None:
    with Stubborn() as stubborn:
        async with orchestrator(tmp_path, pool(Doing(stubborn)), settings=QUICK) as it:
            await plan(it, step("a"), step("b"))
            running = asyncio.ensure_future(run_plan(it))
            with anyio.fail_after(LONG_S):
                await stubborn.begun.wait()
            assert it.stop(it.runs()[0].run_id, "enough")
            done = await running
            assert (done.completed, done.open_steps) == (0, {"failed": 1, "ready": 1})
            assert (await steps(it))["a"].reason == "worker_cancelled"
            stubborn.let_go.set()


async def test_cancelled_with_a_worker_that_ignores_it_the_step_is_failed_all_the_same(
    tmp_path: Path,
) -> None:
    with Stubborn() as stubborn:
        async with orchestrator(tmp_path, pool(Doing(stubborn)), settings=QUICK) as it:
            await plan(it, step("a"))
            carrying = asyncio.ensure_future(it.run_plan("plan", instruction="Do it."))
            with anyio.fail_after(LONG_S):
                await stubborn.begun.wait()
                carrying.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await carrying
            assert (await steps(it))["a"].reason == "worker_cancelled"
            stubborn.let_go.set()


@pytest.mark.spec("TB-121", "TB-304")
@pytest.mark.parametrize("how", ["cancel", "block", "delete"])
async def test_a_plan_changed_by_another_process_meanwhile_ends_the_carrying_out_well(
    tmp_path: Path, how: str
) -> None:
    async def work(_job: Job, _emit: Emit, _asked: asyncio.Event) -> Outcome:
        actor = other.orchestrator("other", run_id="other-1")
        match how:
            case "cancel":
                await other.send(CancelTask(task_id="plan"), actor)
            case "block":
                block = UpdateTask(status=TaskStatus.BLOCKED, reason="wait")
                await other.send(UpdateBoard(task_id="plan", operations=(block,)), actor)
            case _:
                gone = (DeleteStep(step_id="b"), DeleteStep(step_id="c"))
                await other.send(UpdateBoard(task_id="plan", operations=gone), actor)
        return Outcome(text="ok")

    async with open_board(tmp_path, session="s1") as other:
        async with orchestrator(tmp_path, pool(Doing(work))) as it:
            await plan(it, step("a"), step("b"), step("c"))
            done = await run_plan(it)
            expected = {
                "cancel": {"cancelled": 3},
                "block": {"ready": 2},
                "delete": {},
            }[how]
            assert done.open_steps == expected
            assert done.runs == 1


async def test_a_step_that_comes_meanwhile_is_done_as_well(tmp_path: Path) -> None:
    added = False

    async def work(_job: Job, _emit: Emit, _asked: asyncio.Event) -> Outcome:
        nonlocal added
        if not added:
            added = True
            await plan_more(it)
        return Outcome(text="ok")

    async with orchestrator(tmp_path, pool(Doing(work), Doing(work))) as it:
        await plan(it, step("a"))
        done = await run_plan(it)
    assert (done.completed, done.is_done) == (3, True)


async def plan_more(it: Orchestrator) -> None:
    more = (AddStep(step=step("x")), AddStep(step=step("y", "x")))
    await it.board.send(UpdateBoard(task_id="plan", operations=more), boss(it))


async def test_closing_the_session_ends_the_carrying_out(tmp_path: Path) -> None:
    async with orchestrator(tmp_path, pool(Doing(until_asked))) as it:
        await plan(it, step("a"), step("b"))
        carrying = asyncio.ensure_future(it.run_plan("plan", instruction="Do it."))
        await turn_until(lambda: bool(it.runs()))
        await it.close()
        with anyio.fail_after(LONG_S), pytest.raises(RefusedError, match="being closed"):
            await carrying
        assert await statuses(it) == {"a": "failed", "b": "ready"}


@pytest.mark.spec("TB-916")
async def test_listeners_hear_a_plan_being_carried_out(tmp_path: Path) -> None:
    async with orchestrator(tmp_path, pool(Doing(at_once))) as it:
        await plan(it, step("a"))
        async with it.events() as listener:
            await run_plan(it)
            with anyio.fail_after(LONG_S):
                await until(listener, "task_step_completed")
            assert "child_agent_failed" not in names(listener.take())
