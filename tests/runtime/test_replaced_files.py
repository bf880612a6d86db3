"""Files that change under a board: half made, deleted, replaced, damaged, torn, read-only."""

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

import pytest

from taskloom import StorageError, SyncBoard, UnavailableError, open_board
from taskloom.board import DEFAULT_RULES, ClaimStep, CompleteTask, FailTask
from taskloom.log import OsDisk
from taskloom.runtime import session_dir
from taskloom.testing import Crashed, FakeClock, Fault, FaultyDisk, MemoryDisk
from tests.crash.known_logs import BOSS, new_task, step, updating
from tests.runtime.boards import ANN, BOB, board_on, claim, create, wal

PROJECT: Final = Path("/p")
TORN: Final = b'{"wal_seq":5,"session_id":"s1","event_id":"0'


@pytest.mark.spec("TB-113", "TB-125")
@pytest.mark.parametrize("ask", ["claim", "get", "create"])
def test_what_a_creator_that_died_left_is_made_durable_before_anybody_builds_on_it(
    ask: str,
) -> None:
    """The file was whole, its name not yet safe; after any power cut the Task is there."""
    disk = MemoryDisk()
    disk.make_directory(session_dir(PROJECT, "s1"))
    for number in range(1, 20):
        dying = FaultyDisk(disk, Fault.CRASH_BEFORE, at=number, calls=("sync_directory",))
        with pytest.raises(Crashed):
            create(board_on(PROJECT, disk=dying), command_id="make")
        if wal(PROJECT) in disk.files():
            break
    assert wal(PROJECT) in disk.unsynced()
    second = disk.another_process()
    disk.kill()
    board = board_on(PROJECT, disk=second)
    ways: dict[str, Callable[[], object]] = {
        "claim": lambda: claim(board, "a", ANN),
        "get": lambda: board.get("plan", BOSS),
        "create": lambda: create(board, command_id="make"),
    }
    ways[ask]()
    assert second.unsynced() == {}
    for seed in range(20):
        left = board_on(PROJECT, disk=second.power_cut(Random(seed)))
        holder = left.get("plan", BOSS).step("a").claimed_by_run_id
        assert holder == ("ann-1" if ask == "claim" else None)


def asks(board: SyncBoard) -> list[Callable[[], object]]:
    return [
        lambda: claim(board, "c", BOB),
        lambda: board.send(updating({"op": "update_task", "title": "x"}), BOSS),
        lambda: board.get("plan", BOSS),
    ]


@pytest.mark.parametrize("moved", [False, True], ids=["deleted", "renamed"])
def test_nothing_is_acknowledged_into_a_log_that_was_taken_away(
    tmp_path: Path, moved: bool
) -> None:
    board = board_on(tmp_path)
    create(board)
    claim(board, "a", ANN)
    path, elsewhere = wal(tmp_path), tmp_path / "elsewhere"
    before = path.read_bytes()
    path.rename(elsewhere)
    if not moved:
        elsewhere.unlink()
    for _ in range(2):
        for ask in asks(board):
            with pytest.raises(StorageError) as caught:
                ask()
            assert caught.value.details["wal_path"] == str(path)
    assert list(path.parent.iterdir()) == []
    if moved:
        assert elsewhere.read_bytes() == before
        elsewhere.rename(path)
        assert claim(board, "c", BOB).seq == 6
    else:
        assert create(board).seq == 4  # Its id and its name are free again.
        assert claim(board, "a", BOB).seq == 5
    board.writers.close()


async def test_a_board_on_a_loop_notices_a_deleted_log_too(tmp_path: Path) -> None:
    async with open_board(tmp_path, session="s1") as board:
        await board.send(new_task(step("a")), BOSS)
        wal(tmp_path).unlink()
        with pytest.raises(StorageError):
            await board.send(ClaimStep(task_id="plan", step_id="a"), ANN)
        with pytest.raises(StorageError):
            await board.get("plan", BOSS)


def replace(path: Path, data: bytes) -> None:
    """Put another file in its place, as a backup program or an editor does."""
    new = path.with_suffix(".new")
    new.write_bytes(data)
    new.replace(path)


def test_a_log_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    board = board_on(tmp_path)
    create(board)
    backup = wal(tmp_path).read_bytes()
    claim(board, "a", ANN, command_id="mine")
    replace(wal(tmp_path), backup)
    assert board.get("plan", BOSS).step("a").status == "ready"
    receipt = claim(board, "a", BOB, command_id="mine")
    assert receipt.seq == 5
    assert wal(tmp_path).read_bytes().startswith(backup)
    assert board_on(tmp_path).get("plan", BOSS).step("a").claimed_by_run_id == "bob-1"
    board.writers.close()


def test_a_log_that_was_replaced_by_another_tasks_life_is_believed(tmp_path: Path) -> None:
    """As long as the one it had: what tells them apart is the file, not its length."""
    board, there = board_on(tmp_path), board_on(tmp_path / "there")
    create(board, title="Here.")
    create(there, title="There")
    claim(there, "c", BOB)
    claim(board, "a", ANN)
    assert wal(tmp_path).stat().st_size == wal(tmp_path / "there").stat().st_size
    replace(wal(tmp_path), wal(tmp_path / "there").read_bytes())
    view = board.get("plan", BOSS)
    assert (view.title, view.step("a").status) == ("There", "ready")
    assert claim(board, "a", ANN).seq == 6
    board.writers.close()
    there.writers.close()


@pytest.mark.parametrize("content", [b"", b"nonsense\n"], ids=["empty", "nonsense"])
def test_a_log_that_was_replaced_by_no_log_is_unavailable(tmp_path: Path, content: bytes) -> None:
    board = board_on(tmp_path)
    create(board)
    replace(wal(tmp_path), content)
    with pytest.raises(UnavailableError):
        board.get("plan", BOSS)
    assert wal(tmp_path).read_bytes() == content
    board.writers.close()


