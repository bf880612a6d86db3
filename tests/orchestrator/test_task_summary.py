"""The summary of a Task in tool results: within its budget, and what matters first."""

import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from taskloom.board import FailTask
from taskloom.orchestrator.prompt.render import render_task
from tests.board.task_driver import ANN, BOB, TASK, given, step, worker

BUDGET = 4_800

TITLES = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=300).filter(
    lambda text: bool(text.strip())
)


@pytest.mark.spec("TB-618")
@for_all(titles=st.lists(TITLES, min_size=1, max_size=40), budget=st.integers(0, 3_000))
@settings(max_examples=150)
def test_a_summary_never_exceeds_its_budget(titles: list[str], budget: int) -> None:
    driver = given(*(step(f"s{at}", title=title) for at, title in enumerate(titles)))
    assert len(render_task(driver.task, budget).encode()) <= budget


@pytest.mark.spec("TB-618")
def test_a_big_task_is_counted_and_says_how_to_ask_for_the_rest() -> None:
    driver = given(*(step(f"s{at}", title="word " * 50) for at in range(2_000)))

    text = render_task(driver.task, BUDGET)

    assert len(text.encode()) <= BUDGET
    assert "(2000 ready)" in text
    shown = sum(line.startswith("- ") for line in text.splitlines())
    assert shown > 10
    last = text.splitlines()[-1]
    assert f"{2_000 - shown} more" in last
    assert "task_query_steps" in last


@pytest.mark.spec("TB-618")
def test_what_needs_attention_comes_first() -> None:
    names = ("waits", "ready", "failed", "claimed", "running", "blocked", "done")
    driver = given(*map(step, names)).complete("done")
    driver.update({"op": "add_dependency", "step_id": "waits", "depends_on_step_id": "ready"})
    for name, run in (("claimed", ANN), ("running", BOB), ("blocked", worker("cat-1"))):
        driver.claim(name, run)
    driver.set("running", "running", BOB)
    driver.set("blocked", "blocked", worker("cat-1"), reason="Which colour?")
    driver.set("failed", "failed", reason="No paint")

    lines = render_task(driver.task, BUDGET).splitlines()

    order = [line.split()[1] for line in lines if line.startswith("- ")]
    assert order == ["blocked", "running", "claimed", "failed", "ready", "waits"]
    assert "- blocked [blocked] BLOCKED pool default (Which colour?)" in lines
    assert any(line.startswith("- running [running] RUNNING held by bob until") for line in lines)
    assert "- waits [pending] WAITS pool default waits for 1" in lines
    assert "more" not in lines[-1]


@pytest.mark.spec("TB-311", "TB-209")
def test_diagnostics_and_the_outcome_are_in_the_summary() -> None:
    driver = given(step("a"))
    driver.set("a", "failed", reason="No")
    assert "stalled" in render_task(driver.task, BUDGET)
    driver.set("a", "pending")
    driver.complete("a")
    assert "completeable" in render_task(driver.task, BUDGET)
    driver.do(FailTask(task_id=TASK, reason="Out of money"))
    assert "reason: Out of money" in render_task(driver.task, BUDGET)
