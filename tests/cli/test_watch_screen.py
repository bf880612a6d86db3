"""A run in a real terminal: what the screen shows, and what the keys do."""

import os
import re
import signal
from pathlib import Path
from time import monotonic

import pytest

from taskloom.board import StepStatus
from taskloom.runtime import inspect
from taskloom.session import SessionStore
from tests.cli.pty_terminal import TIMEOUT_S, Terminal
from tests.cli.scripted_run import SESSION

pytestmark = pytest.mark.slow

KEYS = "j/k: select · enter: view output · c: cancel · p: pause · q: quit"


def statuses(project: Path) -> dict[str, StepStatus]:
    """The status of each step, from the log."""
    wal = project / ".taskloom" / "tasks" / SESSION / "tidy.wal.jsonl"
    return {step.step_id: step.status for step in inspect(wal).view.steps}


def finish(terminal: Terminal, *steps: str) -> None:
    for step_id in steps:
        terminal.command(f"go {step_id}")


def test_the_board_is_below_the_events_and_stays_there_at_the_end(tmp_path: Path) -> None:
    with Terminal("auto", tmp_path) as terminal:
        terminal.wait_for("started a", "started b", KEYS)
        rule = max(at for at, line in enumerate(terminal.lines) if line == "─" * 99)
        above, below = terminal.lines[:rule], terminal.lines[rule + 1 :]
        assert above[:2] == ["session s1: Tidy up the parser", "I will plan it."]
        assert above[2].endswith("Task tidy created: Tidy up (3 steps)")
        assert below[0] == "Tidy up the parser  s1"
        assert below[1].startswith("─" * 24 + " 0 of 3 steps")
        assert below[1].endswith("1 pending, 2 running")
        assert below[2] == "● tidy running  Tidy up"
        assert [re.sub(r"\b\d+s", "Ns", line) for line in below[3:10]] == [
            "  ● a    running  ann Ns  started a",
            "  ● b    running  bob Ns  started b",
            "  └ · c  pending  Do c",
            "▸ 0 orchestrator     Ns  ▸ agent.dispatch_worker task_id=tidy instruction=Do it.",
            "  1 ann           a  Ns  started a",
            "  2 bob           b  Ns  started b",
            KEYS,
        ]
        finish(terminal, "a", "b", "c")
        assert terminal.end() == 0
    assert terminal.lines[-9].startswith("━" * 24 + " 3 of 3 steps")
    assert terminal.lines[-8:] == [
        "✓ tidy completed  Tidy up: tidied",
        "  ✓ a    completed  did a",
        "  ✓ b    completed  did b",
        "  └ ✓ c  completed  did c",
        "",
        "All is tidy.",
        "The parser has no dead code.",
        "ended: completed False",
    ]
    assert "c claimed by ann" in terminal.scrollback
    assert KEYS not in terminal.scrollback


