"""Permission questions during a run: y, a and n are answers, and nothing else is a yes."""

import os
import pty
import select
from pathlib import Path

import pytest

from taskloom.cli.watch.keys import Keyboard
from tests.cli.pty_terminal import TIMEOUT_S, Terminal

ANSWERS = "y: once · a: for this session · n: no"


def finish(terminal: Terminal) -> None:
    for step_id in "abc":
        terminal.command(f"go {step_id}")
    assert terminal.end() == 0


@pytest.mark.slow
def test_y_allows_once_a_for_the_session_and_n_refuses(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.wait_for("started a", "started b")
        terminal.command("ask a make clean")
        terminal.wait_for("? ann wants to run: make clean", ANSWERS)
        terminal.wait_for("a allows for this session: this command: make clean")
        terminal.press("y")
        terminal.wait_for("answered yes for make clean", "make clean: allowed once", gone=ANSWERS)
        terminal.command("ask b make clean")
        terminal.wait_for("? bob wants to run: make clean", ANSWERS)
        terminal.press("n")
        terminal.wait_for("answered no for make clean", "make clean: refused", gone=ANSWERS)
        terminal.command("ask b make test")
        terminal.wait_for("? bob wants to run: make test", ANSWERS)
        terminal.press("a")
        terminal.wait_for("answered yes for make test", "make test: allowed for this session")
        terminal.command("ask a make test")
        terminal.press("1")
        terminal.wait_for("yes for make clean", "answered yes for make test", "esc: back")
        finish(terminal)


@pytest.mark.slow
def test_no_other_key_no_earlier_key_no_pasted_text_and_no_keys_together_are_a_yes(
    tmp_path: Path,
) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.wait_for("started a", "started b")
        terminal.press("y")
        terminal.press("j")
        terminal.wait_for("▸ 1 ann")  # Both keys have been read.
        terminal.command("ask a make clean")
        terminal.wait_for("? ann wants to run: make clean", ANSWERS)
        terminal.press("yaya")
        terminal.press("\x1b[200~y\x1b[201~")  # As a terminal marks pasted text.
        terminal.press("Y")
        terminal.press("1")
        terminal.wait_for("started a", "? ann wants to run", gone="started b")  # The output view.
        assert "answered" not in terminal.text
        terminal.press("n")
        terminal.wait_for("answered no for make clean")
        finish(terminal)


async def test_keys_that_are_waiting_can_be_handled_before_a_question_counts_as_shown() -> None:
    leader, follower = pty.openpty()
    handled: list[str] = []
    keyboard = Keyboard(follower, handled.extend, lambda: None)
    keyboard.open()
    try:
        os.write(leader, b"y")
        # Wait for the key without giving the event loop a chance to read it.
        assert select.select([follower], [], [], TIMEOUT_S)[0]
        keyboard.read_pending()
        assert handled == ["y"]
        keyboard.read_pending()
        keyboard._read()  # pyright: ignore[reportPrivateUsage]  # as the event loop may still do
        assert handled == ["y"]
    finally:
        keyboard.close()
        os.close(leader)
        os.close(follower)


@pytest.mark.slow
def test_questions_wait_in_a_queue_and_a_confirmation_does_not_answer_them(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.wait_for("started a", "started b")
        terminal.press("j")
        terminal.command("ask a make one")
        terminal.wait_for("? ann wants to run: make one")
        terminal.command("ask b make two")
        terminal.press("c")
        terminal.wait_for("Cancel ann?", gone="? ann wants")
        terminal.press("n")  # Answers the confirmation, not the question behind it.
        terminal.wait_for("? ann wants to run: make one", gone="Cancel ann?")
        terminal.press("y")
        terminal.wait_for("? bob wants to run: make two", "answered yes for make one")
        terminal.press("n")
        terminal.wait_for("answered no for make two")
        finish(terminal)


@pytest.mark.slow
def test_a_long_command_is_printed_in_full_above(tmp_path: Path) -> None:
    command = "echo " + "x" * 3000 + " ; evil"
    with Terminal("screen", tmp_path) as terminal:
        terminal.wait_for("started a", "started b")
        terminal.command(f"ask a {command}")
        terminal.wait_for("lines are printed above", ANSWERS)
        assert "evil" in terminal.scrollback
        terminal.press("n")
        terminal.wait_for("answered no")
        finish(terminal)


@pytest.mark.slow
def test_quitting_answers_no(tmp_path: Path) -> None:
    with Terminal("screen", tmp_path) as terminal:
        terminal.wait_for("started a", "started b")
        terminal.command("ask a make clean")
        terminal.wait_for("? ann wants to run: make clean", ANSWERS)
        terminal.press("q")
        assert terminal.end() == 0
        assert "allowed" not in terminal.scrollback
        assert "taskloom run --resume s1" in terminal.text


@pytest.mark.slow
def test_without_a_screen_answers_are_typed_as_lines(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with Terminal("auto", tmp_path, out=writing) as terminal, os.fdopen(reading) as out:
        os.close(writing)
        assert out.readline().endswith("session s1: Tidy up the parser\n")
        terminal.command("ask a make clean")
        terminal.wait_for(
            "? ann wants to run: make clean",
            "y: once, a: for this session (this command: make clean), n: no",
        )
        terminal.press("yes\n")
        terminal.wait_for("Type y, a or n.")
        terminal.press("y\n")
        terminal.command("ask b make test")
        terminal.wait_for("? bob wants to run: make test")
        terminal.press("\x04")  # End of input: there is no answer any more.
        finish(terminal)
        lines = out.read()
    assert "\x1b" not in lines
    assert "c completed: did c" in lines