def test_a_follower_goes_on_in_the_file_that_replaced_its_own(tmp_path: Path) -> None:
    """And sees no record twice."""

    async def follow() -> list[int]:
        seen: list[int] = []
        async with open_board(tmp_path, session="s1") as board:
            await board.send(new_task(step("a"), step("b")), BOSS)
            async with asyncio.timeout(30):
                async for record in board.follow("plan", look_s=0.01):
                    seen.append(record.seq)
                    if record.seq == 4:
                        replace(wal(tmp_path), wal(tmp_path).read_bytes())
                        other = board_on(tmp_path)
                        await asyncio.to_thread(claim, other, "a", ANN)
                        await asyncio.to_thread(other.send, FailTask(task_id="plan"), BOSS)
                        other.writers.close()
        return seen

    assert asyncio.run(follow()) == list(range(1, 9))


# Damaged, torn, read-only.


def end_and_begin_again(project: Path) -> None:
    """An ended Task in `old`, an active one of the same id in `new`, then damage to `old`."""
    board = board_on(project)
    board.send(new_task(step("a", required=False), wal_name="old"), BOSS)
    board.send(CompleteTask(task_id="plan"), BOSS)
    board.send(new_task(step("a"), wal_name="new", title="Healthy"), BOSS)
    board.writers.close()
    raw = bytearray(wal(project, "old").read_bytes())
    raw[-30] ^= 1
    wal(project, "old").write_bytes(raw)
    later = wal(project, "new").stat().st_mtime_ns + 10**9
    os.utime(wal(project, "old"), ns=(later, later))  # The damage is the latest change.


def open_files() -> int:
    return len(os.listdir("/dev/fd"))


@pytest.mark.spec("TB-115")
@pytest.mark.parametrize("resumed", [False, True])
def test_a_damaged_log_does_not_hide_a_healthy_task_of_the_same_id(
    tmp_path: Path, resumed: bool
) -> None:
    end_and_begin_again(tmp_path)
    board = board_on(tmp_path)
    if resumed:
        board.writers.resume()
    assert board.get("plan", BOSS).title == "Healthy"
    assert claim(board, "a", ANN).seq == 4
    before = open_files()
    for _ in range(20):
        lines = board.list(BOSS).tasks
        assert sorted(line.status for line in lines) == ["running", "unavailable"]
        assert board.get("plan", BOSS).title == "Healthy"
    assert open_files() <= before + 1
    board.writers.close()


class Guarded(OsDisk):
    """A disk with places where nothing may be written."""

    def __init__(self, *read_only: str) -> None:
        self.read_only = read_only

    def _check(self, path: Path) -> None:
        if any(word in str(path) for word in self.read_only):
            raise PermissionError(13, "Permission denied", str(path))

    def open(self, path: Path, flags: int) -> int:
        if flags & os.O_RDWR:
            self._check(path)
        return super().open(path, flags)

    def make_directory(self, path: Path) -> None:
        self._check(path)
        super().make_directory(path)


def test_a_log_that_may_only_be_read_can_be_looked_at_with_a_past_lease_in_it(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    first = board_on(tmp_path, clock=clock)
    create(first)
    claim(first, "a", ANN)
    first.writers.close()
    clock.move(DEFAULT_RULES.lease)
    before = wal(tmp_path).read_bytes()
    disk = Guarded(".wal.jsonl")
    board = board_on(tmp_path, clock=clock, disk=disk)
    assert board.get("plan", BOSS).step("a").status == "claimed"
    assert board.list(BOSS).tasks[0].status == "running"
    with pytest.raises(StorageError) as caught:
        claim(board, "c", BOB)
    assert caught.value.details["outcome"] == "not_written"
    assert wal(tmp_path).read_bytes() == before
    disk.read_only = ()
    assert claim(board, "c", BOB).seq == 8  # Ann's lease was taken back first.
    board.writers.close()


def tear(project: Path) -> bytes:
    create(board_on(project))
    whole = wal(project).read_bytes()
    wal(project).write_bytes(whole + TORN)
    return whole


@pytest.mark.spec("TB-114")
def test_a_torn_tail_that_cannot_be_set_aside_lets_readers_in_and_nobody_write(
    tmp_path: Path,
) -> None:
    whole = tear(tmp_path)
    clock = FakeClock()
    disk = Guarded("torn/s1")
    board = board_on(tmp_path, disk=disk, clock=clock)
    for _ in range(2):
        assert board.get("plan", BOSS).seq == 4
        with pytest.raises(StorageError):
            claim(board, "a", ANN)
        assert wal(tmp_path).read_bytes() == whole + TORN
    disk.read_only = ()
    assert claim(board, "a", ANN).seq == 5
    [kept] = (tmp_path / ".taskloom" / "torn" / "s1").iterdir()
    assert kept.read_bytes() == TORN
    assert board_on(tmp_path).get("plan", BOSS).seq == 5
    board.writers.close()


@pytest.mark.spec("TB-114")
def test_a_torn_tail_that_is_set_aside_is_reported_with_where_it_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tear(tmp_path)
    caplog.set_level(logging.WARNING, logger="taskloom")
    board = board_on(tmp_path)
    board.writers.resume()
    [kept] = (tmp_path / ".taskloom" / "torn" / "s1").iterdir()
    [told] = [record for record in caplog.records if record.name == "taskloom"]
    assert told.levelno == logging.WARNING
    for part in (str(wal(tmp_path)), str(kept), str(len(TORN))):
        assert part in told.getMessage()
    caplog.clear()
    board.get("plan", BOSS)
    assert caplog.records == []
    board.writers.close()
