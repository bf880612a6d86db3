"""`taskloom demo`: a whole run on a sample project, with a worker killed on the way."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.run_taskloom import (
    COMMAND,
    TIMEOUT_S,
    environment,
    restore_sigint,
    taskloom,
    taskloom_in_terminal,
)

pytestmark = pytest.mark.slow


@pytest.mark.spec("TB-620", "TB-408", "TB-914")
def test_the_killed_workers_step_is_done_again_and_the_project_is_fixed(tmp_path: Path) -> None:
    ended = taskloom("demo", "--json", "--keep", tmp_path / "kept", cwd=tmp_path)
    assert ended.code == 0, ended.err
    *_, verdict = ended.json_lines()
    assert (verdict["succeeded"], verdict["killed"]) == (True, True)
    events = taskloom("board", "log", "fix-the-shop", "--json", cwd=tmp_path / "kept").json_lines()
    check = [event for event in events if event["step_id"] == "check"]
    (failed,) = [event for event in check if event["event_type"] == "task_step_failed"]
    assert failed["payload"]["reason"] == "worker_failed"
    (done,) = [event for event in check if event["event_type"] == "task_step_completed"]
    assert done["actor_run_id"] != failed["actor_run_id"]
    assert events[-1]["event_type"] == "task_completed"
    assert "All tests pass" in (tmp_path / "kept" / "REPORT.md").read_text()
    tests = [sys.executable, "-m", "unittest"]
    assert subprocess.run(tests, cwd=tmp_path / "kept", check=False, timeout=60).returncode == 0


def test_piped_it_prints_plain_lines_and_commands_that_work(tmp_path: Path) -> None:
    ended = taskloom("demo", cwd=tmp_path, TMPDIR=str(tmp_path))
    assert ended.code == 0
    assert "\x1b" not in ended.out
    assert "[demo] killed checker" in ended.out
    assert "All 5 steps are completed, although a worker was killed." in ended.out
    named = re.findall(r"taskloom (board .*)", ended.out)
    assert len(named) == 5
    for words in named:
        assert taskloom(*words.split(), cwd=tmp_path).code == 0


def test_interrupted_it_prints_commands_that_work_and_one_of_them_resumes(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "demo", "--plain", "--keep", "my shop"],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=restore_sigint,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "Task fix-the-shop created:" in line:
                process.send_signal(signal.SIGINT)
                break
        rest, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    for words in re.findall(r"taskloom (board .*)", rest):
        assert taskloom(*shlex.split(words), cwd=tmp_path).code == 0
    (again,) = re.findall(r"taskloom (run --resume .*)", rest)
    ended = taskloom(*shlex.split(again), cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "The shop is fixed" in ended.out


def test_in_a_terminal_the_board_is_drawn_live(tmp_path: Path) -> None:
    ended = taskloom_in_terminal("demo", "--keep", tmp_path / "kept", cwd=tmp_path)
    assert ended.code == 0
    words = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", ended.out)
    assert words.count("Fix the tax") > 5
    assert "All 5 steps are completed" in words


def test_a_directory_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    ended = taskloom("demo", "--keep", ".", cwd=tmp_path)
    assert ended.code == 2
    assert "is not empty" in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_reader_that_closes_the_pipe_ends_it_quietly(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*COMMAND, "demo", "--keep", "kept"],
        cwd=tmp_path,
        env=environment(PYTHONUNBUFFERED="1"),
        stdin=subprocess.DEVNULL,
        stdout=write,
        stderr=subprocess.PIPE,
        timeout=TIMEOUT_S,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")
