"""Where a board is kept: one log a Task, its name, its lines, and what is found at resume."""

from datetime import datetime
from pathlib import Path

import pytest

from taskloom import RefusedError, StorageError, TaskStatus, UnavailableError, open_board
from taskloom.board import CompleteTask, FailTask
from taskloom.errors import Code
from taskloom.log import Durability
from taskloom.runtime import ListTasks, session_dir
from taskloom.testing import FakeClock, Fault, FaultyDisk
from tests.crash.known_logs import BOSS, updating
from tests.runtime.boards import (
    ANN,
    BOB,
    CountingDisk,
    board_on,
    claim,
    command,
    create,
    put,
    raw_lines,
    state,
    wal,
)

FIELDS = {
    "wal_seq", "session_id", "event_id", "event_type", "actor_agent_id", "actor_run_id",
    "task_id", "payload", "created_at",
}  # fmt: skip  # as the spec lists them


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.spec("TB-101", "TB-102", "TB-103", "TB-104", "TB-107")
def test_a_session_keeps_one_log_a_task_and_nothing_else(tmp_path: Path) -> None:
    board = board_on(tmp_path)
    create(board, "one", wal_name="first-plan")
    create(board, "two")
    board.send(updating({"op": "update_task", "title": "x"}, task_id="one"), BOSS)
    assert everything(tmp_path) == [
        ".taskloom/tasks/s1/first-plan.wal.jsonl",
        ".taskloom/tasks/s1/two.wal.jsonl",
    ]
    assert board.get("one", BOSS).title == "x"
    assert board.get("two", BOSS).title == "Plan"
    board.writers.close()


@pytest.mark.spec("TB-102")
async def test_the_state_directory_is_a_setting(tmp_path: Path) -> None:
    async with open_board(tmp_path, session="S.1", state_dir=".soong-agent") as board:
        await board.send(command("plan"), board.orchestrator("boss", run_id="r1"))
    assert everything(tmp_path) == [".soong-agent/tasks/S.1/plan.wal.jsonl"]
    for bad in ("", ".hidden", "a/b", "..", "x" * 129, "a\n"):
        with pytest.raises(RefusedError):
            session_dir(tmp_path, bad)


@pytest.mark.spec("TB-105")
@pytest.mark.parametrize(
    "bad", ["", ".hidden", "/etc/x", "a/b", "..", "a..b", "Plan", "plän", "a b", "x" * 81, "a.wal"]
)
def test_a_bad_wal_name_is_refused_and_leaves_no_file(tmp_path: Path, bad: str) -> None:
    board = board_on(tmp_path)
    with pytest.raises(RefusedError) as caught:
        create(board, "plan", wal_name=bad)
    assert caught.value.code is Code.VALIDATION_ERROR
    assert caught.value.details["path"] == "$.wal_name"
    assert everything(tmp_path) == []


@pytest.mark.spec("TB-105", "TB-106")
def test_a_name_with_its_extension_is_the_same_name(tmp_path: Path) -> None:
    board = board_on(tmp_path)
    create(board, "one", wal_name="x" * 80 + ".wal.jsonl")
    before = wal(tmp_path, "x" * 80).read_bytes()
    with pytest.raises(RefusedError) as caught:
        create(board, "two", wal_name="x" * 80)
    assert caught.value.code is Code.PATH_CONFLICT
    assert wal(tmp_path, "x" * 80).read_bytes() == before
    board.writers.close()


