"""The page of one Task, as a person sees it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from taskloom import CancelTask, CompleteTask, StepStatus, UpdateStep
from taskloom.runtime import Inspection, inspect
from taskloom.view.step_filter import Choice
from taskloom.view.task import draw_task
from tests.view.boards import Stage, change_after_dispatch, diamond, reference_wal, step
from tests.view.golden import as_text, check

GOLDEN = Path(__file__).parent / "golden"
EVERYTHING = Choice()


def draw(seen: Inspection, choice: Choice = EVERYTHING, *, width: int = 100) -> str:
    return as_text(draw_task(seen, choice, seen.view.updated_at), width=width)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_a_diamond_is_drawn_as_a_tree(stage: Stage) -> None:
    check(draw(inspect(diamond(stage))), GOLDEN / "diamond.txt")


@pytest.mark.spec("TB-414", "TB-415")
def test_the_summary_that_the_worker_saw_stands_beside_the_current_one(stage: Stage) -> None:
    path = diamond(stage)
    change_after_dispatch(stage)
    check(draw(inspect(path)), GOLDEN / "changed_after_dispatch.txt")


@pytest.mark.spec("TB-311")
def test_a_stalled_and_a_completeable_task_say_so(stage: Stage) -> None:
    path = stage.create("t", [step("a"), step("b", required=False)])
    assert "stalled" not in draw(inspect(path))
    stage.complete("t", "a")
    assert "completeable: every required step is completed" in draw(inspect(path))
    stage.create("u", [step("a")])
    worker = stage.claim("u", "a", "w")
    failed = StepStatus.FAILED
    stage.send(UpdateStep(task_id="u", step_id="a", status=failed, reason="broke"), worker)
    assert "stalled: nothing can move until the plan is changed" in draw(inspect(stage.wal("u")))


@pytest.mark.spec("TB-209", "TB-123")
def test_an_ended_task_shows_its_outcome(stage: Stage) -> None:
    good = stage.create("good", [step("a"), step("b", required=False)])
    stage.complete("good", "a")
    stage.send(CompleteTask(task_id="good", result_summary="all of it"))
    check(draw(inspect(good)), GOLDEN / "completed.txt")
    bad = stage.create("bad", [step("a")])
    stage.send(CancelTask(task_id="bad", reason="not wanted"))
    assert "reason: not wanted" in draw(inspect(bad))


@pytest.mark.spec("TB-122", "TB-123")
def test_a_log_of_the_reference_implementation_is_drawn_too(tmp_path: Path) -> None:
    path = reference_wal(tmp_path / "old.wal.jsonl")
    check(draw(inspect(path)), GOLDEN / "reference.txt")


@pytest.mark.spec("TB-123")
def test_a_task_is_drawn_as_it_was_at_any_line(stage: Stage) -> None:
    path = diamond(stage)
    pages = [draw(inspect(path, at=at)) for at in range(1, 12)]
    assert len(set(pages)) == 11
    assert "as it was at seq 5 of 11" in pages[4]
    check(pages[6], GOLDEN / "diamond_at_7.txt")


def test_a_narrow_terminal_cuts_lines_and_never_wraps_the_tree(stage: Stage) -> None:
    drawn = draw(inspect(diamond(stage)), width=40)
    assert max(map(len, drawn.splitlines())) <= 40
    check(drawn, GOLDEN / "diamond_narrow.txt")


def test_a_big_board_shows_what_matters_first_and_says_how_to_see_more(stage: Stage) -> None:
    path = stage.create("big", [step("first"), *(step(f"s{n}", "first") for n in range(400))])
    seen = inspect(path)
    lines = draw(seen).splitlines()
    assert len(lines) < 120
    assert lines[5].split() == ["○", "first", "ready", "Do", "first"]
    assert "301 more steps: --all shows them as a tree" in lines[-1]
    assert len(draw(seen, Choice(everything=True)).splitlines()) > 400


def test_steps_are_chosen_by_status_and_pool(stage: Stage) -> None:
    seen = inspect(diamond(stage))
    drawn = draw(seen, Choice(statuses={StepStatus.BLOCKED}))
    assert "reason: no key" in drawn
    assert "Do d" not in drawn
    assert "Do a" not in draw(seen, Choice(pool="other"))
    narrowed = Choice(statuses={StepStatus.BLOCKED}).narrow(seen)
    assert [each.step_id for each in narrowed.view.steps] == ["c"]
    assert narrowed.view.counts == seen.view.counts


def test_a_lease_that_is_over_is_shown_as_held_until_somebody_takes_it_back(stage: Stage) -> None:
    seen = inspect(diamond(stage))
    later = datetime(2026, 1, 1, 1, tzinfo=UTC)
    assert "by ann, lease over for 54m" in as_text(draw_task(seen, EVERYTHING, later))
