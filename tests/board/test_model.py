"""Larger plans: the board and the model give the same answers, call by call.

Hypothesis looks for short counter-examples; the seeded walks make many more calls in the time.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from taskloom.board import Actor, Command, Event, decide
from taskloom.board.state.index import Index
from taskloom.errors import RefusedError
from tests.board import calls
from tests.board.exploring.world import fingerprint
from tests.board.model import Model
from tests.board.task_driver import LEASE, TaskDriver, index_facts

T = TypeVar("T")
STEPS_MAX = 30


class Pair:
    """The board and the model, asked the same."""

    def __init__(self, pick: calls.Pick, most: int = STEPS_MAX) -> None:
        command = calls.plan(pick, most)
        self.driver = TaskDriver(command)
        assert self.driver.task.index.facts()  # From here on the index has to follow.
        self.model = Model(command, LEASE)
        self.accepted = 0
        self.compare()

    def ask(self, command: Command, actor: Actor) -> str | None:
        """Ask both; return the code of the refusal they agree on, or None for yes."""
        driver = self.driver
        before = fingerprint(driver.task)
        events: list[Event] = []
        code: str | None = None
        try:
            events = decide(driver.task, command, actor, driver.now)
        except RefusedError as refused:
            code = refused.code.value
        assert fingerprint(driver.task) == before, "asking changes nothing"
        expected = self.model.ask(command, actor, driver.now, driver.task.seq + 1)
        assert code == expected, (command, actor)
        if code is None:
            self.accepted += 1
            driver.write(events)
            self.compare()
        return code

    def compare(self) -> None:
        assert seen(self.driver) == expected(self.model)

    def replay(self) -> None:
        again = self.driver.replayed()
        task, now = self.driver.task, self.driver.now
        assert fingerprint(again) == fingerprint(task)
        fresh = index_facts(Index(again.steps.values()), again.steps, now)
        assert index_facts(task.index, task.steps, now) == fresh


def seen(driver: TaskDriver) -> dict[str, tuple[object, ...]]:
    task = driver.task
    found: dict[str, tuple[object, ...]] = {
        step.step_id: (
            *(step.status.value, step.title, step.summary, step.depends_on_step_ids),
            *(step.required, step.worker_pool_id, step.claimed_by_agent_id),
            *(step.claimed_by_run_id, step.lease_expires_at, step.result_summary),
            *(step.reason, step.artifact_ids, step.updated_after_dispatch),
            *(step.result_data, step.attempts, step.metadata),
        )
        for step in task.steps.values()
    }
    ours = (task.status.value, task.title, task.summary, task.result_summary, task.reason)
    return {**found, "": (*ours, tuple(task.steps), tuple(task.claims.items()))}


def expected(model: Model) -> dict[str, tuple[object, ...]]:
    task = model.task
    found: dict[str, tuple[object, ...]] = {
        name: (
            *(step.status, step.title, step.summary, step.on),
            *(step.required, step.pool, step.agent),
            *(step.run, step.lease, step.result),
            *(step.reason, step.artifacts, step.changed_after_dispatch),
            *(step.data, step.attempts, step.metadata),
        )
        for name, step in task.steps.items()
    }
    ours = (task.status, task.title, task.summary, task.result, task.reason)
    return {**found, "": (*ours, tuple(task.steps), tuple(task.claims.items()))}


class Walk(RuleBasedStateMachine):
    """Any sequence of calls by any role."""

    pair: Pair

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.pair = Pair(picking(data), most=12)

    def call(
        self, make: Callable[[TaskDriver, calls.Pick], calls.Call], data: st.DataObject
    ) -> None:
        self.pair.ask(*make(self.pair.driver, picking(data)))
        self.pair.replay()

    @rule(data=st.data())
    def claim(self, data: st.DataObject) -> None:
        self.call(calls.claim, data)

    @rule(data=st.data())
    def write(self, data: st.DataObject) -> None:
        self.call(calls.write, data)

    @rule(data=st.data())
    def hear_from_a_host(self, data: st.DataObject) -> None:
        self.call(calls.host, data)

    @rule(data=st.data())
    def update(self, data: st.DataObject) -> None:
        self.call(calls.update, data)

    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        self.call(calls.end, data)

    @precondition(lambda self: bool(self.pair.driver.task.claims))
    @rule(data=st.data(), thirds=st.integers(1, 3))
    def pass_time(self, data: st.DataObject, thirds: int) -> None:
        self.pair.driver.later(LEASE * thirds / 3)
        self.call(calls.expire, data)


def picking(data: st.DataObject) -> calls.Pick:
    def pick(choices: Sequence[T], /) -> T:
        return data.draw(st.sampled_from(choices))

    return pick


def look(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        Walk, settings=settings(max_examples=examples, stateful_step_count=steps)
    )


SPEC = pytest.mark.spec(
    *("TB-302", "TB-305", "TB-306", "TB-404", "TB-405", "TB-408", "TB-411", "TB-413", "TB-414"),
    *("TB-417", "TB-604", "TB-610", "TB-615", "TB-616", "TB-620", "TB-622", "TB-702", "TB-707"),
)


@pytest.mark.slow
@SPEC
def test_no_sequence_of_calls_tells_the_board_from_the_model() -> None:
    look(examples=60, steps=50)


@pytest.mark.deep
@SPEC
def test_no_sequence_of_calls_tells_the_board_from_the_model_however_long_one_looks() -> None:
    look(examples=3_000, steps=80)


def walk(seed: int, count: int) -> tuple[int, int]:
    """Make `count` calls; return how many were accepted, and how many steps there were."""
    random = Random(seed)
    pair = Pair(random.choice)
    for number in range(count):
        if random.random() < 0.15:
            pair.driver.later(LEASE * random.choice((0.1, 0.5, 1.0)))
        pair.ask(*random.choice(calls.KINDS)(pair.driver, random.choice))
        if number % 10 == 0:
            pair.replay()
    pair.replay()
    return pair.accepted, len(pair.driver.task.steps)


def walk_all(walks: int, count: int, capsys: pytest.CaptureFixture[str]) -> None:
    results = [walk(seed, count) for seed in range(walks)]
    accepted = sum(result[0] for result in results)
    assert accepted > walks * count / 10, "a walk of refusals shows little"
    with capsys.disabled():
        print(  # noqa: T201  # the figures are asked for
            f"\n  walked {walks:,} times {count} calls against the model, {accepted:,} accepted"
        )


@pytest.mark.slow
@SPEC
def test_seeded_walks_never_tell_the_board_from_the_model(
    capsys: pytest.CaptureFixture[str],
) -> None:
    walk_all(2_000, 50, capsys)


@pytest.mark.deep
@SPEC
def test_many_seeded_walks_never_tell_the_board_from_the_model(
    capsys: pytest.CaptureFixture[str],
) -> None:
    walk_all(50_000, 50, capsys)
