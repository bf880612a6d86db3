"""An answer of no: it waits for what it rests on, and leaves the turn to the others."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

import anyio
import msgspec
import pytest

import taskloom.runtime.task_writer as writer_module
from taskloom import Board, RefusedError, StepStatus, StorageError, SyncBoard, TaskloomError
from taskloom.board import (
    DEFAULT_RULES,
    Actor,
    ClaimStep,
    QuerySteps,
    Receipt,
    Role,
    Scope,
    UpdateBoard,
    UpdateStep,
)
from taskloom.errors import Code
from taskloom.log import JsonlLog
from taskloom.runtime import TaskWriters, session_dir
from taskloom.runtime.task_writer import PendingAnswer
from taskloom.runtime.write_lock import WouldBlockError
from taskloom.testing import FakeClock, Fault, FaultyDisk, MemoryDisk
from tests.crash.known_logs import BOSS, updating, worker
from tests.runtime.boards import ANN, BOB, LONG_S, board_on, claim, create, put, soon, state, wal

PROJECT: Final = Path("/p")
HALF: Final = DEFAULT_RULES.lease / 2
CAT: Final = worker("cat-1")
PLAIN: Final = Actor(agent_id="zoe", run_id="zoe-1", session_id="s1", role=Role.MAIN)
ONLY_B: Final = Actor(
    agent_id="dan",
    run_id="dan-1",
    session_id="s1",
    role=Role.WORKER,
    scope=Scope(task_id="plan", worker_pool_id="default", allowed_step_ids=frozenset({"b"})),
)


def with_a_past_lease(disk: MemoryDisk, clock: FakeClock) -> SyncBoard:
    """Step a is held by ann, whose lease is past; step c by cat, whose lease is not."""
    board = board_on(PROJECT, disk=disk, clock=clock)
    create(board)
    claim(board, "a", ANN)
    clock.move(HALF)
    claim(board, "c", CAT)
    clock.move(HALF)
    return board


def kinds(disk: MemoryDisk) -> list[str]:
    lines = disk.content(wal(PROJECT)).splitlines()
    return [cast("dict[str, Any]", msgspec.json.decode(line))["event_type"] for line in lines]


NO: Final[dict[str, tuple[Code, Callable[[SyncBoard], object]]]] = {
    "unknown": (Code.STEP_NOT_FOUND, lambda board: claim(board, "nope", BOB)),
    "taken": (Code.STEP_ALREADY_CLAIMED, lambda board: claim(board, "c", BOB)),
    "out of scope": (Code.PERMISSION_DENIED, lambda board: claim(board, "a", ONLY_B)),
    "bad query": (
        Code.VALIDATION_ERROR,
        lambda board: board.query(QuerySteps(task_id="plan", limit=0), BOB),
    ),
}


@pytest.mark.spec("TB-702")
@pytest.mark.parametrize("why", NO)
def test_a_refusal_takes_back_a_past_lease_durably_and_releases_the_write_lock(why: str) -> None:
    disk, clock = MemoryDisk(), FakeClock()
    board = with_a_past_lease(disk, clock)
    code, ask = NO[why]
    with pytest.raises(RefusedError) as caught:
        ask(board)
    assert caught.value.code is code
    assert kinds(disk)[-2:] == ["task_step_lease_expired", "task_step_ready"]
    assert disk.unsynced() == {}
    other = board_on(PROJECT, disk=disk.another_process(), clock=clock)
    assert soon(lambda: claim(other, "a", BOB)).seq == 9
    assert soon(lambda: board.get("plan", BOSS)).step("a").claimed_by_run_id == "bob-1"


async def on_a_loop(disk: MemoryDisk, clock: FakeClock) -> Board:
    log = JsonlLog(session_dir(PROJECT, "s1"), disk=disk)
    board = Board(TaskWriters(log, "s1", clock=clock))
    await board.__aenter__()
    return board


@pytest.mark.spec("TB-702")
async def test_a_refusal_on_an_event_loop_releases_the_write_lock_too() -> None:
    disk, clock = MemoryDisk(), FakeClock()
    with_a_past_lease(disk, clock).writers.close()
    clock.move(-HALF)
    board = await on_a_loop(disk, clock)
    clock.move(HALF)
    with pytest.raises(RefusedError):
        await board.send(ClaimStep(task_id="plan", step_id="nope"), BOB)
    assert disk.unsynced() == {}
    other = board_on(PROJECT, disk=disk.another_process(), clock=clock)
    assert soon(lambda: claim(other, "a", BOB)).seq == 9
    await board.aclose()


async def test_a_reader_with_a_bug_releases_the_write_lock_too() -> None:
    """Whatever goes wrong after a lease was taken back, nobody is kept waiting for it."""
    disk, clock = MemoryDisk(), FakeClock()
    with_a_past_lease(disk, clock).writers.close()
    clock.move(-HALF)
    board = await on_a_loop(disk, clock)
    clock.move(HALF)
    with pytest.raises(TypeError):
        await board.read("plan", lambda task: task.seq + cast(int, "one"), BOSS)
    other = board_on(PROJECT, disk=disk.another_process(), clock=clock)
    assert soon(lambda: claim(other, "a", BOB)).seq == 9
    await board.aclose()


class BusyDisk(MemoryDisk):
    """A disk during whose syncs something else happens."""

    meanwhile: Callable[[], None] | None = None

    def sync_data(self, fd: int) -> None:
        super().sync_data(fd)
        if self.meanwhile is not None:
            self.meanwhile()


def renaming(title: str = "x") -> UpdateBoard:
    return updating({"op": "update_task", "title": title})


def test_a_refusal_during_the_last_sync_under_the_write_lock_leaves_nobody_waiting() -> None:
    disk, clock = BusyDisk(), FakeClock()
    board = board_on(PROJECT, disk=disk, clock=clock)
    create(board)
    claim(board, "a", ANN)
    writer = board.writers.writer("plan")
    pending_answers: list[PendingAnswer[Receipt]] = []
    refused: list[Code] = []

    def submit(command: object, actor: Actor) -> None:
        pending_answers.append(writer.submit(cast(Any, command), actor))

    def meanwhile() -> None:
        if len(pending_answers) < 4:
            submit(renaming(), BOSS)
        elif len(pending_answers) == 4:  # The fourth sync is the last one of a turn.
            clock.move(2 * HALF)
            submit(ClaimStep(task_id="plan", step_id="nope"), BOB)

    disk.meanwhile = meanwhile
    submit(renaming(), BOSS)
    for pending in pending_answers:  # It grows while the disk is busy.
        writer.commit(pending)
        try:
            assert pending.result()
        except RefusedError as no:
            refused.append(no.code)
    disk.meanwhile = None
    assert refused == [Code.STEP_NOT_FOUND]
    assert soon(lambda: board.get("plan", BOSS)).step("a").status == "ready"
    other = board_on(PROJECT, disk=disk.another_process(), clock=clock)
    assert soon(lambda: other.get("plan", BOSS)).step("a").status == "ready"


@pytest.mark.spec("TB-608")
@pytest.mark.parametrize("actor", [PLAIN, worker("eve-1", "another-task")], ids=["main", "other"])
def test_an_actor_that_may_not_see_a_task_reads_nothing_and_causes_no_write(actor: Actor) -> None:
    disk, clock = MemoryDisk(), FakeClock()
    board = with_a_past_lease(disk, clock)
    before = disk.content(wal(PROJECT))
    asks: list[Callable[[], object]] = [
        lambda: claim(board, "a", actor),
        lambda: claim(board, "nope", actor),
        lambda: board.get("plan", actor),
        lambda: board.query(QuerySteps(task_id="plan"), actor),
    ]
    for ask in asks:
        with pytest.raises(RefusedError) as caught:
            ask()
        assert caught.value.code in (Code.TOOL_NOT_AVAILABLE, Code.PERMISSION_DENIED)
    assert disk.content(wal(PROJECT)) == before
    assert soon(lambda: board.get("plan", BOSS)).step("a").status == "ready"
    added = disk.content(wal(PROJECT)).removeprefix(before)
    assert added.count(b'"actor_run_id":"boss-1"') == added.count(b"\n") == 2


def test_a_refusal_waits_for_the_change_it_rests_on() -> None:
    disk = MemoryDisk()
    board = board_on(PROJECT, disk=disk)
    create(board)
    writer = board.writers.writer("plan")
    won = writer.submit(ClaimStep(task_id="plan", step_id="a"), ANN)
    lost = writer.submit(ClaimStep(task_id="plan", step_id="a"), BOB)
    assert not writer.is_committed(lost)
    writer.commit(lost)
    assert disk.unsynced() == {}
    assert writer.is_committed(won)
    with pytest.raises(RefusedError) as caught:
        assert lost.result()
    assert caught.value.code is Code.STEP_ALREADY_CLAIMED


@pytest.mark.spec("TB-111")
async def test_if_the_change_a_refusal_rests_on_fails_the_refusal_is_not_given() -> None:
    faulty = FaultyDisk(MemoryDisk(), Fault.EIO, at=1, calls=("sync_data",))
    board = Board(TaskWriters(JsonlLog(session_dir(PROJECT, "s1"), disk=faulty), "s1"))
    await anyio.to_thread.run_sync(create, SyncBoard(board.writers))
    take = ClaimStep(task_id="plan", step_id="a")
    with anyio.fail_after(LONG_S):
        answers = await asyncio.gather(
            board.send(take, ANN), board.send(take, BOB), return_exceptions=True
        )
    assert faulty.has_failed
    assert [type(answer) for answer in answers] == [StorageError, StorageError]
    assert (await board.send(take, BOB)).seq == 5
    await board.aclose()


class Stumbling:
    """`evolve` with a bug: it does one event and stumbles over the next."""

    def __init__(self, evolve: Callable[..., None]) -> None:
        self._evolve = evolve
        self._events = 0

    def __call__(self, *given: object) -> None:
        self._events += 1
        if self._events == 2:
            raise KeyError("a bug")
        self._evolve(*given)


COMPLETE_A: Final = UpdateStep(task_id="plan", step_id="a", status=StepStatus.COMPLETED)


def test_a_bug_while_a_change_is_applied_leaves_no_gap_and_no_half_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = MemoryDisk()
    board = board_on(PROJECT, disk=disk)
    create(board)
    before = board.writers.writer("plan").ask(state)
    with monkeypatch.context() as patch:
        patch.setattr(writer_module, "evolve", Stumbling(writer_module.evolve))
        with pytest.raises(TaskloomError) as caught:
            board.send(COMPLETE_A, BOSS)
    assert caught.value.code is Code.INTERNAL_ERROR
    assert soon(lambda: board.writers.writer("plan").ask(state)) == before
    assert soon(lambda: board.send(renaming("after"), BOSS)).seq == 5
    assert put(board, "a", "completed", BOSS).seq == 7
    again = board_on(PROJECT, disk=disk.another_process())
    live = board.writers.writer("plan").ask(state)
    assert again.writers.writer("plan").ask(state) == live
    assert again.get("plan", BOSS).title == "after"


def test_a_bug_takes_what_was_not_durable_with_it_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = MemoryDisk()
    board = board_on(PROJECT, disk=disk)
    create(board)
    writer = board.writers.writer("plan")
    staged = writer.submit(renaming("lost"), BOSS)
    with monkeypatch.context() as patch:
        patch.setattr(writer_module, "evolve", Stumbling(writer_module.evolve))
        with pytest.raises(TaskloomError):
            board.send(COMPLETE_A, BOSS)
    with pytest.raises(TaskloomError) as caught:
        writer.commit(staged)
    assert caught.value.code is Code.INTERNAL_ERROR
    assert soon(lambda: board.get("plan", BOSS)).title == "Plan"
    assert board.send(renaming("kept"), BOSS).seq == 5


def test_a_bug_during_a_sync_spares_what_is_being_synced(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = BusyDisk()
    board = board_on(PROJECT, disk=disk)
    create(board)
    writer = board.writers.writer("plan")
    seen: list[object] = []

    def meanwhile() -> None:
        disk.meanwhile = None
        with monkeypatch.context() as patch:
            patch.setattr(writer_module, "evolve", Stumbling(writer_module.evolve))
            with pytest.raises(TaskloomError) as caught:
                writer.submit(COMPLETE_A, BOSS)
        seen.append(caught.value.code)
        # The state is gone until the sync is over: a caller on an event loop uses a thread.
        with pytest.raises(WouldBlockError):
            writer.submit(renaming("too early"), BOSS, wait=False)

    disk.meanwhile = meanwhile
    assert board.send(renaming("kept"), BOSS).seq == 5
    assert seen == [Code.INTERNAL_ERROR]
    assert soon(lambda: board.get("plan", BOSS)).title == "kept"
    assert soon(lambda: put(board, "a", "completed", BOSS)).seq == 7
    assert board_on(PROJECT, disk=disk.another_process()).get("plan", BOSS).seq == 7
