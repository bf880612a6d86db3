"""The stories beside this file, acted out on the board and compared line by line.

`TASKLOOM_REWRITE=1 pytest tests/scenarios` writes the answers anew; read the difference.
"""

import os
from pathlib import Path

import pytest

from tests.scenarios.language import play

STORIES = sorted(Path(__file__).parent.glob("*.txt"))
REWRITE = os.environ.get("TASKLOOM_REWRITE") == "1"


def spec(story: Path) -> list[str]:
    """The IDs that a story says it shows, in a remark `# shows TB-…`."""
    lines = story.read_text(encoding="utf-8").splitlines()
    return [id_ for line in lines if line.startswith("# shows ") for id_ in line.split()[2:]]


@pytest.mark.parametrize(
    "story",
    [pytest.param(each, marks=pytest.mark.spec(*spec(each)), id=each.stem) for each in STORIES],
)
def test_the_story_goes_as_it_is_written(story: Path) -> None:
    written = story.read_text(encoding="utf-8")
    acted = play(written)
    if REWRITE:
        story.write_text(acted, encoding="utf-8")
    assert acted == written or REWRITE


def test_there_are_stories() -> None:
    assert len(STORIES) >= 10


def test_a_story_that_goes_otherwise_is_noticed() -> None:
    story = STORIES[0].read_text(encoding="utf-8")
    assert play(story.replace("task_step_ready", "task_step_red")) != story.replace(
        "task_step_ready", "task_step_red"
    )
