"""The block of a claim: its lease is renewed, its end is always written, a lost lease ends it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from errno import ENOSPC
from pathlib import Path
from threading import Event

import anyio
import pytest

from taskloom.board import EventType, Rules, StepStatus, StepView
from taskloom.errors import Code, RefusedError, StorageError
from taskloom.log import JsonlLog, OsDisk
from taskloom.runtime import Board, open_board, session_dir
from taskloom.runtime.handles import Claim, TaskHandle, step
from taskloom.testing import FakeClock
from tests.library.boards import LONG_S, open_twin

LEASE_S = 0.4
"""Short enough to wait for several of them."""
SHORT = Rules(lease=timedelta(seconds=LEASE_S))


class FailingDisk(OsDisk):
    """The real disk, on which so many of the next writes fail."""

    failures = 0

    def write(self, fd: int, data: bytes | bytearray | memoryview) -> int:
        if self.failures:
            self.failures -= 1
            raise OSError(ENOSPC, "No space left on device")
        return super().write(fd, data)


def on_a_disk(project: Path) -> tuple[FailingDisk, JsonlLog]:
    disk = FailingDisk()
    return disk, JsonlLog(session_dir(project, "s1"), disk=disk)


async def planned(board: Board, *names: str) -> TaskHandle:
    return await board.create_task("plan", "P", [step(name, name.upper()) for name in names])


async def held(board: Board, worker: str = "ann") -> Claim:
    task = await planned(board, "a", "b")
    claim = await task.claim_next(worker=worker)
    assert claim is not None
    return claim


async def raised(claim: Claim, body: Callable[[], Awaitable[object]]) -> Exception | None:
    """Run the body in the claim's block; return what comes out of the block."""
    try:
        async with claim:
            await body()
    except Exception as error:  # noqa: BLE001 - whatever comes out is looked at
        return error
    return None


def code_of(error: Exception | None) -> Code:
    assert isinstance(error, RefusedError)
    return error.code


async def shown(board: Board, step_id: str = "a") -> StepView:
    return (await board.task("plan").view()).step(step_id)


async def renewals(board: Board, count: int) -> None:
    """Wait until the lease was renewed so many times."""
    seen = 0
    async for record in board.task("plan").follow():
        seen += record.event_type is EventType.STEP_UPDATED
        if seen == count:
            return


@pytest.mark.spec("LB-204", "TB-706")
async def test_the_lease_is_renewed_while_the_block_runs(twin: str, tmp_path: Path) -> None:
    with anyio.fail_after(LONG_S):
        async with open_twin(twin, tmp_path, lease_s=LEASE_S) as board:
            async with await held(board) as claim:
                await renewals(board, 10)
                await claim.complete("done")
            done = await shown(board)
            assert (done.status, done.attempts) == (StepStatus.COMPLETED, 1)
            after = (await board.task("plan").view()).seq
            other = await board.task("plan").claim("b", worker="bob")
            assert other.fence == after + 1, "nothing is renewed after the block"


@pytest.mark.spec("LB-204", "TB-706")
async def test_the_lease_is_renewed_while_the_event_loop_is_blocked(tmp_path: Path) -> None:
    """The block holds up its own loop until another thread has seen three leases go by."""

    def follow(seen: Event) -> None:
        async def listen() -> None:
            async with open_board(tmp_path, session="s1") as other:
                await renewals(other, 10)

        asyncio.run(listen())
        seen.set()

    async with open_twin("async", tmp_path, lease_s=LEASE_S) as board:
        async with await held(board) as claim:
            seen = Event()
            thread = asyncio.get_running_loop().run_in_executor(None, follow, seen)
            assert seen.wait(LONG_S), "this blocks the loop"
            await claim.complete("done")
        await thread
        assert (await shown(board)).status is StepStatus.COMPLETED
        assert (await shown(board)).attempts == 1


