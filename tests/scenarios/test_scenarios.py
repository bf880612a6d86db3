"""Run the scenarios of this directory on the board and compare them line by line.

`TASKLOOM_REWRITE=1 pytest tests/scenarios` rewrites the answers; review the difference.
"""

import os
from pathlib import Path

import pytest

from tests.scenarios.scenario import run_scenario

SCENARIOS = sorted(Path(__file__).parent.glob("*.txt"))
REWRITE = os.environ.get("TASKLOOM_REWRITE") == "1"


def spec(scenario: Path) -> list[str]:
    """Return the IDs in a scenario's comment `# shows TB-…`."""
    lines = scenario.read_text(encoding="utf-8").splitlines()
    return [id_ for line in lines if line.startswith("# shows ") for id_ in line.split()[2:]]


@pytest.mark.parametrize(
    "scenario",
    [pytest.param(each, marks=pytest.mark.spec(*spec(each)), id=each.stem) for each in SCENARIOS],
)
def test_a_scenario_has_the_written_answers(scenario: Path) -> None:
    written = scenario.read_text(encoding="utf-8")
    actual = run_scenario(written)
    if REWRITE:
        scenario.write_text(actual, encoding="utf-8")
    assert actual == written or REWRITE


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) >= 10


def test_a_scenario_with_other_answers_is_noticed() -> None:
    scenario = SCENARIOS[0].read_text(encoding="utf-8")
    assert run_scenario(scenario.replace("task_step_ready", "task_step_red")) != scenario.replace(
        "task_step_ready", "task_step_red"
    )
