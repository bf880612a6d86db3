"""A session whose host is killed at any moment is resumed and comes to the same end."""

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from taskloom.app.sample_project import GOAL, write_sample
from taskloom.session import SessionStore

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("hosted.py")
STEPS = {"survey", "fix-prices", "fix-discounts", "check", "report"}
MOMENTS = 20


def host(project: Path, kill_at: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROGRAM), str(project), str(kill_at)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def sample(project: Path, session_id: str = "s1") -> Path:
    """Write the sample project, its models and programs in no hurry; with a session, or none."""
    write_sample(project)
    script = project / "script.json"
    scripts = json.loads(script.read_text())
    for entries in scripts.values():
        for entry in entries:
            entry.pop("delay_s", None)
    script.write_text(json.dumps(scripts))
    checker = project / "checker.py"
    checker.write_text(checker.read_text().replace("time.sleep(0.8)", ""))
    if session_id:
        SessionStore(project).create(session_id, goal=GOAL)
    return project


def check_events(project: Path, session_id: str) -> None:
    """See that the Task has ended, and every step was completed once and no more."""
    wal = project / ".taskloom" / "tasks" / session_id / "fix-the-shop.wal.jsonl"
    log = [json.loads(line) for line in wal.read_text().splitlines()]
    assert log[-1]["event_type"] == "task_completed"
    done = Counter(e["step_id"] for e in log if e["event_type"] == "task_step_completed")
    assert done == dict.fromkeys(STEPS, 1)


def check_the_end(project: Path, ended: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert ended.returncode == 0, ended.stderr
    told: dict[str, Any] = json.loads(ended.stdout)
    assert told["stop_reason"] == "completed"
    assert told["text"].startswith("The shop is fixed")
    assert told["open"] == []
    check_events(project, "s1")
    assert "All tests pass" in (project / "REPORT.md").read_text()
    return told


def test_the_session_runs_to_its_end(tmp_path: Path) -> None:
    project = sample(tmp_path / "project")
    told = check_the_end(project, host(project, 0))
    assert told["released_steps"] == []
    assert told["syncs"] > 2 * MOMENTS


@pytest.mark.spec("TB-116", "TB-128", "TB-702")
@pytest.mark.parametrize("part", range(4))
def test_killed_at_twenty_moments_it_comes_to_the_same_end(tmp_path: Path, part: int) -> None:
    whole = sample(tmp_path / "whole")
    syncs = check_the_end(whole, host(whole, 0))["syncs"]
    for moment in range(part, MOMENTS, 4):
        kill_at = 1 + moment * (syncs - 1) // MOMENTS
        project = sample(tmp_path / f"killed-{kill_at}")
        killed = host(project, kill_at)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        check_the_end(project, host(project, 0))


@pytest.mark.spec("TB-116", "TB-128")
def test_killed_again_and_again_it_still_comes_to_the_end(tmp_path: Path) -> None:
    project = sample(tmp_path / "project")
    ended = host(project, 9)
    lives = 1
    while ended.returncode == -signal.SIGKILL:
        lives += 1
        assert lives < 60
        ended = host(project, 9 + lives)
    check_the_end(project, ended)
    assert lives > 3


def test_a_second_host_of_the_same_session_is_refused(tmp_path: Path) -> None:
    project = sample(tmp_path / "project")
    with SessionStore(project).open("s1").host_lock():
        refused = host(project, 0)
    assert refused.returncode != 0
    assert "is running in another process" in refused.stderr
