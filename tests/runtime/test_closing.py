"""Letting go: of Tasks that ended, of closed boards, of followers whose loop is gone."""

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

import anyio
import pytest

from taskloom import Board, Record, StorageError, SyncBoard, TaskStatus, open_board
from taskloom.board import ClaimStep, CompleteTask, CreateTask, FailTask
from taskloom.errors import Code
from taskloom.runtime import ListTasks, session_dir
from taskloom.testing import FakeClock
from tests.crash.known_logs import BOSS, new_task, step, updating
from tests.runtime.boards import ANN, BOB, LONG_S, CountingDisk, board_on, claim, create, wal

FIXTURES: Final = Path(__file__).parent.parent / "codec" / "fixtures"


def open_files() -> int:
    return len(os.listdir("/dev/fd"))


def quick_task(task_id: str) -> CreateTask:
    """One that can be completed at once."""
    return new_task(step("a", required=False), task_id=task_id, wal_name=task_id)


async def test_a_hundred_ended_tasks_leave_few_files_open(tmp_path: Path) -> None:
    async with open_board(tmp_path, session="s1") as board:
        await board.send(new_task(step("a")), BOSS)
        before = open_files()
        for number in range(100):
            await board.send(quick_task(f"t{number}"), BOSS)
            await board.send(CompleteTask(task_id=f"t{number}"), BOSS)
        assert open_files() <= before + 10
        page = await board.list(BOSS, ListTasks(include_terminal=True, limit=100))
        assert len(page.tasks) == 100
        assert open_files() <= before + 10
        assert (await board.get("t3", BOSS)).status == "completed"
    assert open_files() <= before


async def test_a_closed_board_opens_no_file_until_it_is_opened_again(tmp_path: Path) -> None:
    board = open_board(tmp_path, session="s1")
    async with board:
        await board.send(new_task(step("a")), BOSS)
    before = open_files()

    async def follow() -> None:
        async for _ in board.follow("plan"):
            pass

    for ask in (
        lambda: board.send(ClaimStep(task_id="plan", step_id="a"), ANN),
        lambda: board.send(new_task(step("a"), task_id="new", wal_name="new"), BOSS),
        lambda: board.get("plan", BOSS),
        lambda: board.list(BOSS),
        follow,
    ):
        with pytest.raises(StorageError) as caught:
            await ask()
        assert caught.value.code is Code.STORAGE_ERROR
    assert open_files() == before
    assert list(session_dir(tmp_path, "s1").iterdir()) == [wal(tmp_path)]
    async with board:
        assert (await board.get("plan", BOSS)).seq == 3
        assert (await board.send(ClaimStep(task_id="plan", step_id="a"), ANN)).seq == 4
    assert open_files() == before


@pytest.mark.spec("TB-118", "TB-119")
def test_listing_ended_tasks_opens_no_more_of_them_than_the_page_shows(tmp_path: Path) -> None:
    clock = FakeClock()
    first = board_on(tmp_path, clock=clock)
    for number in range(40):
        clock.move(1)
        first.send(quick_task(f"t{number}"), BOSS)
        end = CompleteTask if number % 4 else FailTask
        first.send(end(task_id=f"t{number}"), BOSS)
    create(first)
    first.writers.close()
    disk = CountingDisk()
    board = board_on(tmp_path, disk=disk, clock=clock)
    board.writers.resume()
    disk.opened.clear()
    page = board.list(BOSS, ListTasks(status=TaskStatus.COMPLETED, limit=5))
    assert [line.task_id for line in page.tasks] == ["t39", "t38", "t37", "t35", "t34"]
    assert {line.status for line in page.tasks} == {"completed"}
    assert (page.total, page.has_more) == (30, True)
    assert sorted(disk.opened) == sorted(f"{line.task_id}.wal.jsonl" for line in page.tasks)
    last = board.list(BOSS, ListTasks(status=TaskStatus.FAILED, limit=5, offset=8))
    assert [line.task_id for line in last.tasks] == ["t4", "t0"]
    assert (last.total, last.has_more) == (10, False)
    assert [line.task_id for line in board.list(BOSS).tasks] == ["plan"]
    board.writers.close()


async def first_record(board: Board) -> AsyncGenerator[Record]:
    records = board.follow("plan")
    await anext(records)
    return records


def test_a_follower_whose_loop_is_closed_disturbs_nobody(tmp_path: Path) -> None:
    board = open_board(tmp_path, session="s1", clock=FakeClock())
    blocking = SyncBoard(board.writers)
    create(blocking)
    loop = asyncio.new_event_loop()
    left = loop.run_until_complete(first_record(board))
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    assert claim(blocking, "a", ANN).seq == 5
    assert claim(blocking, "c", BOB).seq == 6
    assert blocking.get("plan", BOSS).step("a").claimed_by_run_id == "ann-1"

    async def go_on() -> list[int]:
        await left.aclose()  # Whoever cleans up after it has no trouble either.
        seen: list[int] = []
        async with asyncio.timeout(LONG_S):
            async for record in board.follow("plan"):
                seen.append(record.seq)
                if record.seq == 6:
                    await board.send(FailTask(task_id="plan"), BOSS)
        return seen

    assert asyncio.run(go_on()) == list(range(1, 11))
    blocking.writers.close()


async def followed(board: Board, task_id: str, after: int = 0) -> list[int]:
    with anyio.fail_after(LONG_S):
        return [record.seq async for record in board.follow(task_id, after=after, look_s=0.01)]


async def test_following_ends_with_the_task_and_repeats_nothing(tmp_path: Path) -> None:
    async with open_board(tmp_path, session="s1") as board:
        await board.send(new_task(step("a", required=False)), BOSS)
        seen: list[int] = []

        async def follow() -> None:
            seen.extend(await followed(board, "plan"))

        with anyio.fail_after(LONG_S):
            async with anyio.create_task_group() as group:
                group.start_soon(follow)
                for _ in range(20):
                    await board.send(updating({"op": "update_task", "title": "x"}), BOSS)
                await board.send(CompleteTask(task_id="plan"), BOSS)
        last = (await board.get("plan", BOSS)).seq
        assert seen == list(range(1, last + 1))
        for after in (0, 5, last - 1, last, last + 5):  # Also long after it is over.
            assert await followed(board, "plan", after) == list(range(after + 1, last + 1))


async def test_following_ended_tasks_of_the_reference_implementation_ends_too(
    tmp_path: Path,
) -> None:
    place = session_dir(tmp_path, "s1")
    place.mkdir(parents=True)
    for path in FIXTURES.iterdir():
        shutil.copy(path, place)
    async with open_board(tmp_path, session="s1") as board:
        page = await board.list(BOSS, ListTasks(include_terminal=True))
        ended = [line for line in page.tasks if line.status in ("completed", "cancelled")]
        assert len(ended) == 2
        for line in ended:
            seqs = await followed(board, line.task_id)
            assert seqs == list(range(1, len(seqs) + 1))
            assert seqs
