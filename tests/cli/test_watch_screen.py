"""A run on a real terminal: what stands there, and what its keys do."""

import os
import re
import signal
from pathlib import Path
from time import monotonic

import pytest

from taskloom.board import StepStatus
from taskloom.runtime import inspect
from taskloom.session import SessionStore
from tests.cli.terminal import PATIENCE_S, Terminal
from tests.cli.watched import SESSION

pytestmark = pytest.mark.slow

KEYS = "j/k: select · enter: view output · c: cancel · p: pause · q: quit"


def statuses(project: Path) -> dict[str, StepStatus]:
    """What the log says of the steps."""
    wal = project / ".taskloom" / "tasks" / SESSION / "tidy.wal.jsonl"
    return {step.step_id: step.status for step in inspect(wal).view.steps}


def finish(terminal: Terminal, *steps: str) -> None:
    for step_id in steps:
        terminal.order(f"go {step_id}")


def test_the_board_stands_below_the_story_and_stays_there_at_the_end(tmp_path: Path) -> None:
    with Terminal("auto", tmp_path) as terminal:
        terminal.until("began a", "began b", KEYS)
        rule = max(at for at, line in enumerate(terminal.lines) if line == "─" * 99)
        above, below = terminal.lines[:rule], terminal.lines[rule + 1 :]
        assert above[:2] == ["session s1: Tidy up the parser", "I will plan it."]
        assert above[2].endswith("Task tidy created: Tidy up (3 steps)")
        assert below[0] == "Tidy up the parser  s1"
        assert below[1].startswith("─" * 24 + " 0 of 3 steps")
        assert below[1].endswith("1 pending, 2 running")
        assert below[2] == "● tidy running  Tidy up"
        assert [re.sub(r"\b\d+s", "Ns", line) for line in below[3:10]] == [
            "  ● a    running  ann Ns  began a",
            "  ● b    running  bob Ns  began b",
            "  └ · c  pending  Do c",
            "▸ 0 orchestrator     Ns  ▸ agent.dispatch_worker task_id=tidy instruction=Do it.",
            "  1 ann           a  Ns  began a",
            "  2 bob           b  Ns  began b",
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
    assert "c claimed by ann" in terminal.story
    assert KEYS not in terminal.story


def test_a_worker_is_selected_and_its_words_are_read(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.until("began a", "began b")
        terminal.press("j")
        terminal.until("▸ 1 ann")
        terminal.press("\x1b[B")
        terminal.until("▸ 2 bob")
        terminal.press("k\r")
        terminal.until("began a", "esc: back", gone="began b")
        for number in range(40):
            terminal.order(f"say a line {number}")
        terminal.until("line 39", gone="line 3\n")
        terminal.press("k" * 20)
        terminal.until("… 20 lines below", "line 19", gone="line 20")
        terminal.order("say a line 40")
        terminal.until("… 21 lines below", "line 19", gone="line 20")
        terminal.press("G")
        terminal.until("line 40")
        terminal.press("\x1b")
        terminal.until("▸ 1 ann", "c: cancel · p")
        terminal.press("2")
        terminal.until("began b", "esc: back")
        finish(terminal, "b")
        terminal.until("(over)", "began b")
        finish(terminal, "a", "c")
        assert terminal.end() == 0


def test_nothing_that_a_worker_says_moves_the_cursor_or_colours_the_screen(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.until("began a", "began b")
        terminal.order(r"say a \x1b[2J\x1b[31mred\x07\u202eback")
        terminal.until(r"\x1b[2J\x1b[31mred\x07\u202eback")
        terminal.press("1")
        terminal.until(r"\x1b[2J\x1b[31mred\x07\u202eback", "esc: back")
        assert b"\x1b[31m" not in terminal.raw
        assert b"\x1b[2J" not in terminal.raw
        finish(terminal, "a", "b", "c")
        assert terminal.end() == 0


def test_a_worker_is_cancelled_only_after_a_yes(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.until("began a", "began b")
        terminal.press("c")  # The Orchestrator is selected: there is no worker to cancel.
        terminal.press("jc")
        terminal.until("Cancel ann?", "y: yes")
        terminal.press("n")
        terminal.until(KEYS, gone="Cancel ann?")
        terminal.press("c")
        terminal.until("Cancel ann?")
        terminal.press("y")
        terminal.until("ann stopped on a")
        assert statuses(tmp_path)["a"] is StepStatus.FAILED
        finish(terminal, "b")
        terminal.until("a reopened", "a claimed by ann")
        finish(terminal, "a", "c")
        assert terminal.end() == 0
        assert "did a" in terminal.text


def test_while_dispatch_is_paused_no_worker_starts(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.until("began a", "began b")
        terminal.press("p")
        terminal.until("paused: no new workers", "p: resume")
        finish(terminal, "a", "b")
        terminal.until("b completed: did b", "2 of 3 steps", "1 ready")
        assert "c claimed" not in terminal.story
        terminal.press("p")
        terminal.until("c claimed by", gone="paused")
        finish(terminal, "c")
        assert terminal.end() == 0


@pytest.mark.parametrize("how", ["q", "\x03", "TERM", "HUP"])
def test_leaving_loses_nothing_and_the_session_can_be_gone_on_with(
    tmp_path: Path, how: str
) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.until("began a", "began b")
        finish(terminal, "a")
        terminal.until("a completed: did a")
        if len(how) > 1:
            os.kill(terminal.process.pid, signal.Signals[f"SIG{how}"])
        else:
            terminal.press(how)
        assert terminal.end() == 0
        assert "Stopped; nothing is lost. Go on with: taskloom run --resume s1" in terminal.text
        assert "ended: cancelled True" in terminal.text
    assert statuses(tmp_path) == {
        "a": StepStatus.COMPLETED,
        "b": StepStatus.READY,
        "c": StepStatus.PENDING,
    }
    with Terminal("screen", tmp_path) as again:
        again.until("began b", "1 of 3 steps")
        finish(again, "b", "c")
        assert again.end() == 0
        assert "All is tidy." in again.text
    assert set(statuses(tmp_path).values()) == {StepStatus.COMPLETED}


def test_a_second_ctrl_c_does_not_wait_for_a_worker_that_will_not_stop(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path, "deaf b") as terminal:
        terminal.until("began deaf", "began b")
        terminal.press("q")
        terminal.until("Leaving: waiting until 1 worker stopped. Nothing is lost. Ctrl-C: at once.")
        terminal.press("q")  # Impatience alone is no wish to hurry.
        terminal.press("\x03")
        assert terminal.end() == 0
        assert "taskloom run --resume s1" in terminal.text
    assert set(statuses(tmp_path).values()) == {StepStatus.READY}


def test_a_window_that_is_closed_ends_the_run_and_loses_nothing(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.until("began a", "began b")
        finish(terminal, "a")
        terminal.until("a completed: did a")
        terminal.close()
        terminal.process.wait(30)
    assert statuses(tmp_path)["a"] is StepStatus.COMPLETED
    assert statuses(tmp_path)["b"] is StepStatus.READY
    with SessionStore(tmp_path).open(SESSION).host_lock():
        pass  # Nobody hosts it any more.


def test_the_picture_follows_the_size_of_the_window(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.until("began a", "began b")
        terminal.resize(14, 50)
        terminal.until("─" * 49, "began b")
        assert "─" * 50 not in terminal.text
        assert terminal.text.count("Tidy up the parser  s1") == 1
        assert terminal.lines[-1].startswith("j/k: select")
        terminal.resize(40, 120)
        terminal.until("─" * 119, "session s1: Tidy up", "began b")
        assert terminal.text.count("Tidy up the parser  s1") == 1
        finish(terminal, "a", "b", "c")
        assert terminal.end() == 0


def test_a_plan_that_does_not_fit_shows_what_is_urgent_and_counts_the_rest(tmp_path: Path) -> None:
    steps = " ".join(["first", *(f"s{number}:first" for number in range(200)), "other"])
    with Terminal("screen", tmp_path, steps, rows=20) as terminal:
        terminal.until("began first", "began other", "more steps: ")
        assert terminal.lines[-1] == KEYS
        assert terminal.text.count("● ") == 3
        shown = sum(" · s" in line for line in terminal.lines)
        assert f"… and {200 - shown} more steps: {200 - shown} pending" in terminal.text
        terminal.press("q")
        assert terminal.end() == 0


def test_a_process_that_is_stopped_gives_the_terminal_back_and_takes_it_again(
    tmp_path: Path,
) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.until("began a", "began b")
        terminal.press("\x1a")
        _, status = os.waitpid(terminal.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        terminal.read_rest()
        terminal.check_given_back()
        os.kill(terminal.process.pid, signal.SIGCONT)
        terminal.press("1")
        terminal.until("began a", "esc: back")
        finish(terminal, "a", "b", "c")
        assert terminal.end() == 0


def test_whatever_breaks_gives_the_terminal_back_and_lets_the_work_end(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.until("began a", "began b")
        terminal.order("break")
        assert terminal.end() != 0
    assert set(statuses(tmp_path).values()) == {StepStatus.READY, StepStatus.PENDING}


def test_a_run_can_be_left_while_dispatch_is_paused(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.until("began a", "began b")
        terminal.press("p")
        terminal.until("paused: no new workers")
        finish(terminal, "a", "b")
        terminal.until("2 of 3 steps", "1 ready")
        terminal.press("q")
        assert terminal.end() == 0
    assert statuses(tmp_path)["c"] is StepStatus.READY


def test_nobody_who_works_waits_for_a_terminal_that_was_stopped(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.until("began a", "began b")
        terminal.press("\x13")
        for step_id in "abc":
            for number in range(200):
                terminal.order(f"say {step_id} {'x' * 80} {number}")
        finish(terminal, "a", "b", "c")
        end = monotonic() + PATIENCE_S
        while set(statuses(tmp_path).values()) != {StepStatus.COMPLETED}:
            assert monotonic() < end
        terminal.press("\x11")
        assert terminal.end() == 0
        assert "All is tidy." in terminal.text