@pytest.mark.spec("LB-204")
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("no such file"), "ValueError: no such file"),
        (KeyError(), "KeyError"),
        (ValueError("lone \ud83d"), "ValueError: lone \\ud83d"),
        (ValueError("x" * 300_000), "ValueError: " + "x" * 1987 + "…"),
    ],
)
async def test_an_exception_fails_the_step_with_the_reason_and_goes_on(
    board: Board, error: Exception, reason: str
) -> None:
    async def body() -> None:
        raise error

    assert await raised(await held(board), body) is error
    failed = await shown(board)
    assert (failed.status, failed.reason) == (StepStatus.FAILED, reason)


@pytest.mark.spec("LB-204", "TB-620")
async def test_leaving_without_a_report_fails_the_step(board: Board) -> None:
    async with await held(board) as claim:
        await claim.progress("half way")
    failed = await shown(board)
    assert failed.status is StepStatus.FAILED
    assert failed.reason == "worker_finished_without_terminal_step_status"
    assert failed.result_summary == "half way"


@pytest.mark.spec("LB-204")
async def test_a_report_stands_whatever_happens_after_it(board: Board) -> None:
    claim = await held(board)

    async def body() -> None:
        await claim.complete("done")
        raise ValueError("after")

    assert isinstance(await raised(claim, body), ValueError)
    assert (await shown(board)).result_summary == "done"
    async with await board.task("plan").claim("b", worker="ann") as claim:
        await claim.block("no key")
    assert (await shown(board, "b")).status is StepStatus.BLOCKED


@pytest.mark.spec("LB-204")
async def test_a_refused_report_is_none(twin: str, tmp_path: Path) -> None:
    async with open_twin(twin, tmp_path, rules=Rules(result_bytes_max=100)) as board:
        claim = await held(board)
        error = await raised(claim, lambda: claim.complete("x" * 101))
        assert code_of(error) is Code.VALIDATION_ERROR
        failed = await shown(board)
        assert failed.status is StepStatus.FAILED
        assert (failed.reason or "").startswith("RefusedError: validation_error")


@pytest.mark.spec("LB-204", "TB-620")
@pytest.mark.parametrize("native", [True, False], ids=["task.cancel", "cancel scope"])
async def test_a_cancelled_block_fails_the_step_as_cancelled(tmp_path: Path, native: bool) -> None:
    async with open_twin("async", tmp_path) as board:
        claim, inside = await held(board), asyncio.Event()

        async def work() -> None:
            async with claim:
                inside.set()
                await anyio.sleep_forever()

        if native:
            body = asyncio.create_task(work())
            await inside.wait()
            body.cancel()
            with pytest.raises(asyncio.CancelledError):
                await body
        else:
            async with anyio.create_task_group() as group:
                group.start_soon(work)
                await inside.wait()
                group.cancel_scope.cancel()
        failed = await shown(board)
        assert (failed.status, failed.reason) == (StepStatus.FAILED, "worker_cancelled")


@pytest.mark.spec("LB-204", "TB-703")
async def test_a_lost_lease_cancels_the_block_and_is_raised_outside(tmp_path: Path) -> None:
    clock = FakeClock()
    async with open_twin("async", tmp_path, lease_s=LEASE_S, clock=clock) as board:
        claim, others = await held(board), list[Claim]()

        async def body() -> None:
            clock.move(LEASE_S)
            others.append(await board.task("plan").claim("a", worker="bob"))
            await anyio.sleep_forever()

        with anyio.fail_after(LONG_S):
            error = await raised(claim, body)
        assert isinstance(error, RefusedError)
        assert (error.code, error.details["run_id"]) == (Code.LEASE_LOST, claim.run_id)
        current = asyncio.current_task()
        assert current is not None
        assert current.cancelling() == 0, "nothing is left of the cancellation"
        await others[0].complete("by bob")
        assert (await shown(board)).result_summary == "by bob"


@pytest.mark.spec("LB-204")
async def test_a_block_that_swallows_the_cancellation_is_told_all_the_same(tmp_path: Path) -> None:
    clock = FakeClock()
    async with open_twin("async", tmp_path, lease_s=LEASE_S, clock=clock) as board:

        async def body() -> None:
            clock.move(LEASE_S)
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

        with anyio.fail_after(LONG_S):
            assert code_of(await raised(await held(board), body)) is Code.LEASE_LOST


