"""The host of an Orchestrator is killed at many moments, and its next life ends the plan."""

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("killed_orchestrator.py")
RESULT = (
    "top: did top after []; left: did left after ['top']; right: did right after ['top']; "
    "end: did end after ['left', 'right']"
)
MOMENTS = [
    *(f"before{at}" for at in range(1, 11)),
    *(f"after{at}" for at in (2, 5, 8)),
    *(f"model{at}" for at in (2, 4, 6, 8)),
    *(f"begin{at}" for at in (1, 2, 3)),
    *(f"end{at}" for at in (1, 3, 4)),
]


def play(directory: Path, kill_at: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROGRAM), str(directory), kill_at],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def events(directory: Path) -> list[dict[str, str]]:
    (wal,) = directory.rglob("plan.wal.jsonl")
    return [json.loads(line) for line in wal.read_text("utf-8").splitlines()]


@pytest.mark.slow
@pytest.mark.spec("TB-113", "TB-116", "TB-128", "TB-207", "TB-903")
@pytest.mark.parametrize("kill_at", MOMENTS)
def test_killed_at_any_moment_the_plan_ends_the_same_and_no_step_is_completed_twice(
    tmp_path: Path, kill_at: str
) -> None:
    killed = play(tmp_path, kill_at)
    assert killed.returncode == -signal.SIGKILL, (killed.stdout, killed.stderr)
    again = play(tmp_path, "never")
    assert again.returncode == 0, again.stderr
    assert again.stdout == RESULT
    lines = events(tmp_path)
    completed = Counter(
        line["step_id"] for line in lines if line["event_type"] == "task_step_completed"
    )
    assert completed == {"top": 1, "left": 1, "right": 1, "end": 1}
    kinds = Counter(line["event_type"] for line in lines)
    assert kinds["task_created"] == kinds["task_completed"] == 1
    # Only steps whose worker died with the host were tried again.
    assert kinds["task_step_claimed"] - 4 == kinds["task_step_reopened"]


@pytest.mark.slow
@pytest.mark.spec("TB-116", "TB-128")
def test_killed_again_and_again_the_plan_still_ends(tmp_path: Path) -> None:
    kills = [
        play(tmp_path, at).returncode for at in ("end1", "after3", "before4", "end1", "model2")
    ]
    assert kills.count(-signal.SIGKILL) >= 4
    again = play(tmp_path, "never")
    assert (again.returncode, again.stdout) == (0, RESULT), again.stderr


@pytest.mark.slow
@pytest.mark.spec("TB-116", "TB-408")
@pytest.mark.parametrize("kill_at", ["before1", "after1", "before2", "after2", "before3"])
def test_killed_while_it_takes_back_what_the_dead_host_held_the_plan_still_ends(
    tmp_path: Path, kill_at: str
) -> None:
    assert play(tmp_path, "end3").returncode == -signal.SIGKILL
    assert play(tmp_path, kill_at).returncode == -signal.SIGKILL
    again = play(tmp_path, "never")
    assert (again.returncode, again.stdout) == (0, RESULT), again.stderr
    lines = events(tmp_path)
    done = [line["step_id"] for line in lines if line["event_type"] == "task_step_completed"]
    assert sorted(done) == ["end", "left", "right", "top"]


@pytest.mark.slow
@pytest.mark.spec("TB-207", "TB-907")
def test_a_dispatch_whose_step_was_done_before_the_crash_answers_from_the_board(
    tmp_path: Path,
) -> None:
    # The third sync is that of the first step's completion; nobody was told of it.
    assert play(tmp_path, "after3").returncode == -signal.SIGKILL
    assert play(tmp_path, "never").stdout == RESULT
    said = (tmp_path / "run.jsonl").read_text("utf-8")
    assert '\\"selection_reason\\":\\"recovered\\"' in said
