"""What changed between two moments."""

from pathlib import Path

import pytest

from taskloom import AddStep, DeleteStep, UpdateTask
from taskloom.board import UpdateBoard
from taskloom.runtime import inspect
from taskloom.view.compare import compare
from taskloom.view.tables import draw_comparison
from tests.view.golden import as_text, check
from tests.view.sample_boards import SampleBoard, diamond, step

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    sample = SampleBoard(tmp_path)
    found = diamond(sample)
    operations = (
        UpdateTask(title="A better plan"),
        AddStep(step=step("e", "a")),
        DeleteStep(step_id="d"),
    )
    sample.send(UpdateBoard(task_id="diamond", operations=operations))
    return found


@pytest.mark.spec("TB-123")
def test_added_removed_and_changed_steps_are_shown(path: Path) -> None:
    before, after = inspect(path, at=6).view, inspect(path).view
    found = compare(before, after)
    assert [each.step_id for each in found.added] == ["e"]
    assert [each.step_id for each in found.removed] == ["d"]
    assert [each.step_id for each in found.changed] == ["b", "c"]
    assert [(each.field, each.after) for each in found.task] == [("title", "A better plan")]
    check(as_text(draw_comparison(found)), GOLDEN / "comparison.txt")


def test_a_moment_does_not_differ_from_itself_and_backwards_is_the_reverse(path: Path) -> None:
    before, after = inspect(path, at=6).view, inspect(path).view
    assert compare(after, after).is_empty
    assert "nothing changed" in as_text(draw_comparison(compare(after, after)))
    there, back = compare(before, after), compare(after, before)
    assert there.added == back.removed
    assert {c.field: (c.before, c.after) for c in there.changed[0].changes} == {
        c.field: (c.after, c.before) for c in back.changed[0].changes
    }


def test_many_changes_are_cut_and_counted(tmp_path: Path) -> None:
    sample = SampleBoard(tmp_path)
    found = sample.create("big", [step("a"), *(step(f"s{n}", "a") for n in range(300))])
    sample.complete("big", "a")
    drawn = as_text(draw_comparison(compare(inspect(found, at=3).view, inspect(found).view)))
    assert drawn.splitlines()[-1] == "… and 101 more steps; --json has them all"