@pytest.mark.spec("LB-204")
async def test_a_block_that_is_cancelled_from_outside_as_its_lease_is_lost_stays_cancelled(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    async with open_twin("async", tmp_path, lease_s=LEASE_S, clock=clock) as board:
        claim = await held(board)

        async def work() -> None:
            async with claim:
                clock.move(LEASE_S)
                try:
                    await asyncio.Event().wait()
                finally:
                    body.cancel()

        with anyio.fail_after(LONG_S):
            body = asyncio.create_task(work())
            with pytest.raises(asyncio.CancelledError):
                await body


@pytest.mark.spec("LB-204", "TB-703", "TB-310")
async def test_a_call_under_a_lost_lease_raises_and_changes_nothing(
    twin: str, tmp_path: Path
) -> None:
    clock = FakeClock()
    async with open_twin(twin, tmp_path, clock=clock) as board:
        claim = await held(board)
        others: list[Claim] = []

        async def lose() -> None:
            clock.move(301)
            others.append(await board.task("plan").claim("a", worker="bob"))
            await claim.progress("late")

        async def end() -> None:
            await board.task("plan").cancel()
            await others[0].complete("late")

        assert code_of(await raised(claim, lose)) is Code.LEASE_LOST
        assert (await shown(board)).claimed_by_run_id == others[0].run_id
        assert code_of(await raised(others[0], end)) is Code.TASK_TERMINAL


@pytest.mark.spec("LB-204")
async def test_the_end_of_the_task_ends_the_block(tmp_path: Path) -> None:
    async with open_twin("async", tmp_path, lease_s=LEASE_S) as board:

        async def body() -> None:
            await board.task("plan").cancel("enough")
            await anyio.sleep_forever()

        with anyio.fail_after(LONG_S):
            error = await raised(await held(board), body)
        assert code_of(error) is Code.LEASE_LOST
        assert "is cancelled" in str(error)


@pytest.mark.spec("LB-204")
async def test_a_claim_is_in_one_block_at_a_time(board: Board) -> None:
    async with await held(board) as claim:
        with pytest.raises(RefusedError, match="block"):
            async with claim:
                pass
        await claim.complete()


@pytest.mark.spec("LB-204", "TB-706")
async def test_a_renewal_that_the_disk_refuses_is_tried_again(tmp_path: Path) -> None:
    disk, log = on_a_disk(tmp_path)
    async with open_board(tmp_path, session="s1", log=log, rules=SHORT) as board:
        async with await held(board) as claim:
            disk.failures = 2
            with anyio.fail_after(LONG_S):
                await renewals(board, 5)
            await claim.complete("done")
        assert (await shown(board)).attempts == 1


@pytest.mark.spec("LB-204")
async def test_a_disk_that_refuses_for_a_whole_lease_ends_the_block(tmp_path: Path) -> None:
    disk, log = on_a_disk(tmp_path)
    async with open_board(tmp_path, session="s1", log=log, rules=SHORT) as board:

        async def body() -> None:
            disk.failures = 1_000_000
            await anyio.sleep_forever()

        with anyio.fail_after(LONG_S):
            assert code_of(await raised(await held(board), body)) is Code.LEASE_LOST


@pytest.mark.spec("LB-204")
async def test_an_end_that_cannot_be_written_is_raised_unless_another_error_is(
    tmp_path: Path,
) -> None:
    disk, log = on_a_disk(tmp_path)
    async with open_board(tmp_path, session="s1", log=log) as board:
        task = await planned(board, "a", "b")

        async def leave() -> None:
            disk.failures = 1

        async def err() -> None:
            disk.failures = 1
            raise ValueError("mine")

        assert isinstance(await raised(await task.claim("a", worker="ann"), leave), StorageError)
        error = await raised(await task.claim("b", worker="ann"), err)
        assert isinstance(error, ValueError)
        assert "could not be failed" in str(error.__notes__)