@pytest.mark.spec("TB-108")
def test_each_line_carries_its_fields_and_a_number_without_a_gap(tmp_path: Path) -> None:
    board = board_on(tmp_path)
    create(board)
    claim(board, "a")
    put(board, "a", "completed", ANN)
    lines = raw_lines(wal(tmp_path))
    assert [line["wal_seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert len({line["event_id"] for line in lines}) == len(lines)
    for line in lines:
        assert line.keys() >= FIELDS
        assert ("step_id" in line) == line["event_type"].startswith("task_step_")
        assert datetime.fromisoformat(line["created_at"]).utcoffset() is not None
        assert line["created_at"].endswith("Z")
    claimed = next(line for line in lines if line["event_type"] == "task_step_claimed")
    assert (claimed["actor_agent_id"], claimed["actor_run_id"]) == ("ann", "ann-1")
    assert (claimed["task_id"], claimed["step_id"], claimed["session_id"]) == ("plan", "a", "s1")
    board.writers.close()


@pytest.mark.spec("TB-110", "TB-111")
@pytest.mark.parametrize("fault", [Fault.ENOSPC, Fault.EIO, Fault.FULL])
def test_a_failed_append_changes_nothing_and_a_retry_leaves_no_gap(
    tmp_path: Path, fault: Fault
) -> None:
    create(board_on(tmp_path))
    healthy = wal(tmp_path).read_bytes()
    disk = FaultyDisk(CountingDisk(), fault, at=1, calls=("write",))
    board = board_on(tmp_path, disk=disk)
    before = board.writers.writer("plan").ask(state)
    with pytest.raises(StorageError) as caught:
        claim(board, "a")
    assert caught.value.details["outcome"] == "not_written"
    assert wal(tmp_path).read_bytes() == healthy
    disk.repair()
    assert board.writers.writer("plan").ask(state) == before
    assert claim(board, "a").seq == 5
    assert [line["wal_seq"] for line in raw_lines(wal(tmp_path))] == [1, 2, 3, 4, 5]
    board.writers.close()


@pytest.mark.spec("TB-111", "TB-113")
def test_after_a_failed_sync_the_file_is_opened_and_read_anew(tmp_path: Path) -> None:
    create(board_on(tmp_path))
    counting = CountingDisk()
    disk = FaultyDisk(counting, Fault.EIO, at=2, calls=("sync_data",))
    board = board_on(tmp_path, disk=disk)
    board.writers.resume()
    with pytest.raises(StorageError):
        claim(board, "a")
    opened = len(counting.opened)
    assert board.get("plan", BOSS).step("a").status == "ready"
    assert counting.opened[opened:] == ["plan.wal.jsonl"]
    assert claim(board, "a", BOB).step is not None
    assert board_on(tmp_path).get("plan", BOSS).step("a").claimed_by_run_id == "bob-1"
    board.writers.close()


@pytest.mark.spec("TB-113")
def test_durability_is_a_setting(tmp_path: Path) -> None:
    """A create syncs the file, its directory and those above; a change its data; `os` nothing."""
    for durability, expected in ((Durability.FSYNC, (4, 1)), (Durability.OS, (0, 0))):
        disk = CountingDisk()
        session_dir(tmp_path / durability, "s1").mkdir(parents=True)
        board = board_on(tmp_path / durability, disk=disk, durability=durability)
        create(board)
        named = disk.calls["sync_directory"]
        claim(board, "a")
        assert (named, disk.calls["sync_data"]) == expected
        assert bool(disk.calls["sync"]) == (durability is Durability.FSYNC)
        board.writers.close()


@pytest.mark.spec("TB-115", "TB-127")
def test_a_damaged_task_is_unavailable_and_the_others_go_on(tmp_path: Path) -> None:
    first = board_on(tmp_path)
    create(first, "plan", wal_name="the-file")
    create(first, "fine")
    first.writers.close()
    path = wal(tmp_path, "the-file")
    bad = path.read_bytes().replace(b'"wal_seq":3', b'"wal_seq":7')
    path.write_bytes(bad)
    board = board_on(tmp_path)
    board.writers.resume()
    for _ in range(2):
        for ask in (lambda: board.get("plan", BOSS), lambda: claim(board, "a")):
            with pytest.raises(UnavailableError) as caught:
                ask()
            error = caught.value
            assert error.code is Code.TASK_WAL_UNAVAILABLE
            assert error.details["wal_path"] == str(path)
            assert error.details["line"] == 3
            assert error.details["error"]
    assert board.send(updating({"op": "update_task", "title": "y"}, task_id="fine"), BOSS)
    lines = {line.task_id: line for line in board.list(BOSS).tasks}
    assert lines["fine"].status == "running"
    assert lines["plan"].status == "unavailable"
    assert lines["plan"].error is not None
    assert lines["plan"].error["code"] == "task_wal_unavailable"
    board.writers.close()
    assert path.read_bytes() == bad


@pytest.mark.spec("TB-127")
def test_a_log_whose_task_id_cannot_be_read_goes_by_its_file_name(tmp_path: Path) -> None:
    create(board_on(tmp_path), "plan", wal_name="the-file")
    path = wal(tmp_path, "the-file")
    path.write_bytes(b"\xff\xfe nonsense\n" * 3)
    board = board_on(tmp_path)
    [line] = board.list(BOSS).tasks
    assert (line.task_id, line.status) == ("the-file", "unavailable")
    with pytest.raises(UnavailableError):
        board.get("the-file", BOSS)
    board.writers.close()


@pytest.mark.spec("TB-115")
@pytest.mark.parametrize("change", ["gap", "repeat", "swap", "garbage"])
def test_lines_that_are_missing_repeated_or_moved_are_damage(tmp_path: Path, change: str) -> None:
    board = board_on(tmp_path)
    create(board)
    claim(board, "a")
    put(board, "a", "completed", ANN)
    board.writers.close()
    path = wal(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    wrong = {
        "gap": lines[:3] + lines[4:],
        "repeat": [*lines[:4], lines[3], *lines[4:]],
        "swap": [*lines[:3], lines[4], lines[3], *lines[5:]],
        "garbage": [*lines[:4], b"not json\n", *lines[4:]],
    }
    path.write_bytes(b"".join(wrong[change]))
    with pytest.raises(UnavailableError):
        board_on(tmp_path).get("plan", BOSS)
    assert path.read_bytes() == b"".join(wrong[change])


@pytest.mark.spec("TB-116")
def test_resume_comes_to_the_same_task_field_by_field(tmp_path: Path) -> None:
    clock = FakeClock()
    board = board_on(tmp_path, clock=clock)
    create(board, summary="s\u2028", command_id="c1")
    claim(board, "a", command_id="c2")
    clock.move(1)
    put(board, "a", "running", ANN)
    put(board, "a", None, ANN, result_summary="half", artifact_ids=("x", "y"))
    board.send(updating({"op": "update_step", "step_id": "a", "fields": {"title": "new"}}), BOSS)
    board.send(updating({"op": "update_task", "status": "blocked", "reason": "wait"}), BOSS)
    board.send(updating({"op": "cancel_step", "step_id": "c"}), BOSS)
    live = board.writers.writer("plan").ask(state)
    view = board.get("plan", BOSS)
    board.writers.close()
    again = board_on(tmp_path, clock=clock)
    again.writers.resume()
    assert again.writers.writer("plan").ask(state) == live
    assert again.get("plan", BOSS) == view
    again.writers.close()


@pytest.mark.spec("TB-125")
@pytest.mark.parametrize("call", ["write", "sync", "sync_directory"])
def test_a_failed_create_leaves_no_file_behind(tmp_path: Path, call: str) -> None:
    board_on(tmp_path).writers.found()
    session_dir(tmp_path, "s1").mkdir(parents=True)
    disk = FaultyDisk(CountingDisk(), Fault.ENOSPC, at=1, calls=(call,))
    board = board_on(tmp_path, disk=disk)
    with pytest.raises(StorageError):
        create(board)
    assert everything(tmp_path) == []
    create(board)
    assert board_on(tmp_path).get("plan", BOSS).seq == 4
    board.writers.close()


@pytest.mark.spec("TB-117", "TB-118", "TB-119", "TB-120")
def test_ended_tasks_stay_where_they_are_and_are_read_only_when_asked_for(tmp_path: Path) -> None:
    clock = FakeClock()
    first = board_on(tmp_path, clock=clock)
    for number in range(12):
        clock.move(1)
        create(first, f"t{number}")
        for _ in range(60):
            first.send(updating({"op": "update_task", "title": "x"}, task_id=f"t{number}"), BOSS)
        if number != 5:
            end = FailTask(task_id=f"t{number}", reason="enough")
            first.send(end, BOSS)
    first.writers.close()
    sizes = {path.name: path.stat().st_size for path in session_dir(tmp_path, "s1").iterdir()}
    disk = CountingDisk()
    board = board_on(tmp_path, disk=disk, clock=clock)
    board.writers.resume()
    whole = [name for name, size in sizes.items() if disk.bytes_read[name] >= size]
    assert whole == ["t5.wal.jsonl"]
    disk.bytes_read.clear()
    page = board.list(BOSS, ListTasks(include_terminal=True, limit=3))
    assert [line.task_id for line in page.tasks] == ["t11", "t10", "t9"]
    assert (page.total, page.has_more) == (12, True)
    assert page.tasks[0].reason == "enough"
    assert set(disk.bytes_read) == {"t11.wal.jsonl", "t10.wal.jsonl", "t9.wal.jsonl"}
    assert [line.task_id for line in board.list(BOSS).tasks] == ["t5"]
    failed = board.list(BOSS, ListTasks(include_terminal=True, status=TaskStatus.FAILED, offset=9))
    assert [line.task_id for line in failed.tasks] == ["t1", "t0"]
    view = board.get("t3", BOSS)
    assert (view.status, view.reason) == ("failed", "enough")
    assert board.writers.known("t3") is None
    with pytest.raises(RefusedError) as caught:
        board.send(CompleteTask(task_id="t3"), BOSS)
    assert caught.value.code is Code.TASK_TERMINAL
    board.writers.close()
    assert sizes == {p.name: p.stat().st_size for p in session_dir(tmp_path, "s1").iterdir()}


@pytest.mark.spec("TB-128")
def test_a_change_whose_acknowledgement_was_lost_is_answered_again_and_not_done_twice(
    tmp_path: Path,
) -> None:
    """By the same process, by another, and after a restart; also a create."""
    board = board_on(tmp_path)
    made = create(board, command_id="make")
    first = claim(board, "a", command_id="mine")
    size = wal(tmp_path).stat().st_size
    other = board_on(tmp_path)
    for again in (board, other):
        assert create(again, command_id="make").event_ids == made.event_ids
        receipt = claim(again, "a", command_id="mine")
        assert (receipt.event_ids, receipt.fence, receipt.seq) == (
            first.event_ids,
            first.fence,
            first.seq,
        )
        assert receipt.step == first.step
    assert wal(tmp_path).stat().st_size == size
    with pytest.raises(RefusedError):
        claim(other, "c", BOB, command_id="mine")
    board.writers.close()
    other.writers.close()


@pytest.mark.spec("TB-114", "TB-107")
def test_a_torn_tail_is_set_aside_outside_the_task_directory(tmp_path: Path) -> None:
    create(board_on(tmp_path))
    whole = wal(tmp_path).read_bytes()
    torn = b'{"wal_seq":5,"session_id":"s1","event_id":"0'
    wal(tmp_path).write_bytes(whole + torn)
    board = board_on(tmp_path)
    board.writers.resume()
    assert wal(tmp_path).read_bytes() == whole
    [kept] = (tmp_path / ".taskloom" / "torn" / "s1").iterdir()
    assert kept.read_bytes() == torn
    assert claim(board, "a").seq == 5
    board.writers.close()
    assert len(list(session_dir(tmp_path, "s1").iterdir())) == 1
