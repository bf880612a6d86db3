"""The blocking board does what the asynchronous one does, method by method."""

import inspect
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread

import pytest

from taskloom import Board, Record, RefusedError, SyncBoard
from taskloom.board import CompleteTask, Role, StepStatus, UpdateStep
from taskloom.errors import Code
from tests.crash.known_logs import BOSS
from tests.runtime.boards import ANN, LONG_S, board_on, claim, create, put


def methods(board: type) -> dict[str, list[str]]:
    return {
        name: list(inspect.signature(method).parameters)
        for name, method in inspect.getmembers(board, inspect.isfunction)
        if not name.startswith("_")
    }


@pytest.mark.spec("LB-101")
def test_both_boards_have_the_same_methods_with_the_same_parameters() -> None:
    asynchronous, blocking = methods(Board), methods(SyncBoard)
    asynchronous["close"] = asynchronous.pop("aclose")
    assert asynchronous == blocking


@pytest.mark.spec("LB-101")
def test_the_blocking_board_makes_actors_reads_and_lists_changes(tmp_path: Path) -> None:
    with board_on(tmp_path) as board:
        create(board)
        boss = board.orchestrator("boss", run_id="boss-2")
        ann = board.worker("ann", run_id="ann-2", task_id="plan")
        assert (boss.role, ann.role) == (Role.ORCHESTRATOR, Role.WORKER)
        claim(board, "a", ann)
        assert board.read("plan", lambda task: task.steps["a"].status, boss) is StepStatus.CLAIMED
        since = datetime.min.replace(tzinfo=UTC) + timedelta(days=1)
        [last] = board.recent(since=since, limit=1)
        assert (last.event_type, last.actor_agent_id) == ("task_step_claimed", "ann")
        stranger = board.worker("eve", run_id="eve-1", task_id="another")
        with pytest.raises(RefusedError) as caught:
            board.read("plan", lambda task: task.seq, stranger)
        assert caught.value.code is Code.PERMISSION_DENIED


@pytest.mark.spec("LB-101")
def test_a_blocking_follower_gets_every_event_and_ends_with_the_task(tmp_path: Path) -> None:
    with board_on(tmp_path) as board:
        create(board)
        got: list[Record] = []
        follower = Thread(target=lambda: got.extend(board.follow("plan", after=2)), daemon=True)
        with board.watch("plan", look_s=LONG_S) as changed:
            before = changed.reset()
            follower.start()
            claim(board, "a", ANN)
            changed.wait(before)
            assert changed.reset() == before + 1
        put(board, "a", "completed", ANN)
        for step_id in ("b", "c"):
            done = UpdateStep(task_id="plan", step_id=step_id, status=StepStatus.COMPLETED)
            board.send(done, BOSS)
        last = board.send(CompleteTask(task_id="plan"), BOSS).seq
        follower.join(LONG_S)
        assert not follower.is_alive()
        assert [record.seq for record in got] == list(range(3, last + 1))
