"""Stopping: time-outs, cancel_worker, the end of a Task, the end of the host."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from taskloom import open_board
from taskloom.agent import Agent, Message, call_tool
from taskloom.board import CancelTask
from taskloom.orchestrator import AgentExecutor, Emit, Job, Orchestrator, Outcome, RunEvent
from tests.orchestrator.orchestrators import (
    LONG_S,
    QUERY,
    QUICK,
    Doing,
    Json,
    Stubborn,
    ask,
    ask_all,
    at_once,
    boss,
    calls,
    claims_first,
    dispatch,
    dispatched,
    last_seq,
    names,
    orchestrator,
    plan,
    pool,
    statuses,
    step,
    steps,
    turn_until,
    turns,
    until,
    until_asked,
)

ENDS = [
    ("task_cancel", "cancelled", "task_cancelled"),
    ("task_fail", "failed", "task_failed"),
]


@asynccontextmanager
async def stubborn_at(project: Path) -> AsyncGenerator[tuple[Orchestrator, Stubborn]]:
    with Stubborn() as stubborn:
        async with orchestrator(project, pool(Doing(stubborn)), settings=QUICK) as it:
            yield it, stubborn
            stubborn.let_go.set()


@pytest.mark.spec("TB-620", "TB-909")
async def test_a_run_whose_time_is_up_is_asked_to_stop_and_its_step_fails(tmp_path: Path) -> None:
    async with orchestrator(tmp_path, pool(Doing(until_asked))) as it, it.events() as listener:
        await plan(it, step("a"))
        with anyio.fail_after(LONG_S):
            found = await dispatched(it, timeout_ms=1)
        failed = (await steps(it))["a"]
        seen = names(listener.take())
    assert (failed.status, failed.reason) == ("failed", "worker_timeout")
    assert (found["outcome"], found["step_status"]) == ("timeout", "failed")
    assert RunEvent.CHILD_CANCEL_REQUESTED in seen
    assert RunEvent.CHILD_FAILED in seen
    assert RunEvent.CHILD_CANCEL_TIMEOUT not in seen  # It stopped when it was asked.


@pytest.mark.spec("TB-620", "TB-909", "TB-902", "TB-904")
async def test_a_run_that_does_not_stop_is_given_up_and_its_worker_taken_for_unavailable(
    tmp_path: Path,
) -> None:
    async with stubborn_at(tmp_path) as (it, stubborn), it.events() as listener:
        await plan(it, step("a"), step("b"))
        with anyio.fail_after(LONG_S):
            found = await dispatched(it, timeout_ms=1)
            assert found["outcome"] == "timeout"
            assert (await steps(it))["a"].reason == "worker_timeout"
            (worker,) = (await ask(it, "list_workers"))["workers"]
            assert worker["status"] == "unavailable"
            busy = await dispatched(it)
            assert busy["error"]["code"] == "worker_pool_busy"
            assert RunEvent.CHILD_CANCEL_TIMEOUT in names(listener.take())
            # When it obeys at last, its worker is free again, and what it says counts no more.
            stubborn.let_go.set()
            await turn_until(lambda: it.workers()[0].status == "idle")
            assert (await steps(it))["a"].status == "failed"
            assert (await dispatched(it))["claimed_step_id"] == "b"


@pytest.mark.spec("TB-912", "TB-913", "TB-412", "TB-620")
async def test_cancel_worker_stops_one_background_run_and_wait_workers_collects_the_other(
    tmp_path: Path,
) -> None:
    gate = asyncio.Event()

    async def gated(_job: Job, _emit: Emit, _asked: asyncio.Event) -> Outcome:
        await gate.wait()
        return Outcome(text="through the gate")

    async with orchestrator(tmp_path, pool(Doing(until_asked), Doing(gated))) as it:
        await plan(it, step("a"), step("b"))
        with anyio.fail_after(LONG_S):
            one, two = await ask_all(
                it,
                dispatch(background=True, allowed_step_ids=["a"]),
                dispatch(background=True, allowed_step_ids=["b"]),
            )
            assert one["status"] == two["status"] == "running"
            waited = await ask(it, "wait_workers", timeout_ms=0)
            assert {run["child_run_id"] for run in waited["running"]} == {
                one["child_run_id"],
                two["child_run_id"],
            }
            stopped = await ask(
                it, "cancel_worker", child_run_id=one["child_run_id"], reason="not now"
            )
            assert (stopped["outcome"], stopped["step_status"]) == ("cancelled", "failed")
            assert (await steps(it))["a"].reason == "worker_cancelled"
            gate.set()
            waited = await ask(it, "wait_workers")
        assert [one["claimed_step_id"] for one in waited["results"]] == ["b"]
        assert waited["results"][0]["step_status"] == "completed"
        again = await ask(it, "wait_workers")
        assert again == {"count": 0}  # Collected is collected.
        gone = await ask(it, "cancel_worker", child_run_id="run_never")
        assert gone["error"]["code"] == "worker_not_available"


@pytest.mark.spec("TB-309", "TB-307", "TB-308", "TB-620")
@pytest.mark.parametrize(("tool", "status", "reason"), ENDS)
async def test_the_end_of_a_task_stops_its_workers_first(
    tmp_path: Path, tool: str, status: str, reason: str
) -> None:
    at_end: list[str] = []

    async def works(_job: Job, _emit: Emit, asked: asyncio.Event) -> Outcome:
        await asked.wait()
        at_end.append((await it.board.get("plan", boss(it))).status.value)
        return Outcome(text="stopped")

    async with orchestrator(tmp_path, pool(Doing(works), Doing(works))) as it:
        await plan(it, step("a"), step("b"), step("c", "a"), task_id="plan")
        await plan(it, step("x"), task_id="other")
        with anyio.fail_after(LONG_S):
            await ask_all(it, dispatch(background=True), dispatch(background=True))
            ended = await ask(it, tool, task_id="plan", reason="enough")
        assert at_end == ["running", "running"]  # The Task waited for them.
        assert ended["status"] == status
        assert len(ended["terminated_worker_run_ids"]) == 2
        board = await steps(it)
        assert {each.status.value for each in board.values()} == {status}
        assert {each.reason for each in board.values()} == {reason}
        assert (await it.board.get("other", boss(it))).status == "running"


@pytest.mark.spec("TB-309", "TB-310", "TB-916")
@pytest.mark.parametrize(("tool", "status", "reason"), ENDS)
async def test_a_task_ends_though_a_worker_ignores_its_cancellation(
    tmp_path: Path, tool: str, status: str, reason: str
) -> None:
    async with stubborn_at(tmp_path) as (it, stubborn), it.events() as listener:
        await plan(it, step("a"))
        with anyio.fail_after(LONG_S):
            started = await dispatched(it, background=True)
            await stubborn.begun.wait()
            ended = await ask(it, tool, task_id="plan")
            assert ended["status"] == status
            assert ended["terminated_worker_run_ids"] == [started["child_run_id"]]
            assert (await steps(it))["a"].reason == reason
            assert RunEvent.CHILD_CANCEL_TIMEOUT in names(listener.take())
            before = len((await it.board.get("plan", boss(it))).steps), await last_seq(it)
            stubborn.let_go.set()
            await turn_until(lambda: it.workers()[0].status == "idle")
            assert (1, await last_seq(it)) == before  # The late worker wrote nothing.


@pytest.mark.spec("TB-309")
async def test_a_task_ends_though_a_worker_is_a_thread_that_nobody_can_stop(
    tmp_path: Path,
) -> None:
    go, begun = threading.Event(), threading.Event()

    async def in_thread(_job: Job, _emit: Emit, _asked: asyncio.Event) -> Outcome:
        def block() -> None:
            begun.set()
            go.wait(LONG_S)

        await anyio.to_thread.run_sync(block)
        return Outcome(text="the thread is through")

    try:
        async with orchestrator(tmp_path, pool(Doing(in_thread)), settings=QUICK) as it:
            await plan(it, step("a"))
            with anyio.fail_after(LONG_S):
                await dispatched(it, background=True)
                await anyio.to_thread.run_sync(begun.wait)
                ended = await ask(it, "task_cancel", task_id="plan")
                assert ended["status"] == "cancelled"
            go.set()
    finally:
        go.set()


@pytest.mark.spec("TB-310")
async def test_a_late_worker_may_end_but_changes_nothing(tmp_path: Path) -> None:
    told: list[Json] = []

    def last(found: list[Json]) -> str:
        told.extend(found)
        return "I am late."

    async def cancel_first(_job: str) -> str:
        """Somebody else ends the Task."""
        await it.board.send(CancelTask(task_id="plan", reason="another way"), boss(it))
        return "ended"

    def end_the_task(_: list[Json]) -> Message:
        return call_tool("cancel_first", _job="x")

    worker = AgentExecutor(
        turns(
            QUERY,
            claims_first,
            end_the_task,
            calls(("task_update_step", {"task_id": "plan", "step_id": "a", "status": "completed"})),
            last,
        ),
        [cancel_first],
    )
    async with orchestrator(tmp_path, pool(worker), transcripts=tmp_path / "said") as it:
        await plan(it, step("a"))
        with anyio.fail_after(LONG_S):
            found = await dispatched(it)
        board = await steps(it)
    assert told[0]["error"]["code"] == "task_terminal"
    assert board["a"].status == "cancelled"
    assert found["step_status"] == "cancelled"
    assert found["worker_result"] == {"text": "I am late."}
    assert await anyio.Path(tmp_path / "said" / f"{found['child_run_id']}.jsonl").exists()


@pytest.mark.spec("TB-903", "TB-909")
async def test_cancelling_the_orchestrator_stops_the_workers_it_waits_for(tmp_path: Path) -> None:
    async with orchestrator(tmp_path, pool(*[Doing(until_asked)] * 3)) as it:
        await plan(it, step("a"), step("b"), step("c"))
        agent = Agent(turns(calls(dispatch(), dispatch(), dispatch())), it.tools())
        async with it.events() as listener:
            run = agent.run("go")
            task = asyncio.ensure_future(run.wait())
            with anyio.fail_after(LONG_S):
                for _ in range(3):
                    await until(listener, "task_step_started")
                run.cancel()
                assert (await task).stop_reason == "cancelled"
                await it.wait_idle()
        board = await steps(it)
        assert {each.reason for each in board.values()} == {"worker_cancelled"}
        assert [each.status for each in it.workers()] == ["idle"] * 3


@pytest.mark.spec("TB-620", "TB-909")
async def test_closing_the_session_ends_every_run_and_starts_no_other(tmp_path: Path) -> None:
    async with orchestrator(tmp_path, pool(Doing(until_asked), Doing(at_once))) as it:
        await plan(it, step("a"), step("b"))
        with anyio.fail_after(LONG_S):
            await dispatched(it, background=True)
            it.pause()
            waiting = asyncio.ensure_future(ask_all(it, dispatch()))
            await asyncio.sleep(0)
            await it.close()
            (refused,) = await waiting
        assert refused["error"]["code"] == "worker_not_available"
        assert await statuses(it) == {"a": "failed", "b": "ready"}
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert [task for task in left if "taskloom" in repr(task.get_coro())] == []


@pytest.mark.spec("TB-309", "TB-620")
async def test_ending_a_task_that_is_itself_cancelled_leaves_no_step_claimed(
    tmp_path: Path,
) -> None:
    async with stubborn_at(tmp_path) as (it, stubborn):
        await plan(it, step("a"))
        with anyio.fail_after(LONG_S):
            await dispatched(it, background=True)
            await stubborn.begun.wait()
            run = Agent(turns(calls(("task_cancel", {"task_id": "plan"}))), it.tools()).run("go")
            task = asyncio.ensure_future(run.wait())
            async with it.events() as listener:
                await until(listener, RunEvent.CHILD_CANCEL_REQUESTED)
            run.cancel()
            await task
            await it.wait_idle()
            assert (await steps(it))["a"].reason == "worker_cancelled"
            assert (await it.board.get("plan", boss(it))).status == "running"
            stubborn.let_go.set()


@pytest.mark.spec("TB-619")
async def test_a_bad_reason_ends_no_task_and_stops_nobody(tmp_path: Path) -> None:
    async with orchestrator(tmp_path, pool(Doing(until_asked))) as it:
        await plan(it, step("a"))
        with anyio.fail_after(LONG_S):
            await dispatched(it, background=True)
            refused = await ask(it, "task_cancel", task_id="plan", reason={"why": "not"})
        assert refused["error"]["code"] == "validation_error"
        assert [run.state for run in it.runs()] == ["running"]


@pytest.mark.spec("TB-121", "TB-706")
async def test_a_task_ended_by_another_process_stops_the_run_at_its_next_renewal(
    tmp_path: Path,
) -> None:
    async with orchestrator(tmp_path, pool(Doing(until_asked)), lease_s=0.4) as it:
        await plan(it, step("a"))
        with anyio.fail_after(LONG_S):
            waiting = asyncio.ensure_future(dispatched(it))
            async with open_board(tmp_path, session="s1") as other:
                actor = other.orchestrator("other", run_id="other-1")
                await turn_until(lambda: any(run.step_id for run in it.runs()))
                await other.send(CancelTask(task_id="plan"), actor)
                found = await waiting
    assert found["outcome"] == "cancelled"
    assert found["step_status"] == "cancelled"
