"""A run whose process was killed resumes in a new one: nothing finished is repeated."""

import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("killable_program.py")


def run(directory: Path, kill_at: str, pace: str, kind: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROGRAM), str(directory), kill_at, pace, kind],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def lines(directory: Path, name: str) -> list[int]:
    return [int(line) for line in (directory / name).read_text(encoding="utf-8").split()]


@pytest.mark.slow
@pytest.mark.spec("AG-702")
@pytest.mark.parametrize("pace", ["at_once", "after_a_yield"])
@pytest.mark.parametrize("kill_at", range(6))
def test_killed_inside_a_call_the_run_resumes_and_names_it(
    tmp_path: Path, kill_at: int, pace: str
) -> None:
    killed = run(tmp_path, f"call{kill_at}", pace, "plain")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    done = run(tmp_path, "never", pace, "plain")
    assert done.returncode == 0, done.stderr
    assert lines(tmp_path, "effects") == [0, 1, 2, 3, 4, 5]  # Not even the killed one twice.
    assert lines(tmp_path, "asked") == [0, 1, 2, 3, 4, 5, 6]  # No reply was asked for twice.
    results = done.stdout.strip().split("|")
    assert [n for n, text in enumerate(results) if text != f"did {n}"] == [kill_at]
    assert "outcome is unknown" in results[kill_at]


@pytest.mark.slow
@pytest.mark.spec("AG-702")
@pytest.mark.parametrize("kill_at", [0, 3, 5])
def test_a_killed_call_of_an_idempotent_tool_runs_again(tmp_path: Path, kill_at: int) -> None:
    run(tmp_path, f"call{kill_at}", "at_once", "idempotent")
    done = run(tmp_path, "never", "at_once", "idempotent")
    counts = Counter(lines(tmp_path, "effects"))
    assert counts == {n: 2 if n == kill_at else 1 for n in range(6)}
    assert lines(tmp_path, "asked") == [0, 1, 2, 3, 4, 5, 6]
    assert done.stdout.strip() == "|".join(f"did {n}" for n in range(6))


@pytest.mark.slow
@pytest.mark.spec("AG-701", "AG-702")
@pytest.mark.parametrize("kill_at", [0, 1, 3, 6])
def test_killed_while_the_model_thinks_no_finished_call_is_repeated(
    tmp_path: Path, kill_at: int
) -> None:
    killed = run(tmp_path, f"model{kill_at}", "at_once", "plain")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    done = run(tmp_path, "never", "at_once", "plain")
    assert lines(tmp_path, "effects") == [0, 1, 2, 3, 4, 5]
    assert lines(tmp_path, "asked") == [0, 1, 2, 3, 4, 5, 6]
    assert done.stdout.strip() == "|".join(f"did {n}" for n in range(6))


@pytest.mark.slow
@pytest.mark.spec("AG-702")
def test_a_finished_run_gives_its_result_again_and_does_nothing(tmp_path: Path) -> None:
    first, second = (run(tmp_path, "never", "at_once", "plain") for _ in range(2))
    assert first.stdout == second.stdout != ""
    assert len(lines(tmp_path, "asked")) == 7
    assert len(lines(tmp_path, "effects")) == 6
