"""Leases: the host renews them while a run is alive; a run whose host is gone loses its step."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import anyio
import pytest

from taskloom import Record
from taskloom.board import ClaimStep, UpdateStep
from taskloom.log import JsonlLog, OsDisk
from taskloom.orchestrator import Emit, Job, Orchestrator, Outcome
from taskloom.orchestrator.recovery import fail_held, find_held
from taskloom.runtime import open_board, session_dir
from taskloom.testing import FakeClock, Fault, FaultyDisk
from tests.orchestrator.orchestrators import (
    LONG_S,
    QUERY,
    Doing,
    Json,
    agent_worker,
    ask,
    at_once,
    boss,
    calls,
    claims_first,
    dispatched,
    orchestrator,
    plan,
    pool,
    statuses,
    step,
    steps,
    turn_until,
    until_asked,
)


@pytest.mark.spec("TB-706")
async def test_a_run_that_thinks_longer_than_its_lease_loses_nothing(tmp_path: Path) -> None:
    async def thinks(job: Job, _emit: Emit, _asked: asyncio.Event) -> Outcome:
        """Wait until the host has renewed so often that the first lease is long over."""
        assert job.step is not None
        assert job.step.lease_expires_at is not None
        first_end = job.step.lease_expires_at
        async for record in it.board.follow("plan"):
            if record.created_at > first_end + timedelta(seconds=0.3):
                assert record.event_type == "task_step_updated"
                break
        return Outcome(text="thought it through")

    async with orchestrator(tmp_path, pool(Doing(thinks)), lease_s=0.3) as it:
        await plan(it, step("a"))
        with anyio.fail_after(LONG_S):
            found = await dispatched(it)
        kinds = [record.event_type async for record in everything(it)]
    assert found["step_status"] == "completed"
    assert "task_step_lease_expired" not in kinds


async def everything(it: Orchestrator) -> AsyncGenerator[Record]:
    seq = await it.board.read("plan", lambda task: task.seq, boss(it))
    async for record in it.board.follow("plan"):
        yield record
        if record.seq == seq:
            return


@pytest.mark.spec("TB-706", "TB-703", "TB-707")
async def test_a_host_that_stops_renewing_loses_the_step_and_its_run_is_stopped(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    worker = Doing(until_asked)
    async with orchestrator(tmp_path, pool(worker), clock=clock) as it:
        await plan(it, step("a"))
        with anyio.fail_after(LONG_S):
            await dispatched(it, background=True)
            await turn_until(lambda: bool(worker.jobs))
            clock.move(200)
            await it.renew_leases()
            clock.move(200)  # The first lease is over; the renewed one is not.
            assert await statuses(it) == {"a": "running"}
            clock.move(200)  # Now nobody renewed in time.
            assert await statuses(it) == {"a": "ready"}
            # Somebody else takes it. The old run can do nothing to it, and is stopped.
            other = it.board.worker("other", run_id="other-1", task_id="plan")
            await it.board.send(ClaimStep(task_id="plan", step_id="a"), other)
            await it.renew_leases()
            waited = await ask(it, "wait_workers")
        (ended,) = waited["results"]
        assert ended["outcome"] == "cancelled"
        assert ended["claimed_step_id"] == "a"
        board = await steps(it)
        assert (board["a"].status, board["a"].claimed_by_run_id) == ("claimed", "other-1")


@pytest.mark.spec("TB-615", "TB-707")
async def test_a_chat_worker_that_lost_its_step_is_told_so(tmp_path: Path) -> None:
    clock, told = FakeClock(), list[Json]()

    def late(_: list[Json]) -> Json:
        clock.move(301)
        return calls(("task_update_step", {"task_id": "plan", "step_id": "a", "status": "running"}))

    def last(found: list[Json]) -> str:
        told.extend(found)
        return "I lost it."

    worker = agent_worker(QUERY, claims_first, late, last)
    async with orchestrator(tmp_path, pool(worker), clock=clock) as it:
        await plan(it, step("a"))
        found = await dispatched(it)
        assert await statuses(it) == {"a": "ready"}
    assert told[0]["error"]["code"] == "lease_lost"
    assert found["claimed_step_id"] == "a"
    assert found["step_status"] == "ready"


@pytest.mark.spec("TB-915", "TB-116", "TB-703")
async def test_a_new_host_takes_back_what_the_dead_one_s_workers_held(tmp_path: Path) -> None:
    pools = pool(Doing(at_once))
    async with orchestrator(tmp_path, pools) as it:
        await plan(it, step("a"), step("b"), step("c"))
        dead = it.board.worker("w0", run_id="dead-1", task_id="plan")
        away = it.board.worker("elsewhere", run_id="away-1", task_id="plan")
        await it.board.send(ClaimStep(task_id="plan", step_id="a"), dead)
        await it.board.send(ClaimStep(task_id="plan", step_id="b"), away)
        half = UpdateStep(task_id="plan", step_id="a", result_summary="half of it")
        await it.board.send(half, dead)
    async with orchestrator(tmp_path, pools) as it:
        assert await it.release_orphaned_steps() == ["plan/a"]
        assert await it.release_orphaned_steps() == []
        assert "half of it" in str((await steps(it))["a"].result_summary)
        # A worker of another host keeps its step.
        assert await statuses(it) == {"a": "ready", "b": "claimed", "c": "ready"}


@pytest.mark.spec("TB-111", "TB-619")
@pytest.mark.parametrize("at", [2, 3, 4])
async def test_a_full_disk_is_told_and_the_work_goes_on_when_there_is_room(
    tmp_path: Path, at: int
) -> None:
    clock, disk = FakeClock(), FaultyDisk(OsDisk(), Fault.FULL, at=at)
    log = JsonlLog(session_dir(tmp_path, "s1"), torn_dir=tmp_path / "torn", disk=disk)
    async with (
        open_board(tmp_path, session="s1", log=log, clock=clock) as board,
        Orchestrator(board, [pool(Doing(at_once))]) as it,
    ):
        await plan(it, step("a"))
        with anyio.fail_after(LONG_S):
            found = await dispatched(it)
            assert found["error"]["code"] == "storage_error"
            assert [each.status for each in it.workers()] == ["idle"]
            disk.repair()
            clock.move(301)  # What was claimed could not be given back; its lease runs out.
            assert (await dispatched(it))["step_status"] == "completed"


@pytest.mark.spec("TB-116", "TB-408")
async def test_a_taking_back_that_was_cut_in_two_is_ended_by_the_next_and_no_other_failure_is(
    tmp_path: Path,
) -> None:
    async def breaks(_job: Job, _emit: Emit, _asked: asyncio.Event) -> Outcome:
        raise RuntimeError("it broke")

    async with orchestrator(tmp_path, pool(Doing(breaks))) as it:
        await plan(it, step("a"), step("b"))
        dead = it.board.worker("w0", run_id="dead-1", task_id="plan")
        await it.board.send(ClaimStep(task_id="plan", step_id="a"), dead)
        await dispatched(it)
        (held,) = await it.board.read("plan", lambda task: find_held(task, {"w0"}), boss(it))
        await fail_held(it.board, "plan", held)  # And here the host was killed.
        assert await statuses(it) == {"a": "failed", "b": "failed"}
        assert await it.release_orphaned_steps() == ["plan/a"]
        assert await statuses(it) == {"a": "ready", "b": "failed"}
