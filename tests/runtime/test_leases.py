"""Leases on a board that several processes share: one clock each, one log between them."""

from datetime import timedelta
from pathlib import Path
from threading import Barrier, Thread

import pytest

from taskloom import RefusedError, SyncBoard
from taskloom.board import DEFAULT_RULES, QuerySteps
from taskloom.errors import Code
from taskloom.runtime import ListTasks
from taskloom.testing import FakeClock
from tests.crash.known_logs import BOSS, worker
from tests.runtime.boards import ANN, BOB, board_on, claim, create, put, raw_lines, wal

LEASE = DEFAULT_RULES.lease


def expiries(project: Path) -> list[dict[str, object]]:
    return [line for line in raw_lines(wal(project)) if "expired" in str(line["event_type"])]


@pytest.mark.spec("TB-702", "TB-704")
@pytest.mark.parametrize("how", ["query", "get", "claim", "resume"])
def test_an_expired_lease_is_taken_back_before_anybody_is_answered(
    tmp_path: Path, how: str
) -> None:
    clock = FakeClock()
    board = board_on(tmp_path, clock=clock)
    create(board)
    claim(board, "a")
    clock.move(LEASE)
    ways = {
        "query": lambda: board.query(QuerySteps(task_id="plan"), BOSS),
        "get": lambda: board.get("plan", BOSS),
        "claim": lambda: claim(board, "a", BOB),
        "resume": lambda: board_on(tmp_path, clock=clock).writers.resume(),
    }
    ways[how]()
    assert len(expiries(tmp_path)) == 1
    kinds = [line["event_type"] for line in raw_lines(wal(tmp_path))]
    at = kinds.index("task_step_lease_expired")
    assert kinds[at : at + 2] == ["task_step_lease_expired", "task_step_ready"]
    assert board.get("plan", BOSS).status == "running"
    holder = board.get("plan", BOSS).step("a").claimed_by_run_id
    assert holder == ("bob-1" if how == "claim" else None)
    board.writers.close()


@pytest.mark.spec("TB-702")
def test_listing_tasks_leaves_leases_alone(tmp_path: Path) -> None:
    clock = FakeClock()
    board = board_on(tmp_path, clock=clock)
    create(board)
    claim(board, "a")
    clock.move(LEASE)
    board.list(BOSS, ListTasks())
    assert expiries(tmp_path) == []
    board.writers.close()


@pytest.mark.spec("TB-705")
def test_a_clock_set_back_revives_no_lease_and_reorders_nothing(tmp_path: Path) -> None:
    clock = FakeClock()
    board = board_on(tmp_path, clock=clock)
    create(board)
    claim(board, "a")
    clock.move(LEASE)
    board.get("plan", BOSS)
    clock.move(-2 * LEASE)
    with pytest.raises(RefusedError) as caught:
        put(board, "a", "completed", ANN)
    assert caught.value.code is Code.LEASE_LOST
    claim(board, "a", BOB)
    put(board, "a", "completed", BOB)
    times = [line["created_at"] for line in raw_lines(wal(tmp_path))]
    assert times == sorted(times)
    board.writers.close()


@pytest.mark.spec("TB-705")
def test_another_process_with_a_slow_clock_cannot_claim_before_the_lease_is_over(
    tmp_path: Path,
) -> None:
    fast, slow = FakeClock(), FakeClock()
    fast.move(3600)
    one, two = board_on(tmp_path, clock=fast), board_on(tmp_path, clock=slow)
    create(one)
    claim(one, "a")
    with pytest.raises(RefusedError) as caught:
        claim(two, "a", BOB)
    assert caught.value.code is Code.STEP_ALREADY_CLAIMED
    times = [line["created_at"] for line in raw_lines(wal(tmp_path))]
    put(two, "a", "running", ANN)
    assert raw_lines(wal(tmp_path))[-1]["created_at"] >= times[-1]
    one.writers.close()
    two.writers.close()


@pytest.mark.spec("TB-707")
def test_a_write_under_an_older_claim_is_refused_even_by_the_same_worker(tmp_path: Path) -> None:
    clock = FakeClock()
    one, two = board_on(tmp_path, clock=clock), board_on(tmp_path, clock=clock)
    create(one)
    old = claim(one, "a", ANN).fence
    clock.move(LEASE)
    again = worker("ann-2")
    new = claim(two, "a", again).fence
    assert old is not None
    assert new is not None
    assert new > old
    size = wal(tmp_path).stat().st_size
    for board, actor, fence in ((one, ANN, old), (two, ANN, None), (one, again, old)):
        with pytest.raises(RefusedError) as caught:
            put(board, "a", "completed", actor, fence=fence)
        assert caught.value.code is Code.LEASE_LOST
    assert wal(tmp_path).stat().st_size == size
    put(one, "a", "completed", again, fence=new)
    one.writers.close()
    two.writers.close()


@pytest.mark.spec("TB-708")
def test_of_many_observers_of_one_expired_lease_exactly_one_writes_it(tmp_path: Path) -> None:
    clock = FakeClock()
    boards = [board_on(tmp_path, clock=clock) for _ in range(4)]
    create(boards[0])
    for board in boards:
        board.writers.resume()
    claim(boards[0], "a")
    claim(boards[1], "c", BOB)
    clock.move(LEASE)
    start = Barrier(12)

    def look(board: SyncBoard) -> None:
        start.wait()
        board.get("plan", BOSS)

    threads = [Thread(target=look, args=(boards[n % 4],)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(str(line["step_id"]) for line in expiries(tmp_path)) == ["a", "c"]
    for board in boards:
        board.writers.close()


@pytest.mark.spec("TB-701", "TB-702", "TB-705")
@pytest.mark.parametrize("restarted", [False, True])
def test_a_clock_that_was_ahead_for_one_write_makes_no_lease_longer(
    tmp_path: Path, restarted: bool
) -> None:
    """Set forward a day and back again: time goes on from where it was, at its usual pace."""
    clock = FakeClock()
    board = board_on(tmp_path, clock=clock)
    create(board)
    clock.move(timedelta(days=1))
    put(board, "c", "completed", BOSS)
    clock.move(timedelta(days=-1))
    if restarted:
        board.writers.close()
        board = board_on(tmp_path, clock=clock)
    claim(board, "a", ANN)
    clock.move(LEASE - timedelta(seconds=1))
    with pytest.raises(RefusedError) as caught:
        claim(board, "a", BOB)
    assert caught.value.code is Code.STEP_ALREADY_CLAIMED
    clock.move(timedelta(seconds=1))
    assert board.get("plan", BOSS).step("a").status == "ready"
    claim(board, "a", BOB)
    clock.move(LEASE)
    assert board.get("plan", BOSS).step("a").status == "ready"
    times = [line["created_at"] for line in raw_lines(wal(tmp_path))]
    assert times == sorted(times)
    board.writers.close()


@pytest.mark.spec("TB-701", "TB-705")
def test_a_lease_taken_while_the_clock_was_ahead_ends_after_its_length(tmp_path: Path) -> None:
    clock = FakeClock()
    board = board_on(tmp_path, clock=clock)
    create(board)
    clock.move(timedelta(days=1))
    claim(board, "a", ANN)
    clock.move(timedelta(days=-1))
    board.get("plan", BOSS)
    for _ in range(2):  # A clock that is set back bit by bit makes it no longer either.
        clock.move(LEASE / 2)
        board.get("plan", BOSS)
        clock.move(-LEASE / 4)
        board.get("plan", BOSS)
    assert len(expiries(tmp_path)) == 1
    board.writers.close()
