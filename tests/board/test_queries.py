"""Questions about steps: what is left out, what a worker sees, and pages."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import pytest

from taskloom.board import (
    Actor,
    FailTask,
    QuerySteps,
    Scope,
    Step,
    StepPage,
    StepStatus,
    query_steps,
    view_task,
)
from taskloom.board.state.index import Index
from taskloom.errors import Code, RefusedError
from tests.board.task_driver import ANN, BOB, BOSS, TASK, TaskDriver, given, step, worker

_S = StepStatus


def ask(driver: TaskDriver, actor: Actor = BOSS, **query: object) -> StepPage:
    return query_steps(driver.task, QuerySteps(task_id=TASK, **query), actor)  # pyright: ignore[reportArgumentType]  # wrong types are sent too


def ids(page: StepPage) -> list[str]:
    return [each.step_id for each in page.steps]


def board() -> TaskDriver:
    """z done, y failed, x cancelled, then c claimed by ann, b ready in pool art, a waiting."""
    driver = given(
        *(step(name) for name in "zyxc"), step("b", worker_pool_id="art"), step("a", "c")
    ).complete("z")
    driver.set("y", "failed", reason="No")
    driver.update({"op": "cancel_step", "step_id": "x"})
    driver.claim("c", ANN)
    return driver


@pytest.mark.spec("TB-607")
def test_steps_that_are_over_are_left_out_unless_asked_for() -> None:
    driver = board()
    assert ids(ask(driver)) == ["c", "b", "a"]
    assert ids(ask(driver, include_terminal_steps=True)) == ["z", "y", "x", "c", "b", "a"]
    assert ids(ask(driver, statuses=[_S.COMPLETED, _S.READY])) == ["z", "b"]


@pytest.mark.spec("TB-607")
@pytest.mark.parametrize("statuses", [["failed"], {_S.FAILED}, ("failed", "failed")])
def test_statuses_may_come_in_any_collection(statuses: Collection[str]) -> None:
    assert ids(ask(board(), statuses=statuses)) == ["y"]


@pytest.mark.spec("TB-607", "TB-205")
def test_steps_come_in_order_of_creation_across_pools_and_statuses() -> None:
    driver = given(*(step(f"s{at}", worker_pool_id=f"p{at % 3}") for at in range(9)))
    driver.update({"op": "update_step", "step_id": "s0", "fields": {"worker_pool_id": "p9"}})
    driver.claim("s4", worker("ann-1", pool="p1"))
    assert ids(ask(driver)) == [f"s{at}" for at in range(9)]


@pytest.mark.spec("TB-607")
def test_a_query_by_pool_and_by_holder() -> None:
    driver = board()
    assert ids(ask(driver, worker_pool_id="art")) == ["b"]
    assert ids(ask(driver, claimed_by_agent_id="ann")) == ["c"]
    assert ids(ask(driver, claimed_by_agent_id="bob")) == []


@pytest.mark.spec("TB-607")
def test_pages_follow_each_other_without_gap_or_repeat() -> None:
    driver = given(*(step(f"s{at}") for at in range(120)))
    first = ask(driver)
    assert (len(first.steps), first.has_more) == (50, True)
    pages = [ask(driver, limit=40, offset=at) for at in (0, 40, 80)]
    assert [name for page in pages for name in ids(page)] == list(driver.task.steps)
    assert [page.has_more for page in pages] == [True, True, False]
    assert ids(ask(driver, offset=500)) == []


@pytest.mark.spec("TB-607")
def test_an_ended_task_can_be_asked_and_is_not_changed_by_it() -> None:
    driver = board()
    driver.do(FailTask(task_id=TASK))
    assert ids(ask(driver)) == []
    assert ids(ask(driver, statuses=["failed"])) == ["y", "c", "b", "a"]


@pytest.mark.spec("TB-608")
def test_a_worker_sees_its_pool_within_its_scope_five_at_a_time() -> None:
    driver = given(*(step(f"s{at}") for at in range(8)), step("other", worker_pool_id="art"))
    assert ids(ask(driver, ANN)) == ["s0", "s1", "s2", "s3", "s4"]
    assert ask(driver, ANN).has_more
    assert ids(ask(driver, worker("cat-1", pool="art"))) == ["other"]
    assert ids(ask(driver, worker("cat-1", only=["s6", "other"]))) == ["s6"]
    assert ids(ask(driver, ANN, worker_pool_id="art")) == []
    assert len(ask(driver, ANN, limit=7).steps) == 7


@pytest.mark.spec("TB-608")
def test_a_worker_is_shown_ready_steps_that_it_could_claim() -> None:
    driver = board()
    driver.later()
    driver.expire()
    assert ids(ask(driver, BOB, statuses=["ready"])) == ["c"]
    driver.claim("c", BOB)
    assert ids(ask(driver, BOB, statuses=["ready"])) == []


WRONG: list[tuple[str, object]] = [
    ("$.limit", 0),
    ("$.limit", -1),
    ("$.limit", "5"),
    ("$.limit", True),
    ("$.limit", 10**9),
    ("$.offset", -1),
    ("$.offset", None),
    ("$.statuses", []),
    ("$.statuses", "ready"),
    ("$.statuses", 5),
    ("$.statuses[0]", ["done"]),
    ("$.statuses[1]", ["ready", 7]),
    ("$.worker_pool_id", "No Pool"),
    ("$.worker_pool_id", 3),
    ("$.include_terminal_steps", "yes"),
]


@pytest.mark.spec("TB-607")
@pytest.mark.parametrize(("path", "value"), WRONG)
def test_a_wrong_question_is_refused_with_its_path(path: str, value: object) -> None:
    name = path.removeprefix("$.").partition("[")[0]
    with pytest.raises(RefusedError) as caught:
        ask(board(), BOSS, **{name: value})
    assert caught.value.code is Code.VALIDATION_ERROR
    assert caught.value.details["path"] == path


@pytest.mark.spec("TB-603")
def test_a_task_is_shown_with_or_without_the_steps_that_are_over() -> None:
    task = board().task
    whole = view_task(task, "")
    assert [each.step_id for each in whole.steps] == ["z", "y", "x", "c", "b", "a"]
    short = view_task(task, "", include_terminal_steps=False)
    assert [each.step_id for each in short.steps] == ["c", "b", "a"]
    assert short.counts == whole.counts
    assert whole.step("b").worker_pool_id == "art"
    with pytest.raises(KeyError):
        short.step("z")


class CountingIndex(Index):
    """An index that counts the steps it is asked to look at."""

    looked_at = 0

    def walk(
        self,
        pools: Collection[str] | None,
        statuses: Collection[_S],
        keep: Callable[[str], bool],
    ) -> Iterator[str]:
        def count(step_id: str) -> bool:
            self.looked_at += 1
            return keep(step_id)

        return super().walk(pools, statuses, count)


class CountingSteps(dict[str, Step]):
    """Steps that count how often one of them is fetched, or all of them."""

    fetched = 0

    def __getitem__(self, step_id: str) -> Step:
        self.fetched += 1
        return super().__getitem__(step_id)

    def __iter__(self) -> Iterator[str]:
        self.fetched += len(self)
        return super().__iter__()


@pytest.mark.spec("TB-609")
def test_a_query_within_named_steps_looks_at_those_alone() -> None:
    driver = given(*(step(f"s{at}") for at in range(20_000)))
    index = driver.task.live_index = CountingIndex(driver.task.steps.values())
    steps = driver.task.steps = CountingSteps(driver.task.steps)
    named = worker("ann-1", only=["s19999", "s7", "s12345", "not-there"])
    assert ids(ask(driver, named)) == ["s7", "s12345", "s19999"]
    assert ids(ask(driver, named, limit=2, offset=1)) == ["s12345", "s19999"]
    assert index.looked_at + steps.fetched <= 30
    assert ids(ask(driver, limit=1)) == ["s0"]
    assert index.looked_at == 2  # The counting does count.


@pytest.mark.spec("TB-609")
@pytest.mark.parametrize("make", [list, tuple, set, frozenset])
def test_named_steps_may_come_in_any_collection_and_repeats_are_folded(
    make: Callable[[Iterable[str]], Any],
) -> None:
    scope = Scope(task_id=TASK, worker_pool_id="default", allowed_step_ids=make(["b", "a", "b"]))
    assert scope.allowed_step_ids == frozenset({"a", "b"})
    assert isinstance(scope.allowed_step_ids, frozenset)
    assert scope.allows("a")
    assert not scope.allows("c")


@pytest.mark.spec("TB-609")
@pytest.mark.parametrize("wrong", ["build", "", [], (), set[str]()])
def test_named_steps_that_are_none_or_one_text_are_refused(wrong: Any) -> None:  # noqa: ANN401  # wrong types are sent too
    with pytest.raises(RefusedError) as caught:
        Scope(task_id=TASK, worker_pool_id="default", allowed_step_ids=wrong)
    assert caught.value.code is Code.VALIDATION_ERROR
    assert caught.value.details["path"] == "$.allowed_step_ids"
