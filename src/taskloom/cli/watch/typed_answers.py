"""Answers typed as lines, where there is a terminal to type on but no screen to draw."""

import asyncio
import os
from contextlib import suppress
from typing import Final

from taskloom.cli.stdio import print_error
from taskloom.cli.watch.questions import Questions
from taskloom.view.run.model import visible

_LINE_BYTES_MAX: Final = 4_096


class TypedAnswers:
    """Asks on standard error, reads from a terminal. Only y, a, and n are answers."""

    def __init__(self, questions: Questions, fd: int) -> None:
        """Take the questions, and where answers are typed."""
        self._questions = questions
        self._fd = fd
        self._typed = b""
        self._is_reading = False

    def open(self) -> None:
        """Let questions be answered."""
        with suppress(OSError):  # A file, for example: nobody types there.
            asyncio.get_running_loop().add_reader(self._fd, self._read)
            self._is_reading = True
            self._questions.open()

    def close(self) -> None:
        """Answer no to what waits, and read no more."""
        self._questions.close()
        if self._is_reading:
            asyncio.get_running_loop().remove_reader(self._fd)
            self._is_reading = False

    def put(self) -> None:
        """Ask the first question, unless that was done."""
        asked = self._questions.first
        if asked is None or self._questions.was_shown:
            return
        covered = visible(asked.for_session)
        answers = f"y once, a for this session ({covered}), n no" if covered else "y once, n no"
        print_error(f"? {visible(asked.text)}")
        print_error(f"  {answers}:")
        self._questions.was_shown = True

    def _read(self) -> None:
        try:
            data = os.read(self._fd, _LINE_BYTES_MAX)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()  # Nobody is there any more, and silence is no yes.
            return
        *lines, self._typed = (self._typed + data).split(b"\n")
        self._typed = self._typed[-_LINE_BYTES_MAX:]
        for line in lines:
            self._take(line.decode("utf-8", "replace").strip())

    def _take(self, line: str) -> None:
        asked = self._questions.first
        if asked is None or not self._questions.was_shown:
            return
        answer = self._questions.read_answer(line)
        if answer is None:
            print_error(f"  {'y, a or n' if asked.for_session else 'y or n'}, please:")
            return
        self._questions.answer(answer)
        self.put()
