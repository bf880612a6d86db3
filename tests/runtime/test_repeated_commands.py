"""Asking again with the same command_id: the first answer, and never for another command."""

from pathlib import Path
from threading import get_ident
from typing import Final

import anyio
import pytest

from taskloom import Board, RefusedError, StepStatus, SyncBoard
from taskloom.board import (
    CancelTask,
    ClaimStep,
    Command,
    CompleteTask,
    CreateTask,
    FailTask,
    UpdateBoard,
    UpdateStep,
)
from taskloom.errors import Code
from taskloom.log import JsonlLog
from taskloom.runtime import TaskWriters, session_dir
from taskloom.runtime.write_lock import WouldBlockError
from taskloom.testing import FakeClock
from tests.crash.known_logs import BOSS, new_task, step, updating
from tests.runtime.boards import ANN, LONG_S, CountingDisk, board_on, claim, create, put, soon, wal

ID: Final = "once"


def setting(step_id: str, status: str | None, **more: str) -> UpdateStep:
    wanted = StepStatus(status) if status else None
    return UpdateStep(task_id="plan", step_id=step_id, status=wanted, command_id=ID, **more)  # pyright: ignore[reportArgumentType]  # texts alone are given


def renaming(title: str) -> UpdateBoard:
    asked = updating({"op": "update_task", "title": title})
    return UpdateBoard(task_id="plan", operations=asked.operations, command_id=ID)


CLAIM_A: Final = ClaimStep(task_id="plan", step_id="a", command_id=ID)
CLAIM_C: Final = ClaimStep(task_id="plan", step_id="c", command_id=ID)
COMPLETE: Final = CompleteTask(task_id="plan", command_id=ID)
CANCEL: Final = CancelTask(task_id="plan", command_id=ID)
FAIL: Final = FailTask(task_id="plan", command_id=ID)

ANOTHER: Final[dict[str, tuple[Command, list[Command]]]] = {
    "a claim": (
        CLAIM_A,
        [CLAIM_C, setting("a", "completed"), setting("a", None, result_summary="x")],
    ),
    "a start": (
        setting("a", "running"),
        [CLAIM_A, setting("a", "completed"), setting("a", None, result_summary="x")],
    ),
    "a completion": (
        setting("a", "completed"),
        [setting("c", "completed"), setting("a", "cancelled"), CLAIM_C],
    ),
    "a note": (setting("a", None, result_summary="half"), [setting("c", None), CLAIM_A]),
    "an update": (renaming("x"), [CLAIM_C, setting("a", "completed"), COMPLETE, CANCEL, FAIL]),
    "an end": (CANCEL, [FAIL, COMPLETE, renaming("x"), setting("a", "completed"), CLAIM_A]),
}


@pytest.mark.parametrize("first", ANOTHER)
def test_a_command_id_that_was_used_for_another_command_is_refused_and_nothing_is_done(
    tmp_path: Path, first: str
) -> None:
    """By the process that answered, by another one, and after a restart."""
    board = board_on(tmp_path)
    create(board)
    done, others = ANOTHER[first]
    actor = BOSS if first in ("an update", "an end") else ANN
    if actor is ANN and done is not CLAIM_A:
        claim(board, "a", ANN)
    receipt = board.send(done, actor)
    before = wal(tmp_path).read_bytes()
    for each in (board, board_on(tmp_path)):
        for other in others:
            with pytest.raises(RefusedError) as caught:
                each.send(other, actor)
            assert caught.value.code is Code.VALIDATION_ERROR, other
            assert caught.value.details["path"] == "$.command_id"
        again = each.send(done, actor)
        assert (again.seq, again.first_seq, again.fence) == (
            receipt.seq,
            receipt.first_seq,
            receipt.fence,
        )
        each.writers.close()
    assert wal(tmp_path).read_bytes() == before


