"""The blocking twin: without an event loop, from many threads, with leases renewed and lost."""

import asyncio
import inspect
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from taskloom.board import EventType, StepStatus
from taskloom.errors import Code, RefusedError
from taskloom.log import MemoryLog
from taskloom.runtime import (
    Board,
    Claim,
    SyncBoard,
    SyncClaim,
    SyncTaskHandle,
    TaskHandle,
    open_board,
    open_board_sync,
    step,
)
from taskloom.runtime.handles import LeaseRenewer
from taskloom.runtime.handles.held_step import HeldStep
from taskloom.testing import FakeClock
from tests.library.boards import LONG_S
from tests.library.test_claim_blocks import LEASE_S, SHORT


@pytest.fixture
def board(tmp_path: Path) -> SyncBoard:
    return open_board_sync(tmp_path, session="s1", log=MemoryLog(), rules=SHORT, clock=FakeClock())


def public(kind: type) -> dict[str, list[str] | None]:
    """The public names of a class, and what its methods take."""
    found: dict[str, list[str] | None] = {}
    for name in dir(kind):
        value = getattr(kind, name)
        if not name.startswith("_"):
            taken = inspect.signature(value).parameters if callable(value) else None
            found[name] = None if taken is None else [str(each) for each in taken.values()]
    return found


@pytest.mark.spec("LB-101")
@pytest.mark.parametrize(
    ("one", "other"), [(Board, SyncBoard), (TaskHandle, SyncTaskHandle), (Claim, SyncClaim)]
)
def test_the_twins_have_the_same_methods_with_the_same_parameters(one: type, other: type) -> None:
    ours, theirs = public(one), public(other)
    assert {name.replace("aclose", "close") for name in ours} == theirs.keys()
    for name, taken in ours.items():
        assert theirs[name.replace("aclose", "close")] == taken, name
    opened = (inspect.signature(call).parameters for call in (open_board, open_board_sync))
    assert next(opened) == next(opened)


@pytest.mark.spec("LB-101")
def test_no_event_loop_is_made_or_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise AssertionError("an event loop")

    monkeypatch.setattr(asyncio, "new_event_loop", refuse)
    monkeypatch.setattr(asyncio.events, "new_event_loop", refuse)
    with open_board_sync(tmp_path, session="s1") as board:
        task = board.create_task("plan", "P", [step("a", "A"), step("b", "B", after=["a"])])
        for claim in task.claims(worker="ann"):
            with claim:
                claim.progress("half")
                claim.complete("done", data=dict.fromkeys(claim.inputs))
        task.complete("all")
        assert task.wait().step("b").result_data == {"a": None}
        assert [record.event_type for record in task.follow()][-1] is EventType.TASK_COMPLETED


@pytest.mark.spec("LB-101", "LB-203")
def test_threads_share_a_board_and_do_each_step_once(tmp_path: Path) -> None:
    plan = [step(f"s{n}", "S", after=[f"s{n - 5}"] if n >= 5 else []) for n in range(60)]
    with open_board_sync(tmp_path, session="s1") as board, ThreadPoolExecutor(12) as pool:
        task = board.create_task("plan", "P", plan)

        def work(name: str) -> list[str]:
            taken: list[str] = []
            for claim in board.task("plan").claims(worker=name):
                with claim:
                    taken.append(claim.step.step_id)
                    claim.complete(name)
            return taken

        ended = pool.submit(task.wait)
        taken = [each for many in pool.map(work, [f"w{n}" for n in range(10)]) for each in many]
        assert Counter(taken) == dict.fromkeys((each.step_id for each in plan), 1)
        task.complete("all")
        assert ended.result(LONG_S).result_summary == "all"


@pytest.mark.spec("LB-204", "TB-620")
@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupted_block_fails_the_step_as_cancelled(
    board: SyncBoard, interrupt: type[BaseException]
) -> None:
    task = board.create_task("plan", "P", [step("a", "A")])
    claim = task.claim("a", worker="ann")
    with pytest.raises(interrupt), claim:
        raise interrupt
    failed = task.view().step("a")
    assert (failed.status, failed.reason) == (StepStatus.FAILED, "worker_cancelled")


class NotingRenewer(LeaseRenewer):
    """Notes when a claim was told that its lease is lost."""

    def __init__(self, board: SyncBoard) -> None:
        super().__init__(board.send, board.rules.lease)
        self.lost = Event()

    def start(self, held: HeldStep, lost: Callable[[RefusedError], None]) -> Callable[[], None]:
        def noting(error: RefusedError) -> None:
            lost(error)
            self.lost.set()

        return super().start(held, noting)


@pytest.mark.spec("LB-204", "TB-703")
@pytest.mark.parametrize("call", [True, False], ids=["at the next call", "at the end"])
def test_a_lost_lease_is_raised_at_the_next_call_or_at_the_end(
    board: SyncBoard,
    call: bool,
) -> None:
    clock = board.clock
    assert isinstance(clock, FakeClock)
    renewer = board.lease_renewer = NotingRenewer(board)
    task = board.create_task("plan", "P", [step("a", "A")])
    claim, reached = task.claim("a", worker="ann"), list[str]()

    def body() -> None:
        with claim:
            clock.move(LEASE_S)
            assert renewer.lost.wait(LONG_S)
            if call:
                claim.complete("late")
            reached.append("the end")

    with pytest.raises(RefusedError) as caught:
        body()
    assert caught.value.code is Code.LEASE_LOST
    assert reached == ([] if call else ["the end"])
    assert task.view().step("a").status is StepStatus.READY


@pytest.mark.spec("LB-204")
def test_a_renewal_refused_after_the_report_is_no_loss(board: SyncBoard) -> None:
    renewer = board.lease_renewer = NotingRenewer(board)
    task = board.create_task("plan", "P", [step("a", "A")])
    with task.claim("a", worker="ann") as claim:
        claim.complete("done")
        assert renewer.lost.wait(LONG_S), "the next renewal finds the step completed"
    assert task.view().step("a").result_summary == "done"
