"""The page of one Task, as a person sees it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from taskloom import StepStatus
from taskloom.board import CancelTask, CompleteTask, UpdateStep
from taskloom.runtime import Inspection, inspect
from taskloom.view.step_filter import StepFilter
from taskloom.view.task import draw_task
from tests.view.golden import as_text, check
from tests.view.sample_boards import (
    SampleBoard,
    change_after_dispatch,
    diamond,
    reference_wal,
    step,
)

GOLDEN = Path(__file__).parent / "golden"
NO_FILTER = StepFilter()


def draw(inspection: Inspection, step_filter: StepFilter = NO_FILTER, *, width: int = 100) -> str:
    return as_text(draw_task(inspection, step_filter, inspection.view.updated_at), width=width)


@pytest.fixture
def sample(tmp_path: Path) -> SampleBoard:
    return SampleBoard(tmp_path)


def test_a_diamond_is_drawn_as_a_tree(sample: SampleBoard) -> None:
    check(draw(inspect(diamond(sample))), GOLDEN / "diamond.txt")


@pytest.mark.spec("TB-414", "TB-415")
def test_the_summary_at_dispatch_is_beside_the_current_one(sample: SampleBoard) -> None:
    path = diamond(sample)
    change_after_dispatch(sample)
    check(draw(inspect(path)), GOLDEN / "changed_after_dispatch.txt")


@pytest.mark.spec("TB-311")
def test_a_stalled_and_a_completeable_task_say_so(sample: SampleBoard) -> None:
    path = sample.create("t", [step("a"), step("b", required=False)])
    assert "stalled" not in draw(inspect(path))
    sample.complete("t", "a")
    assert "completeable: every required step is completed" in draw(inspect(path))
    sample.create("u", [step("a")])
    worker = sample.claim("u", "a", "w")
    failed = StepStatus.FAILED
    sample.send(UpdateStep(task_id="u", step_id="a", status=failed, reason="broke"), worker)
    assert "stalled: no step can run until the plan changes" in draw(inspect(sample.wal("u")))


@pytest.mark.spec("TB-209", "TB-123")
def test_an_ended_task_shows_its_outcome(sample: SampleBoard) -> None:
    good = sample.create("good", [step("a"), step("b", required=False)])
    sample.complete("good", "a")
    sample.send(CompleteTask(task_id="good", result_summary="all of it"))
    check(draw(inspect(good)), GOLDEN / "completed.txt")
    bad = sample.create("bad", [step("a")])
    sample.send(CancelTask(task_id="bad", reason="not wanted"))
    assert "reason: not wanted" in draw(inspect(bad))


@pytest.mark.spec("TB-122", "TB-123")
def test_a_reference_log_is_drawn(tmp_path: Path) -> None:
    path = reference_wal(tmp_path / "old.wal.jsonl")
    check(draw(inspect(path)), GOLDEN / "reference.txt")


@pytest.mark.spec("TB-123")
def test_a_task_is_drawn_as_it_was_at_any_line(sample: SampleBoard) -> None:
    path = diamond(sample)
    pages = [draw(inspect(path, at=at)) for at in range(1, 12)]
    assert len(set(pages)) == 11
    assert "as it was at seq 5 of 11" in pages[4]
    check(pages[6], GOLDEN / "diamond_at_7.txt")


def test_a_narrow_terminal_cuts_lines_and_never_wraps_the_tree(sample: SampleBoard) -> None:
    drawn = draw(inspect(diamond(sample)), width=40)
    assert max(map(len, drawn.splitlines())) <= 40
    check(drawn, GOLDEN / "diamond_narrow.txt")


def test_a_big_task_shows_urgent_steps_first_and_says_how_to_see_more(sample: SampleBoard) -> None:
    path = sample.create("big", [step("first"), *(step(f"s{n}", "first") for n in range(400))])
    inspection = inspect(path)
    lines = draw(inspection).splitlines()
    assert len(lines) < 120
    assert lines[5].split() == ["○", "first", "ready", "Do", "first"]
    assert "301 more steps: --all shows the whole tree" in lines[-1]
    assert len(draw(inspection, StepFilter(show_all=True)).splitlines()) > 400


def test_steps_are_filtered_by_status_and_pool(sample: SampleBoard) -> None:
    inspection = inspect(diamond(sample))
    drawn = draw(inspection, StepFilter(statuses={StepStatus.BLOCKED}))
    assert "reason: no key" in drawn
    assert "Do d" not in drawn
    assert "Do a" not in draw(inspection, StepFilter(pool="other"))
    filtered = StepFilter(statuses={StepStatus.BLOCKED}).apply(inspection)
    assert [each.step_id for each in filtered.view.steps] == ["c"]
    assert filtered.view.counts == inspection.view.counts


def test_an_expired_lease_is_shown_until_it_is_released(
    sample: SampleBoard,
) -> None:
    inspection = inspect(diamond(sample))
    later = datetime(2026, 1, 1, 1, tzinfo=UTC)
    assert "by ann, lease expired 54m" in as_text(draw_task(inspection, NO_FILTER, later))
