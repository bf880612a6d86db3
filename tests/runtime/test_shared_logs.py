"""One board, many users: tasks, loops, threads and processes, and those who read along."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from threading import Event, Thread
from time import perf_counter
from typing import Final

import anyio
import pytest

from taskloom import Board, MemoryLog, Record, RefusedError, SyncBoard, open_board
from taskloom.board import ClaimStep, FailTask
from taskloom.errors import Code, StorageError
from taskloom.log import Disk, JsonlLog, OsDisk
from taskloom.log.sync_policy import QUICK_S
from taskloom.runtime import TaskWriters, session_dir
from taskloom.testing import FakeClock, Fault, FaultyDisk
from tests.crash.known_logs import BOSS, new_task, step, updating, worker
from tests.runtime.boards import ANN, BOB, board_on, claim, create, put, raw_lines, wal

LONG_S: Final = 60.0

CHILD: Final = """
import sys
from pathlib import Path
from tests.runtime.boards import ANN, BOB, board_on, claim, put
board = board_on(Path(sys.argv[1]))
board.writers.resume()
print("ready", flush=True)
for line in sys.stdin:
    try:
        print(eval(line), flush=True)
    except Exception as error:
        print(error, flush=True)
"""


class Other:
    """Another process on the same board, told what to do line by line."""

    def __init__(self, project: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(project)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": ":".join(sys.path)},
        )
        assert self._read() == "ready"

    def tell(self, line: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n")

    def __enter__(self) -> "Other":
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:
            self._process.kill()


@pytest.mark.spec("TB-121", "TB-128")
def test_two_processes_see_each_others_changes_before_they_decide(tmp_path: Path) -> None:
    board = board_on(tmp_path)
    create(board)
    with Other(tmp_path) as other:
        claim(board, "a")
        assert "step_already_claimed" in other.tell('claim(board, "a", BOB)')
        assert other.tell('claim(board, "c", BOB, command_id="mine").seq') == "6"
        with pytest.raises(RefusedError) as caught:
            claim(board, "c", worker("cat-1"))
        assert caught.value.code is Code.STEP_ALREADY_CLAIMED
        assert claim(board, "c", BOB, command_id="mine").seq == 6
        put(board, "a", "completed", ANN)
        assert other.tell('board.get("plan", BOB).step("b").status.value') == "ready"
        assert other.tell('put(board, "c", "completed", BOB).seq') == "9"
        assert board.get("plan", BOSS).step("c").status == "completed"
    assert [line["wal_seq"] for line in raw_lines(wal(tmp_path))] == list(range(1, 10))
    board.writers.close()


@pytest.mark.spec("TB-121")
def test_a_task_that_another_process_creates_or_ends_is_noticed(tmp_path: Path) -> None:
    one, two = board_on(tmp_path), board_on(tmp_path)
    two.writers.resume()
    create(one)
    assert two.get("plan", BOSS).seq == 4
    with pytest.raises(RefusedError) as caught:
        create(two)
    assert caught.value.code is Code.VALIDATION_ERROR
    one.send(FailTask(task_id="plan"), BOSS)
    create(two, wal_name="plan-2")
    assert one.get("plan", BOSS).status == "running"
    one.writers.close()
    two.writers.close()


async def records(board: Board, count: int, after: int = 0) -> list[Record]:
    """The next records of the plan, as many as asked for."""
    found: list[Record] = []
    with anyio.fail_after(LONG_S):
        stream: AsyncGenerator[Record] = board.follow("plan", after=after, look_s=0.01)
        async for record in stream:
            found.append(record)
            if len(found) == count:
                break
        await stream.aclose()
    return found


async def test_a_follower_gets_every_event_from_any_line_on(tmp_path: Path) -> None:
    async with open_board(tmp_path, session="s1") as board:
        await board.send(new_task(step("a"), step("b", "a")), BOSS)
        await board.send(ClaimStep(task_id="plan", step_id="a"), ANN)
        everything = await records(board, 4)
        assert [record.seq for record in everything] == [1, 2, 3, 4]
        for after in range(4):
            assert await records(board, 4 - after, after) == everything[after:]
        last = everything[-1]
        assert (last.event_type.value, last.step_id) == ("task_step_claimed", "a")
        assert (last.actor_agent_id, last.actor_run_id) == ("ann", "ann-1")


async def test_a_follower_is_woken_by_this_process_and_finds_what_others_write(
    tmp_path: Path,
) -> None:
    async with open_board(tmp_path, session="s1") as board:
        await board.send(new_task(step("a"), step("b")), BOSS)
        got: list[int] = []

        async def follow() -> None:
            got.extend(record.seq for record in await records(board, 6))

        with anyio.fail_after(LONG_S):
            async with anyio.create_task_group() as group:
                group.start_soon(follow)
                await board.send(ClaimStep(task_id="plan", step_id="a"), ANN)
                await anyio.to_thread.run_sync(_claim_elsewhere, tmp_path)
        assert got == [1, 2, 3, 4, 5, 6]


def _claim_elsewhere(project: Path) -> None:
    with Other(project) as other:
        assert other.tell('claim(board, "b", BOB).seq') == "6"


class SlowDisk(OsDisk):
    """A disk that is slow to sync, and from `hold` on does so only when it is told to."""

    def __init__(self) -> None:
        self.hold = False
        self.syncing = Event()
        self.go = Event()

    def sync_data(self, fd: int) -> None:
        began = perf_counter()
        while perf_counter() - began < 2 * QUICK_S:
            super().sync_data(fd)
        if self.hold:
            self.syncing.set()
            assert self.go.wait(LONG_S)


def slow_board(project: Path, disk: Disk) -> Board:
    return Board(
        TaskWriters(JsonlLog(session_dir(project, "s1"), disk=disk), "s1", clock=FakeClock())
    )


async def test_while_the_disk_is_slow_the_loop_goes_on_and_everybody_shares_the_next_sync(
    tmp_path: Path,
) -> None:
    disk = SlowDisk()
    async with slow_board(tmp_path, disk) as board:
        steps = [step(f"s{n}") for n in range(20)]
        await board.send(new_task(*steps), BOSS)
        await board.send(updating({"op": "update_task", "title": "slow"}), BOSS)
        disk.hold = True
        answered: list[int] = []

        async def take(number: int) -> None:
            claim = ClaimStep(task_id="plan", step_id=f"s{number}")
            answered.append((await board.send(claim, worker(f"w-{number}"))).seq)

        with anyio.fail_after(LONG_S):
            async with anyio.create_task_group() as group:
                for number in range(20):
                    group.start_soon(take, number)
                await anyio.to_thread.run_sync(disk.syncing.wait)
                assert answered == []  # The loop is free, and nobody was told too early.
                disk.go.set()
        assert sorted(answered) == list(range(24, 44))


async def test_a_sender_that_gives_up_while_it_waits_leaves_a_change_that_is_durable(
    tmp_path: Path,
) -> None:
    disk = SlowDisk()
    async with slow_board(tmp_path, disk) as board:
        await board.send(new_task(step("a"), step("b")), BOSS)
        await board.send(updating({"op": "update_task", "title": "slow"}), BOSS)
        disk.hold = True
        given_up = asyncio.ensure_future(
            board.send(ClaimStep(task_id="plan", step_id="a", command_id="c"), ANN)
        )
        with anyio.fail_after(LONG_S):
            async with anyio.create_task_group() as group:
                await anyio.to_thread.run_sync(disk.syncing.wait)
                given_up.cancel()
                group.start_soon(board.send, ClaimStep(task_id="plan", step_id="b"), BOB)
                disk.go.set()
        assert given_up.cancelled()
        again = await board.send(ClaimStep(task_id="plan", step_id="a", command_id="c"), ANN)
        assert again.seq == 6
    with SyncBoard(slow_board(tmp_path, OsDisk()).writers) as after:
        assert after.get("plan", BOSS).step("a").claimed_by_run_id == "ann-1"
        assert after.get("plan", BOSS).step("b").claimed_by_run_id == "bob-1"


@pytest.mark.spec("TB-111")
@pytest.mark.parametrize("slow", [False, True])
async def test_when_a_shared_sync_fails_everybody_who_waited_is_told(
    tmp_path: Path, slow: bool
) -> None:
    disk = SlowDisk() if slow else OsDisk()
    faulty = FaultyDisk(disk, Fault.EIO, at=2, calls=("sync_data",))
    async with slow_board(tmp_path, faulty) as board:
        await board.send(new_task(*(step(f"s{n}") for n in range(8))), BOSS)
        await board.send(updating({"op": "update_task", "title": "slow"}), BOSS)
        claims = [
            board.send(ClaimStep(task_id="plan", step_id=f"s{n}"), worker(f"w-{n}"))
            for n in range(8)
        ]
        with anyio.fail_after(LONG_S):
            answers = await asyncio.gather(*claims, return_exceptions=True)
        assert all(isinstance(answer, StorageError) for answer in answers)
        view = await board.get("plan", BOSS)
        assert {each.status for each in view.steps} == {"ready"}
        receipt = await board.send(ClaimStep(task_id="plan", step_id="s0"), worker("w-9"))
        assert receipt.seq == 12


@pytest.mark.spec("TB-126")
@pytest.mark.parametrize("in_memory", [False, True])
def test_event_loops_in_several_threads_share_one_board(tmp_path: Path, in_memory: bool) -> None:
    board = open_board(tmp_path, session="s1", log=MemoryLog() if in_memory else None)
    SyncBoard(board.writers).send(new_task(*(step(f"s{n}") for n in range(60))), BOSS)
    won: list[tuple[str, str]] = []
    refused: list[Code] = []

    async def race(name: str) -> None:
        async def one(number: int) -> None:
            run = worker(f"{name}-{number}")
            try:
                await board.send(ClaimStep(task_id="plan", step_id=f"s{number}"), run)
                won.append((f"s{number}", run.run_id))
            except RefusedError as no:
                refused.append(no.code)

        with anyio.fail_after(LONG_S):
            async with anyio.create_task_group() as group:
                for number in range(60):
                    group.start_soon(one, number)

    def loop(name: str) -> None:
        asyncio.run(race(name))

    threads = [Thread(target=loop, args=(name,)) for name in ("x", "y", "z")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG_S)
    assert not any(thread.is_alive() for thread in threads)
    assert refused == [Code.STEP_ALREADY_CLAIMED] * 120
    view = SyncBoard(board.writers).get("plan", BOSS)
    assert sorted(won) == sorted(
        (each.step_id, each.claimed_by_run_id or "") for each in view.steps
    )
    board.writers.close()


async def test_a_board_on_a_log_in_memory_works_the_same(tmp_path: Path) -> None:
    log = MemoryLog()
    async with open_board(tmp_path, session="s1", log=log) as board:
        await board.send(new_task(step("a")), BOSS)
        await board.send(updating({"op": "update_task", "title": "x"}), BOSS)
        assert (await board.get("plan", BOSS)).title == "x"
        assert [record.seq for record in await records(board, 4)] == [1, 2, 3, 4]
    assert log.entries() != []