def test_a_command_that_an_actor_may_not_send_is_refused_before_its_id_is_looked_up(
    tmp_path: Path,
) -> None:
    board = board_on(tmp_path)
    create(board)
    board.send(CLAIM_A, ANN)
    for other in (FAIL, COMPLETE, CANCEL, renaming("x")):
        with pytest.raises(RefusedError) as caught:
            board.send(other, ANN)
        assert caught.value.code is Code.PERMISSION_DENIED
    board.close()


def test_the_command_id_of_a_creation_is_used_up_for_the_task_it_made(tmp_path: Path) -> None:
    board = board_on(tmp_path)
    create(board, command_id=ID)
    for each in (board, board_on(tmp_path)):
        for other in (renaming("x"), setting("a", "completed"), FAIL):
            with pytest.raises(RefusedError) as caught:
                each.send(other, BOSS)
            assert caught.value.details["path"] == "$.command_id"
        assert each.get("plan", BOSS).seq == 4
        each.writers.close()


CREATE: Final = new_task(step("a", required=False), command_id=ID)


@pytest.mark.spec("TB-128")
@pytest.mark.parametrize("ending", [COMPLETE, CANCEL, FAIL], ids=lambda end: type(end).__name__)
def test_a_creation_that_is_asked_for_again_after_the_task_ended_is_answered_as_at_first(
    tmp_path: Path, ending: CompleteTask | CancelTask | FailTask
) -> None:
    board = board_on(tmp_path)
    made = board.send(CREATE, BOSS)
    end = type(ending)(task_id="plan", command_id="end")
    ended = board.send(end, BOSS)
    before = wal(tmp_path).read_bytes()
    for each in (board, board_on(tmp_path)):
        again = each.send(CREATE, BOSS)
        assert again.event_ids == made.event_ids
        assert again.seq == made.seq
        assert each.send(end, BOSS).event_ids == ended.event_ids
        each.writers.close()
    assert wal(tmp_path).read_bytes() == before
    assert list(session_dir(tmp_path, "s1").iterdir()) == [wal(tmp_path)]


def test_a_new_creation_with_the_id_of_an_ended_task_makes_a_new_task(tmp_path: Path) -> None:
    board = board_on(tmp_path)
    board.send(CREATE, BOSS)
    board.send(CompleteTask(task_id="plan"), BOSS)
    anew = CreateTask(
        task_id="plan", wal_name="plan-2", title="Again", steps=CREATE.steps, command_id="twice"
    )
    assert board.send(anew, BOSS).seq == 3
    assert board.get("plan", BOSS).title == "Again"
    board.writers.close()


class WatchedDisk(CountingDisk):
    """A disk that notes which threads read from it."""

    def __init__(self) -> None:
        super().__init__()
        self.readers: set[int] = set()

    def read(self, fd: int, size_bytes: int, offset: int) -> bytes:
        self.readers.add(get_ident())
        return super().read(fd, size_bytes, offset)


@pytest.mark.spec("TB-128")
async def test_an_old_command_asked_for_again_does_not_hold_up_the_event_loop(
    tmp_path: Path,
) -> None:
    first = board_on(tmp_path)
    create(first)
    mine = claim(first, "a", ANN, command_id="mine")
    put(first, "a", "completed", ANN)
    first.writers.close()
    disk = WatchedDisk()
    log = JsonlLog(session_dir(tmp_path, "s1"), disk=disk)
    async with Board(TaskWriters(log, "s1", clock=FakeClock())) as board:
        command = ClaimStep(task_id="plan", step_id="a", command_id="mine")
        writer = board.writers.writer("plan")
        disk.readers.clear()
        with pytest.raises(WouldBlockError):
            writer.submit(command, ANN, wait=False)
        assert disk.readers == set()
        with anyio.fail_after(LONG_S):
            again = await board.send(command, ANN)
        assert (again.seq, again.fence, again.step) == (mine.seq, mine.fence, mine.step)
        assert disk.readers
        assert get_ident() not in disk.readers
        # The write lock was released: another process can write at once.
        other = board_on(tmp_path)
        soon(lambda: put(other, "c", "completed", BOSS))
        other.writers.close()
        assert SyncBoard(board.writers).get("plan", BOSS).step("c").status == "completed"
