"""A DAG as a forest: every step once, the rest by name, whatever the shape."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from taskloom.board import StepStatus, StepView
from taskloom.view.dag_layout import DEPTH_MAX, Row, layout_dag

THEN = datetime(2026, 1, 1, tzinfo=UTC)


def view(step_id: str, *after: str) -> StepView:
    return StepView(
        step_id=step_id,
        title="",
        summary="",
        status=StepStatus.PENDING,
        depends_on_step_ids=after,
        required=True,
        worker_pool_id="default",
        claimed_by_agent_id=None,
        claimed_by_run_id=None,
        lease_expires_at=None,
        result_summary=None,
        reason=None,
        artifact_ids=(),
        created_at=THEN,
        updated_at=THEN,
    )


def rows(*steps: StepView) -> list[tuple[str, int]]:
    return [(row.step.step_id, row.depth) for row in layout_dag(steps)]


def test_a_diamond_ends_under_one_side_and_is_named_under_the_other() -> None:
    steps = [view("a"), view("b", "a"), view("c", "a"), view("d", "b", "c")]
    assert rows(*steps) == [("a", 0), ("b", 1), ("c", 1), ("d", 2)]
    named = {row.step.step_id: row.named for row in layout_dag(steps)}
    assert named == {"a": (), "b": ("d",), "c": (), "d": ()}


def test_a_step_is_under_the_deepest_one_it_depends_on() -> None:
    steps = [view("a"), view("b", "a"), view("c", "b"), view("late"), view("d", "c", "late")]
    assert rows(*steps) == [("a", 0), ("b", 1), ("c", 2), ("d", 3), ("late", 0)]


def test_a_step_may_depend_on_a_later_one() -> None:
    assert rows(view("a", "b"), view("b")) == [("b", 0), ("a", 1)]


def test_an_unknown_dependency_is_no_parent() -> None:
    assert rows(view("a", "gone")) == [("a", 0)]


def test_a_long_chain_needs_no_recursion_and_bounded_indentation() -> None:
    chain = [view("s0"), *(view(f"s{n}", f"s{n - 1}") for n in range(1, 5000))]
    laid = list(layout_dag(chain))
    assert [row.depth for row in laid] == list(range(5000))
    assert max(len(row.lines) for row in laid) <= DEPTH_MAX


@given(st.lists(st.sets(st.integers(0, 30), max_size=4), min_size=1, max_size=31))
def test_every_step_appears_once_below_one_it_depends_on(wanted: list[set[int]]) -> None:
    steps = [
        view(f"s{n}", *(f"s{on}" for on in sorted(above) if on < n))
        for n, above in enumerate(wanted)
    ]
    laid = list(layout_dag(steps))
    assert sorted(row.step.step_id for row in laid) == sorted(step.step_id for step in steps)
    path: list[Row] = []
    for row in laid:
        path = [*path[: row.depth], row]
        above = path[-2].step.step_id if row.depth else None
        assert (above in row.step.depends_on_step_ids) or not row.step.depends_on_step_ids
    named = [(row.step.step_id, other) for row in laid for other in row.named]
    edges = sum(len(step.depends_on_step_ids) for step in steps)
    assert len(named) + sum(row.depth > 0 for row in laid) == edges
