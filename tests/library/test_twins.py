"""Any sequence of calls on handles gives the same results on either board."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskloom.board import Rules, StepStatus, TaskStatus
from taskloom.errors import RefusedError
from taskloom.log import MemoryLog
from taskloom.runtime import Board, Claim, open_board, open_board_sync, step
from taskloom.testing import FakeClock
from tests.library.boards import Awaited

RULES = Rules(lease=timedelta(hours=1), title_bytes_max=50)
STEP_IDS = ("a", "b", "c", "d", "nowhere")
POOLS = (None, "art")
PLANS = (
    [step("a", "A"), step("b", "B", after=["a"], pool="art"), step("c", "C", after=["a"])],
    [step("a", "A"), step("b", "B"), step("c", "C", required=False), step("d", "D", after="b")],
    [step("a", "A", after=["b"]), step("b", "B", after=["a"])],
    [step("a", "x" * 51)],
)


class Session:
    """One board and the claims that were made on it."""

    def __init__(self, board: Any, clock: FakeClock) -> None:  # noqa: ANN401 - either twin, or what stands for it
        self.board: Board = board
        self.clock = clock
        self.claims: list[Claim] = []

    async def do(self, name: str, number: int) -> object:
        """Do one thing; return what came of it, without what is made up anew each time."""
        try:
            return _plain(await _CALLS[name](self, number))
        except RefusedError as refused:
            return _plain(refused.as_dict())
        except ZeroDivisionError as error:
            return repr(error)

    async def keep(self, claim: Claim | None) -> object:
        if claim is None:
            return None
        self.claims.append(claim)
        inputs = {name: [each.text, each.data] for name, each in claim.inputs.items()}
        return [claim.step, claim.attempt, claim.fence, inputs]

    def claim(self, number: int) -> Claim | None:
        return self.claims[number % len(self.claims)] if self.claims else None


def _plain(value: object) -> object:
    text = msgspec.json.encode(value).decode()
    return re.sub(r"-[0-9a-f]{16}\b|\"event_prefix\":\"\w+\"", "-#", text)


async def create(on: Session, number: int) -> object:
    task = await on.board.create_task(
        "plan", "P", PLANS[number % len(PLANS)], exist_ok=number % 3 == 0
    )
    return await task.view()


async def claim_next(on: Session, number: int) -> object:
    pool = POOLS[number % 2]
    return await on.keep(await on.board.task("plan").claim_next(worker="ann", pool=pool))


async def claim(on: Session, number: int) -> object:
    name = STEP_IDS[number % len(STEP_IDS)]
    return await on.keep(await on.board.task("plan").claim(name, worker="bob"))


async def report(on: Session, number: int) -> object:
    held = on.claim(number)
    if held is None:
        return None
    calls: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: held.progress("half"),
        lambda: held.complete("done", data={"n": number}, artifacts=["x"]),
        lambda: held.complete("done", data={"n": {1}}),
        lambda: held.fail("broken"),
        lambda: held.block("no key"),
    )
    return await calls[number % len(calls)]()


async def block(on: Session, number: int) -> object:
    held = on.claim(number)
    if held is None:
        return None
    async with held:
        if number % 3 == 0:
            raise ZeroDivisionError("in the block")
        if number % 3 == 1:
            return await held.complete("in the block")
    return "left"


async def change(on: Session, number: int) -> object:
    task, name = on.board.task("plan"), STEP_IDS[number % len(STEP_IDS)]
    calls: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: task.add_step(name, "New", after=["a"], metadata={"n": number}),
        lambda: task.reopen(name, "again"),
        lambda: task.cancel_step(name, "unwanted"),
    )
    return await calls[number % len(calls)]()


async def end(on: Session, number: int) -> object:
    task = on.board.task("plan")
    return await (task.complete, task.fail, task.cancel)[number % 3]("so")


async def look(on: Session, number: int) -> object:
    task = on.board.task("plan")
    status = tuple(StepStatus)[number % len(StepStatus)]
    return [
        await task.view(),
        await task.steps(),
        await task.steps(status),
        await on.board.tasks(),
        await on.board.tasks(tuple(TaskStatus)[number % len(TaskStatus)]),
    ]


async def pass_time(on: Session, number: int) -> object:
    on.clock.move(timedelta(minutes=20 * (number % 4)))
    return None


_CALLS: dict[str, Callable[[Session, int], Awaitable[object]]] = {
    each.__name__: each
    for each in (create, claim_next, claim, report, block, change, end, look, pass_time)
}
CALLS = st.tuples(st.sampled_from([*_CALLS, "claim_next", "report", "block"]), st.integers(0, 59))


async def results(board: Any, clock: FakeClock, calls: list[tuple[str, int]]) -> list[object]:  # noqa: ANN401 - either twin
    async with board:
        on = Session(board, clock)
        return [await on.do("create", 0), *[await on.do(*call) for call in calls]]


@pytest.mark.spec("LB-101")
@settings(max_examples=120)
@given(calls=st.lists(CALLS, max_size=25))
def test_the_twins_give_the_same_results(calls: list[tuple[str, int]]) -> None:
    one, other = FakeClock(), FakeClock()
    place = Path("nowhere")
    ours = open_board(place, session="s1", log=MemoryLog(), rules=RULES, clock=one)
    theirs = open_board_sync(place, session="s1", log=MemoryLog(), rules=RULES, clock=other)
    assert asyncio.run(results(ours, one, calls)) == asyncio.run(
        results(Awaited(theirs), other, calls)
    )
