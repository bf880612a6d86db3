"""Claimers in processes of their own: races, a kill in the block, and being woken from outside."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from taskloom.board import EventType, Rules, StepStatus
from taskloom.runtime import open_board_sync, step
from taskloom.runtime.follow import LOOK_S
from tests.library import claimer
from tests.library.boards import LONG_S, TWINS, open_twin
from tests.library.claimer import LEASE

STEPS = 80


@contextmanager
def started(project: Path, *words: str) -> Generator["subprocess.Popen[str]"]:
    """A claimer that is ended with the test at the latest."""
    with subprocess.Popen(
        [sys.executable, str(Path(claimer.__file__)), str(project), *words],
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def told(child: "subprocess.Popen[str]") -> Any:  # noqa: ANN401 - whatever it prints
    assert child.stdout is not None
    line = child.stdout.readline()
    assert line, "it ended without a word"
    return json.loads(line)


@pytest.mark.slow
@pytest.mark.spec("LB-201", "LB-203", "LB-101", "TB-121")
def test_many_claimers_in_processes_do_each_step_once(tmp_path: Path) -> None:
    """Chains, so that all of them wait for each other all the time."""
    plan = [step(f"s{n}", "S", after=[f"s{n - 8}"] if n >= 8 else []) for n in range(STEPS)]
    with open_board_sync(tmp_path, session="s1", rules=Rules(lease=LEASE)) as board:
        task = board.create_task("plan", "P", plan)
        names = [[f"p{n}w{m}" for m in range(4)] for n in range(4)]
        taken: list[str] = []
        with (
            started(tmp_path, "work", "async", *names[0]) as one,
            started(tmp_path, "work", "async", *names[1]) as two,
            started(tmp_path, "work", "blocking", *names[2]) as three,
            started(tmp_path, "work", "blocking", *names[3]) as four,
        ):
            for child in (one, two, three, four):
                taken += told(child)
                assert child.wait(LONG_S) == 0
        assert Counter(taken) == dict.fromkeys((each.step_id for each in plan), 1)
        view = task.view()
        assert {each.attempts for each in view.steps} == {1}
        assert view.counts == {"completed": STEPS}
        task.complete()


@pytest.mark.slow
@pytest.mark.spec("LB-204", "LB-202", "TB-702", "TB-706")
@pytest.mark.parametrize("how", TWINS)
async def test_a_claimer_that_is_killed_in_its_block_gives_the_step_back(
    tmp_path: Path, how: str
) -> None:
    async with open_twin("async", tmp_path, rules=Rules(lease=LEASE)) as board:
        task = await board.create_task("plan", "P", [step("a", "A"), step("b", "B", after=["a"])])
        with anyio.fail_after(LONG_S), started(tmp_path, "hold", how, "ann") as child:
            assert await anyio.to_thread.run_sync(told, child) == "a"
            async for record in task.follow():
                if record.event_type is EventType.STEP_UPDATED:
                    break  # Its lease was renewed: it lives.
            assert await task.claim_next(worker="bob") is None
            child.kill()
            claim = await task.claim_next(worker="bob", wait=True)
        assert claim is not None
        assert (claim.step.step_id, claim.attempt) == ("a", 2)
        await claim.complete("by bob")
        assert (await task.view()).step("a").status is StepStatus.COMPLETED


@pytest.mark.spec("LB-202")
@pytest.mark.parametrize("how", TWINS)
@pytest.mark.parametrize("change", ["complete", "cancel", "fail"])
def test_a_waiting_claimer_is_woken_by_another_process(
    tmp_path: Path, how: str, change: str, figure: Callable[[str], None]
) -> None:
    assert LOOK_S <= 0.1, "half of the 200 ms in which it must wake"
    with open_board_sync(tmp_path, session="s1") as board:
        task = board.create_task("plan", "P", [step("a", "A"), step("b", "B", after=["a"])])
        claim = task.claim("a", worker="ann")
        with started(tmp_path, "wait", how, "bob") as child:
            assert told(child) == "waiting"
            {"complete": claim.complete, "fail": claim.fail, "cancel": task.cancel}[change]("so")
            name, at_s = told(child)
        assert name == ("b" if change == "complete" else None)
        if name is not None:
            wrote_s = task.view().step("a").updated_at.timestamp()
            figure(f"{how}: woken after {(at_s - wrote_s) * 1000:.0f} ms")
