"""What a person is asked during a run: y, a and n are answers, and nothing else is a yes."""

import os
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal

pytestmark = pytest.mark.slow

ANSWERS = "y: once · a: for this session · n: no"


def finish(terminal: Terminal) -> None:
    for step_id in "abc":
        terminal.order(f"go {step_id}")
    assert terminal.end() == 0


def test_once_is_once_a_session_is_all_of_it_and_no_is_no(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.until("began a", "began b")
        terminal.order("ask a make clean")
        terminal.until("? ann wants to run: make clean", ANSWERS)
        terminal.until("a allows for this session: this command: make clean")
        terminal.press("y")
        terminal.until("told yes for make clean", "make clean: allowed once", gone=ANSWERS)
        terminal.order("ask b make clean")
        terminal.until("? bob wants to run: make clean", ANSWERS)
        terminal.press("n")
        terminal.until("told no for make clean", "make clean: refused", gone=ANSWERS)
        terminal.order("ask b make test")
        terminal.until("? bob wants to run: make test", ANSWERS)
        terminal.press("a")
        terminal.until("told yes for make test", "make test: allowed for this session")
        terminal.order("ask a make test")
        terminal.press("1")
        terminal.until("told yes for make clean", "told yes for make test", "esc: back")
        finish(terminal)


def test_keys_that_are_no_answer_or_came_before_the_question_or_in_a_heap_are_no_yes(
    tmp_path: Path,
) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.until("began a", "began b")
        terminal.press("y")
        terminal.order("ask a make clean")
        terminal.until("? ann wants to run: make clean", ANSWERS)
        terminal.press("yaya")  # Pasted, or the cat.
        terminal.press("Y")
        terminal.press("1")
        terminal.until("began a", "? ann wants to run", gone="told")
        terminal.press("n")
        terminal.until("told no for make clean")
        finish(terminal)


def test_two_questions_wait_in_a_row_and_a_confirmation_takes_no_answer_for_them(
    tmp_path: Path,
) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.until("began a", "began b")
        terminal.press("j")
        terminal.order("ask a make one")
        terminal.until("? ann wants to run: make one")
        terminal.order("ask b make two")
        terminal.press("c")
        terminal.until("Cancel ann?", gone="? ann wants")
        terminal.press("n")  # To the confirmation, not to the question behind it.
        terminal.until("? ann wants to run: make one", gone="Cancel ann?")
        terminal.press("y")
        terminal.until("? bob wants to run: make two", "told yes for make one")
        terminal.press("n")
        terminal.until("told no for make two")
        finish(terminal)


def test_a_long_command_is_shown_whole_above_and_its_end_cannot_hide(tmp_path: Path) -> None:
    command = "echo " + "x" * 3000 + " ; evil"
    with Terminal("screen", tmp_path) as terminal:
        terminal.until("began a", "began b")
        terminal.order(f"ask a {command}")
        terminal.until("lines are printed above", ANSWERS)
        assert "evil" in terminal.story
        terminal.press("n")
        terminal.until("told no")
        finish(terminal)


def test_whoever_leaves_has_said_no(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.until("began a", "began b")
        terminal.order("ask a make clean")
        terminal.until("? ann wants to run: make clean", ANSWERS)
        terminal.press("q")
        assert terminal.end() == 0
        assert "allowed" not in terminal.story
        assert "taskloom run --resume s1" in terminal.text


def test_without_a_screen_answers_are_typed_as_lines(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with Terminal("auto", tmp_path, out=writing) as terminal, os.fdopen(reading) as out:
        os.close(writing)
        assert out.readline().endswith("session s1: Tidy up the parser\n")
        terminal.order("ask a make clean")
        terminal.until(
            "? ann wants to run: make clean",
            "y once, a for this session (this command: make clean), n no:",
        )
        terminal.press("yes\n")
        terminal.until("y, a or n, please:")
        terminal.press("y\n")
        terminal.order("ask b make test")
        terminal.until("? bob wants to run: make test")
        terminal.press("\x04")  # The end of what is typed: nobody answers any more.
        finish(terminal)
        told = out.read()
    assert "\x1b" not in told
    assert "c completed: did c" in told
