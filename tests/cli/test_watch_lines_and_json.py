"""A run without a terminal: plain lines, JSON, and readers that close the pipe."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from taskloom.board import StepStatus
from tests.cli.run_taskloom import environment
from tests.cli.test_watch_screen import statuses

pytestmark = pytest.mark.slow

TIMEOUT_S = 60


def start(kind: str, project: Path) -> tuple["subprocess.Popen[str]", int]:
    reading, control = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.cli.scripted_run", kind, str(project), "a b c:a,b"],
        cwd=Path(__file__).parents[2],
        env=environment(CONTROL_FD=str(reading)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=[reading],
    )
    os.close(reading)
    return process, control


def run(kind: str, project: Path, commands: str) -> tuple[str, str]:
    """Run to the end with these commands; return what was written."""
    process, control = start(kind, project)
    os.write(control, commands.encode())
    out, err = process.communicate(timeout=TIMEOUT_S)
    os.close(control)
    assert process.returncode == 0, err
    return out, err


def test_plain_lines_show_the_events_with_control_characters_escaped(tmp_path: Path) -> None:
    out, err = run("auto", tmp_path, "say a \\x1b[31mred\nask a rm x\nfail a\ngo b\ngo a\ngo c\n")
    assert "\x1b" not in out
    lines = [line.partition(" ")[2] if line[:1].isdigit() else line for line in out.splitlines()]
    assert lines[0] == "session s1: Tidy up the parser"
    assert lines[1:3] == ["orchestrator: I will plan it.", "Task tidy created: Tidy up (3 steps)"]
    order = [
        "a claimed by ann",
        "a failed: worker_failed; ValueError: a broke",
        "a reopened",
        "a completed: did a",
        "c completed: did c",
        "Task tidy completed: tidied",
        "orchestrator: All is tidy.",
        "  The parser has no dead code.",
    ]
    assert [line for line in lines if line in order or line.startswith(order[1])] == [
        order[0], order[1], order[2], order[0], *order[3:],
    ]  # fmt: skip  # ann claims it again
    assert err == "ended: completed False\n"


def test_json_is_one_object_per_line_and_the_result_is_last(tmp_path: Path) -> None:
    out, _ = run("json", tmp_path, "say a hello\ngo a\ngo b\ngo c\n")
    lines: list[dict[str, Any]] = [json.loads(line) for line in out.splitlines()]
    assert lines[0]["type"] == "session"
    assert (lines[0]["session_id"], lines[0]["goal"], lines[0]["version"]) == (
        "s1", "Tidy up the parser", 1,
    )  # fmt: skip  # three fields
    result = lines[-1]
    assert result["type"] == "result"
    assert result["stop_reason"] == "completed"
    assert result["text"] == "All is tidy.\nThe parser has no dead code."
    assert result["resume"].startswith("taskloom run --resume s1 --project ")
    happened = [line for line in lines if line["type"] == "event"]
    seqs = [line["wal_seq"] for line in happened if line["wal_seq"]]
    assert seqs == list(range(1, len(seqs) + 1)), "every change, in the log's order"
    assert happened[-1]["event_type"] == "task_completed"
    words = [line for line in lines if line["type"] == "output"]
    assert {"started a", "hello", "started c"} <= {line["text"] for line in words}
    calls = [line["tool"] for line in lines if line["type"] == "tool_call"]
    assert calls[0] == "agent.task_create"
    assert all(line["run_id"] == "orchestrator" for line in lines if line["type"] == "reply")
    text = "".join(line["text"] for line in lines if line["type"] == "delta")
    assert text.startswith("I will plan it.")


@pytest.mark.parametrize("kind", ["lines", "json"])
def test_a_reader_that_closes_the_pipe_ends_the_run_and_loses_nothing(
    tmp_path: Path, kind: str
) -> None:
    process, control = start(kind, tmp_path)
    assert process.stdout is not None
    assert process.stderr is not None
    while "claimed" not in process.stdout.readline():
        pass
    os.write(control, b"go a\n")
    while "did a" not in process.stdout.readline():
        pass
    process.stdout.close()
    os.write(control, b"say b anybody?\n")
    os.write(control, b"go b\n")
    assert process.wait(TIMEOUT_S) in (0, 141)
    assert "ended: cancelled True" in process.stderr.read()
    process.stderr.close()
    os.close(control)
    found = statuses(tmp_path)
    assert found["a"] is StepStatus.COMPLETED
    assert found["c"] in (StepStatus.READY, StepStatus.PENDING)


def test_a_session_that_has_ended_prints_its_answer_again(tmp_path: Path) -> None:
    run("lines", tmp_path, "go a\ngo b\ngo c\n")
    out, _ = run("lines", tmp_path, "")
    assert out.splitlines()[-2:] == ["All is tidy.", "The parser has no dead code."]


def test_lines_and_json_need_no_extra(tmp_path: Path) -> None:
    code = "import sys; sys.modules['rich'] = None; from taskloom.cli.watch import new_watcher; "
    code += "new_watcher('lines'); new_watcher('json'); print('fine')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=TIMEOUT_S
    )
    assert done.stdout == "fine\n"
