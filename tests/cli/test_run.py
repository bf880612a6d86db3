"""`taskloom run` and `taskloom sessions`: goals, refusals, resumes, permissions."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from taskloom.session import SessionStore
from tests.app.test_resume import check_events, sample
from tests.cli.run_taskloom import (
    COMMAND,
    TIMEOUT_S,
    ProgramResult,
    environment,
    restore_sigint,
    taskloom,
)

pytestmark = pytest.mark.slow


def test_without_a_model_it_says_what_to_set_and_offers_the_demo(tmp_path: Path) -> None:
    ended = taskloom("run", "do something", cwd=tmp_path, TASKLOOM_MODEL="")
    assert ended.code == 2
    assert "TASKLOOM_MODEL=" in ended.err
    assert "taskloom demo" in ended.err
    assert list(tmp_path.iterdir()) == []


def test_without_a_goal_it_says_how_to_give_one(tmp_path: Path) -> None:
    project = sample(tmp_path / "project", "")
    ended = taskloom("run", cwd=project)
    assert ended.code == 2
    assert "taskloom run --resume" in ended.err


def test_a_goal_is_run_and_its_session_listed(tmp_path: Path) -> None:
    project = sample(tmp_path / "project", "")
    ended = taskloom("run", "Fix", "the", "shop", "--session", "mine", cwd=project)
    assert ended.code == 0, ended.err
    assert "The shop is fixed" in ended.out
    check_events(project, "mine")
    listed = taskloom("sessions", "--json", cwd=project).json()
    assert listed[0]["session_id"] == "mine"
    assert listed[0]["goal"] == "Fix the shop"
    again = taskloom("run", "Fix", "the", "shop", "--session", "mine", cwd=project)
    assert again.code == 2
    assert "--resume mine" in again.err


def test_json_is_an_object_a_line_and_nothing_else(tmp_path: Path) -> None:
    project = sample(tmp_path / "project", "")
    ended = taskloom("run", "Fix it", "--json", cwd=project)
    assert ended.code == 0, ended.err
    assert ended.err == ""
    lines = ended.json_lines()
    assert all(isinstance(line["type"], str) for line in lines)


def test_without_a_terminal_every_question_is_refused_and_yes_allows_all(tmp_path: Path) -> None:
    refused, allowed = sample(tmp_path / "refused", ""), sample(tmp_path / "allowed", "")
    for project in (refused, allowed):
        toml = project / "taskloom.toml"
        text = toml.read_text().replace('"shop/**", "REPORT.md"', "")
        toml.write_text(text.replace("[run.allow]", "[run]\nmax_iterations = 15\n[run.allow]"))
    ended = taskloom("run", "Fix it", cwd=refused)
    assert ended.code == 1  # The tests cannot pass: no worker may fix the shop.
    assert "int(cents" in (refused / "shop" / "prices.py").read_text()
    assert taskloom("run", "Fix it", "--yes", cwd=allowed).code == 0
    assert "round(cents" in (allowed / "shop" / "prices.py").read_text()


def start(project: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, *words],
        cwd=project,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=restore_sigint,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_however_it_is_stopped_the_session_can_be_resumed(
    tmp_path: Path, number: signal.Signals
) -> None:
    project = sample(tmp_path / "project", "")
    (project / "checker.py").write_text(_WAITS)
    process = start(project, "run", "Fix it", "--session", "s1", "--plain")
    assert process.stdout is not None
    for line in process.stdout:
        if b"check claimed by checker" in line:
            process.send_signal(number)
            break
    out, err = process.communicate(timeout=TIMEOUT_S)
    wanted = -number if number is signal.SIGKILL else 130
    assert process.returncode == wanted, (out, err)
    if number is not signal.SIGKILL:
        assert b"--resume s1" in out + err
    (project / "go").touch()
    ended: ProgramResult = taskloom("run", "--resume", "last", cwd=project)
    assert ended.code == 0, ended.err
    check_events(project, "s1")


_WAITS = """
import json, os, sys
json.loads(sys.stdin.readline())
print(json.dumps({"type": "output", "text": "checking"}), flush=True)
if not os.path.exists("go"):
    sys.stdin.read()  # Waits for its host to end.
    sys.exit(1)
print(json.dumps({"type": "result", "text": "All tests pass"}), flush=True)
"""


def test_an_unknown_session_is_refused(tmp_path: Path) -> None:
    project = sample(tmp_path / "project", "")
    ended = taskloom("run", "--resume", "gone", cwd=project)
    assert ended.code == 2
    assert "taskloom sessions" in ended.err


@pytest.mark.parametrize(
    "words",
    [
        ("go", "--session", "last"),
        ("go", "--session", "one", "--resume", "two"),
        ("go", "--state-dir", ".."),
        ("go", "--state-dir", "."),
        ("go", "--state-dir", ""),
        (os.fsdecode(b"go \xff"),),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_written(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "play.json").write_text('["Nothing is to be done."]')
    ended = taskloom("run", *words, cwd=tmp_path, TASKLOOM_MODEL="script:play.json")
    assert ended.code == 2, ended.err
    assert "Traceback" not in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["play.json"]


def test_sessions_are_found_from_a_directory_below(tmp_path: Path) -> None:
    SessionStore(tmp_path).create("mine", goal="Tidy up")
    below = tmp_path / "src"
    below.mkdir()
    assert "mine" in taskloom("sessions", cwd=below).out
    assert taskloom("sessions", "--project", "gone", cwd=below).code == 2


def test_below_a_project_it_says_which_one_it_does_not_use(tmp_path: Path) -> None:
    project = sample(tmp_path / "project", "")
    ended = taskloom("run", "Fix it", cwd=project / "shop", TASKLOOM_MODEL="")
    assert ended.code == 2
    assert f"--project {project}" in ended.err
