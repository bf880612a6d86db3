"""What others do to a board: forks, closed loops, files that are not ours, ids used elsewhere."""

import asyncio
import json
import os
import traceback
from pathlib import Path

import pytest

from taskloom import Board, RefusedError, TaskStatus
from taskloom.board import ClaimStep, FailTask
from taskloom.errors import Code
from taskloom.runtime.write_lock import WouldBlockError, reset_after_fork
from tests.crash.known_logs import BOSS, worker
from tests.runtime.boards import ANN, BOB, board_on, claim, create, soon, wal


class Broken:
    """An object whose reset in a forked child fails."""

    def __init__(self) -> None:
        reset_after_fork(self)

    def after_fork(self) -> None:
        raise OSError("its disk is gone")


@pytest.mark.spec("TB-121", "TB-610")
def test_a_forked_child_does_not_use_the_write_lock_of_its_parent(tmp_path: Path) -> None:
    board = board_on(tmp_path)
    create(board)
    writer = board.writers.writer("plan")
    pending = writer.submit(ClaimStep(task_id="plan", step_id="a"), worker("parent-1"))
    broken = [Broken() for _ in range(20)]  # They must not keep the writer from being reset.
    child = os.fork()  # The claim is decided and not durable: the write lock is the parent's.
    if child == 0:  # Whatever happens here must not come back into the test runner.
        code = 1
        try:
            writer.submit(ClaimStep(task_id="plan", step_id="c"), worker("child-1"), wait=False)
        except WouldBlockError:
            code = 0
        except BaseException:  # noqa: BLE001 - the parent reads why on the error stream
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    writer.commit(pending)
    board.writers.close()
    assert os.waitstatus_to_exitcode(status) == 0
    assert len(broken) == 20
    assert board_on(tmp_path).get("plan", BOSS).step("a").status == "claimed"


@pytest.mark.spec("TB-121")
def test_a_loop_that_is_closed_in_mid_send_keeps_nobody_out(tmp_path: Path) -> None:
    board = board_on(tmp_path)
    create(board)
    asynchronous = Board(board.writers)
    loop = asyncio.new_event_loop()
    task = loop.create_task(asynchronous.send(ClaimStep(task_id="plan", step_id="a"), ANN))
    loop.call_soon(loop.stop)
    loop.run_forever()  # One round: the claim is decided, its sync would come in the next.
    assert not task.done()
    loop.close()
    seen = soon(lambda: board_on(tmp_path).get("plan", BOSS))
    assert seen.step("a").status == "claimed"
    board.writers.close()


@pytest.mark.spec("TB-115", "TB-122")
def test_files_that_are_not_ours_are_left_as_they_are(tmp_path: Path) -> None:
    create(board_on(tmp_path))
    notes, old = wal(tmp_path, "notes"), wal(tmp_path, "old")
    notes.write_bytes(b"hello, my notes")
    line = json.dumps({"wal_seq": 1, "event_type": "task_created", "payload": {}})
    old.write_bytes(line.encode())
    board = board_on(tmp_path)
    board.writers.resume()
    board.list(BOSS)
    assert (notes.read_bytes(), old.read_bytes()) == (b"hello, my notes", line.encode())
    assert board.get("plan", BOSS).status is TaskStatus.RUNNING


@pytest.mark.spec("TB-106")
def test_a_name_that_is_a_link_or_a_pipe_is_a_conflict_and_is_not_touched(tmp_path: Path) -> None:
    board = board_on(tmp_path)
    create(board)
    precious = tmp_path / "precious"
    precious.write_bytes(b"mine")
    wal(tmp_path, "link").symlink_to(precious)
    os.mkfifo(wal(tmp_path, "pipe"))
    wal(tmp_path, "folder").mkdir()
    for name in ("link", "pipe", "folder"):
        with pytest.raises(RefusedError) as no:
            create(board, name)
        assert no.value.code is Code.PATH_CONFLICT
    assert precious.read_bytes() == b"mine"


@pytest.mark.spec("TB-115", "TB-127")
def test_a_log_with_a_moment_without_a_zone_takes_nobody_else_down(tmp_path: Path) -> None:
    create(board_on(tmp_path))
    line: dict[str, object] = {"wal_seq": 1, "event_type": "task_created", "task_id": "odd"}
    odd = json.dumps({**line, "payload": {}, "created_at": "2026-01-01T00:00:00"}) + "\n"
    wal(tmp_path, "odd").write_text(odd, encoding="utf-8")
    board = board_on(tmp_path)
    board.writers.resume()
    shown = {each.task_id: each.status for each in board.list(BOSS).tasks}
    assert shown == {"plan": "running", "odd": "unavailable"}


@pytest.mark.spec("TB-124", "TB-128")
@pytest.mark.parametrize("bad", [123, True, ["x"], "\ud800", "a\nb", "", "x" * 201])
def test_a_command_id_that_no_log_could_hold_creates_nothing(tmp_path: Path, bad: object) -> None:
    board = board_on(tmp_path)
    with pytest.raises(RefusedError) as no:
        create(board, command_id=bad)
    assert (no.value.code, no.value.details["path"]) == (Code.VALIDATION_ERROR, "$.command_id")
    assert not wal(tmp_path).exists()


@pytest.mark.spec("TB-211", "TB-121")
def test_a_task_id_that_another_process_used_again_means_the_new_task(tmp_path: Path) -> None:
    here, there = board_on(tmp_path), board_on(tmp_path)
    create(here)
    here.get("plan", BOSS)
    there.send(FailTask(task_id="plan"), BOSS)
    create(there, wal_name="again")
    assert here.get("plan", BOSS).status is TaskStatus.RUNNING
    assert claim(here, "a", BOB).step is not None