def test_a_worker_is_selected_and_its_output_shown(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.wait_for("started a", "started b")
        terminal.press("j")
        terminal.wait_for("▸ 1 ann")
        terminal.press("\x1b[B")
        terminal.wait_for("▸ 2 bob")
        terminal.press("k\r")
        terminal.wait_for("started a", "esc: back", gone="started b")
        for number in range(40):
            terminal.command(f"say a line {number}")
        terminal.wait_for("line 39", gone="line 3\n")
        terminal.press("k" * 20)
        terminal.wait_for("… 20 lines below", "line 19", gone="line 20")
        terminal.command("say a line 40")
        terminal.wait_for("… 21 lines below", "line 19", gone="line 20")
        terminal.press("G")
        terminal.wait_for("line 40")
        terminal.press("\x1b")
        terminal.wait_for("▸ 1 ann", "c: cancel · p")
        terminal.press("2")
        terminal.wait_for("started b", "esc: back")
        finish(terminal, "b")
        terminal.wait_for("(ended)", "started b")
        finish(terminal, "a", "c")
        assert terminal.end() == 0


def test_the_output_of_a_worker_cannot_control_the_terminal(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.wait_for("started a", "started b")
        terminal.command(r"say a \x1b[2J\x1b[31mred\x07\u202eback")
        terminal.wait_for(r"\x1b[2J\x1b[31mred\x07\u202eback")
        terminal.press("1")
        terminal.wait_for(r"\x1b[2J\x1b[31mred\x07\u202eback", "esc: back")
        assert b"\x1b[31m" not in terminal.raw
        assert b"\x1b[2J" not in terminal.raw
        finish(terminal, "a", "b", "c")
        assert terminal.end() == 0


def test_a_worker_is_cancelled_only_after_a_yes(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.wait_for("started a", "started b")
        terminal.press("c")  # The Orchestrator is selected: there is no worker to cancel.
        terminal.press("jc")
        terminal.wait_for("Cancel ann?", "y: yes")
        terminal.press("n")
        terminal.wait_for(KEYS, gone="Cancel ann?")
        terminal.press("c")
        terminal.wait_for("Cancel ann?")
        terminal.press("y")
        terminal.wait_for("ann stopped on a")
        assert statuses(tmp_path)["a"] is StepStatus.FAILED
        finish(terminal, "b")
        terminal.wait_for("a reopened", "a claimed by ann")
        finish(terminal, "a", "c")
        assert terminal.end() == 0
        assert "did a" in terminal.text


def test_while_dispatch_is_paused_no_worker_starts(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.wait_for("started a", "started b")
        terminal.press("p")
        terminal.wait_for("paused: no new workers", "p: resume")
        finish(terminal, "a", "b")
        terminal.wait_for("b completed: did b", "2 of 3 steps", "1 ready")
        assert "c claimed" not in terminal.scrollback
        terminal.press("p")
        terminal.wait_for("c claimed by", gone="paused")
        finish(terminal, "c")
        assert terminal.end() == 0


@pytest.mark.parametrize("how", ["q", "\x03", "TERM", "HUP"])
def test_quitting_loses_nothing_and_the_session_can_be_resumed(tmp_path: Path, how: str) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.wait_for("started a", "started b")
        finish(terminal, "a")
        terminal.wait_for("a completed: did a")
        if len(how) > 1:
            os.kill(terminal.process.pid, signal.Signals[f"SIG{how}"])
        else:
            terminal.press(how)
        assert terminal.end() == 0
        assert "Stopped; nothing is lost. Resume with: taskloom run --resume s1" in terminal.text
        assert "ended: cancelled True" in terminal.text
    assert statuses(tmp_path) == {
        "a": StepStatus.COMPLETED,
        "b": StepStatus.READY,
        "c": StepStatus.PENDING,
    }
    with Terminal("screen", tmp_path) as again:
        again.wait_for("started b", "1 of 3 steps")
        finish(again, "b", "c")
        assert again.end() == 0
        assert "All is tidy." in again.text
    assert set(statuses(tmp_path).values()) == {StepStatus.COMPLETED}


def test_a_second_ctrl_c_does_not_wait_for_a_worker_that_will_not_stop(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path, "deaf b") as terminal:
        terminal.wait_for("started deaf", "started b")
        terminal.press("q")
        terminal.wait_for("Stopping: waiting for 1 worker. Nothing is lost. Ctrl-C: stop now.")
        terminal.press("q")  # Only Ctrl-C forces the exit.
        terminal.press("\x03")
        assert terminal.end() == 0
        assert "taskloom run --resume s1" in terminal.text
    assert set(statuses(tmp_path).values()) == {StepStatus.READY}


def test_closing_the_window_ends_the_run_and_loses_nothing(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.wait_for("started a", "started b")
        finish(terminal, "a")
        terminal.wait_for("a completed: did a")
        terminal.close()
        terminal.process.wait(TIMEOUT_S)
    assert statuses(tmp_path)["a"] is StepStatus.COMPLETED
    assert statuses(tmp_path)["b"] is StepStatus.READY
    with SessionStore(tmp_path).open(SESSION).host_lock():
        pass  # The lock is free.


def test_the_view_follows_the_size_of_the_window(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.wait_for("started a", "started b")
        terminal.resize(14, 50)
        terminal.wait_for("─" * 49, "started b")
        assert "─" * 50 not in terminal.text
        assert terminal.text.count("Tidy up the parser  s1") == 1
        assert terminal.lines[-1].startswith("j/k: select")
        terminal.resize(40, 120)
        terminal.wait_for("─" * 119, "session s1: Tidy up", "started b")
        assert terminal.text.count("Tidy up the parser  s1") == 1
        finish(terminal, "a", "b", "c")
        assert terminal.end() == 0


def test_a_plan_that_does_not_fit_shows_the_urgent_steps_and_counts_the_rest(
    tmp_path: Path,
) -> None:
    steps = " ".join(["first", *(f"s{number}:first" for number in range(200)), "other"])
    with Terminal("screen", tmp_path, steps, rows=20) as terminal:
        terminal.wait_for("started first", "started other", "more steps: ")
        assert terminal.lines[-1] == KEYS
        assert terminal.text.count("● ") == 3
        shown = sum(" · s" in line for line in terminal.lines)
        assert f"… and {200 - shown} more steps: {200 - shown} pending" in terminal.text
        terminal.press("q")
        assert terminal.end() == 0


def test_a_suspended_process_restores_the_terminal_and_takes_it_again(
    tmp_path: Path,
) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.wait_for("started a", "started b")
        terminal.press("\x1a")
        _, status = os.waitpid(terminal.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        terminal.read_rest()
        terminal.check_restored()
        os.kill(terminal.process.pid, signal.SIGCONT)
        terminal.press("1")
        terminal.wait_for("started a", "esc: back")
        finish(terminal, "a", "b", "c")
        assert terminal.end() == 0


def test_a_watcher_that_fails_restores_the_terminal_and_stops_the_work(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.wait_for("started a", "started b")
        terminal.command("break")
        assert terminal.end() != 0
    assert set(statuses(tmp_path).values()) == {StepStatus.READY, StepStatus.PENDING}


def test_a_paused_run_can_be_quit(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.wait_for("started a", "started b")
        terminal.press("p")
        terminal.wait_for("paused: no new workers")
        finish(terminal, "a", "b")
        terminal.wait_for("2 of 3 steps", "1 ready")
        terminal.press("q")
        assert terminal.end() == 0
    assert statuses(tmp_path)["c"] is StepStatus.READY


def test_no_worker_waits_for_a_stopped_terminal(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.wait_for("started a", "started b")
        terminal.press("\x13")
        for step_id in "abc":
            for number in range(200):
                terminal.command(f"say {step_id} {'x' * 80} {number}")
        finish(terminal, "a", "b", "c")
        end = monotonic() + TIMEOUT_S
        while set(statuses(tmp_path).values()) != {StepStatus.COMPLETED}:
            assert monotonic() < end
        terminal.press("\x11")
        assert terminal.end() == 0
        assert "All is tidy." in terminal.text
