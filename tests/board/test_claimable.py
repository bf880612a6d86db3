"""What a pool's worker can claim, and whether more may come: compared with trying everything."""

from random import Random

import pytest

from taskloom.board import StepStatus, Task, TaskStatus, find_claimable
from tests.board import calls
from tests.board.task_driver import ANN, BOSS, LEASE, TaskDriver, given, setting, step, updating

_S = StepStatus


def may_come(driver: TaskDriver, pool: str) -> bool:
    """Complete whatever moves, again and again, and let every lease run out: does a step come?"""
    probe = TaskDriver.__new__(TaskDriver)
    probe.now, probe.rules, probe.log, probe.task = (
        *(driver.now, driver.rules, list(driver.log)),
        driver.replayed(),
    )
    if probe.task.is_terminal or probe.task.status is TaskStatus.BLOCKED:
        return False
    held = [each for each in probe.task.steps.values() if each.claimed_by_run_id is not None]
    if any(each.worker_pool_id == pool for each in held):
        return True  # Its lease may run out.
    while moving := [each for each in probe.task.steps.values() if _moves(each.status)]:
        if any(each.status is _S.READY and each.worker_pool_id == pool for each in moving):
            return True
        probe.do(setting(moving[0].step_id, "completed"), BOSS)
    return False


def _moves(status: StepStatus) -> bool:
    return status in (_S.READY, _S.CLAIMED, _S.RUNNING)


def first_ready(task: Task, pool: str) -> tuple[str, ...]:
    return tuple(
        each.step_id
        for each in task.steps.values()
        if each.status is _S.READY and each.worker_pool_id == pool
    )


@pytest.mark.spec("LB-201", "LB-202")
def test_what_may_come_is_what_comes_if_all_goes_well() -> None:
    seen = {True: 0, False: 0}
    for seed in range(150):
        random = Random(seed)
        driver = TaskDriver(calls.plan(random.choice, 8))
        for _ in range(25):
            command, actor = random.choice(calls.KINDS)(driver, random.choice)
            try:
                driver.do(command, actor)
            except Exception:  # noqa: BLE001 - a refusal is an answer, too
                continue
            if random.random() < 0.1:
                driver.later(LEASE / 2)
            for pool in ("default", "art"):
                found = find_claimable(driver.task, pool)
                blocked = driver.task.status is TaskStatus.BLOCKED or driver.task.is_terminal
                assert found.ready == (() if blocked else first_ready(driver.task, pool))
                assert found.more_may_come == may_come(driver, pool), (seed, pool)
                seen[found.more_may_come] += 1
    assert min(seen.values()) > 200, seen


@pytest.mark.spec("LB-202")
def test_a_chain_through_other_pools_is_followed_to_its_end() -> None:
    names = [f"s{place}" for place in range(3_000)]
    chain = [
        step(
            name, *names[max(0, place - 1) : place], worker_pool_id="art" if place < 2_999 else "b"
        )
        for place, name in enumerate(names)
    ]
    driver = given(*chain)
    assert find_claimable(driver.task, "b") == ((), True)
    assert find_claimable(driver.task, "nowhere") == ((), False)
    driver.update({"op": "cancel_step", "step_id": "s1500"})
    assert find_claimable(driver.task, "b") == ((), False)


@pytest.mark.spec("LB-201")
def test_no_more_steps_are_returned_than_asked_for() -> None:
    driver = given(*(step(f"s{place}") for place in range(50)))
    assert find_claimable(driver.task, "default", limit=3).ready == ("s0", "s1", "s2")
    driver.claim("s0", ANN)
    driver.do(updating({"op": "cancel_step", "step_id": "s1"}))
    assert find_claimable(driver.task, "default", limit=2).ready == ("s2", "s3")
