"""Permission questions that wait for the user, one after the other. No answer is a no."""

import asyncio
import os
import termios
from collections import deque
from contextlib import suppress
from typing import Final

from taskloom.cli.stdio import print_error
from taskloom.session import Answer, Question
from taskloom.view.format import whole_line
from taskloom.view.run.model import QuestionView

ANSWERS: Final[dict[str, Answer]] = {"y": "once", "a": "session", "n": "no"}

_LINE_BYTES_MAX: Final = 4_096


class Questions:
    """The queue of questions of one run."""

    def __init__(self) -> None:
        """Start closed: every question is answered no until `open`."""
        self._waiting: deque[tuple[Question, asyncio.Future[Answer]]] = deque()
        self._is_open = False
        self.changed = asyncio.Event()
        self.is_shown = False
        """Whether the first one is on the screen; input before that is no answer."""

    def open(self) -> None:
        """Let questions wait for an answer."""
        self._is_open = True

    def close(self) -> None:
        """Answer no to every question, waiting or still to come."""
        self._is_open = False
        while self._waiting:
            self.answer("no")

    async def ask(self, question: Question) -> Answer:
        """Wait for the user's answer."""
        if not self._is_open:
            return "no"
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        entry = (question, answer)
        self._waiting.append(entry)
        self.changed.set()
        try:
            return await answer
        finally:
            if entry in self._waiting:  # The worker that asked was stopped.
                self._drop(entry)

    @property
    def first(self) -> QuestionView | None:
        """The question to be answered now."""
        if not self._waiting:
            return None
        question = self._waiting[0][0]
        return QuestionView(
            text=question.text,
            for_session=question.for_session,
            waiting=len(self._waiting) - 1,
        )

    def read_answer(self, key: str) -> Answer | None:
        """Return the answer that a key gives to the first question; None if it gives none."""
        if not self._waiting or (key == "a" and not self._waiting[0][0].for_session):
            return None
        return ANSWERS.get(key)

    def answer(self, answer: Answer) -> None:
        """Answer the first question."""
        entry = self._waiting[0]
        self._drop(entry)
        if not entry[1].done():
            entry[1].set_result(answer)

    def _drop(self, entry: tuple[Question, "asyncio.Future[Answer]"]) -> None:
        if self._waiting[0] is entry:
            self.is_shown = False
        self._waiting.remove(entry)
        self.changed.set()


class LinePrompt:
    """Asks on standard error and reads lines from a terminal, where no screen is drawn."""

    def __init__(self, questions: Questions, fd: int) -> None:
        """Ask these questions, and read answers from the terminal `fd`."""
        self._questions = questions
        self._fd = fd
        self._unread = b""
        self._is_reading = False

    def open(self) -> None:
        """Start reading answers."""
        with suppress(OSError):  # A file, for example: there is no user then.
            asyncio.get_running_loop().add_reader(self._fd, self._read)
            self._is_reading = True
            self._questions.open()

    def close(self) -> None:
        """Answer no to what waits, and stop reading."""
        self._questions.close()
        if self._is_reading:
            asyncio.get_running_loop().remove_reader(self._fd)
            self._is_reading = False

    def show(self) -> None:
        """Print the first question, unless it is printed already."""
        question = self._questions.first
        if question is None or self._questions.is_shown:
            return
        with suppress(termios.error, OSError):  # What was typed before is no answer.
            termios.tcflush(self._fd, termios.TCIFLUSH)
        self._unread = b""
        covered = whole_line(question.for_session)
        session = f"a: for this session ({covered}), " if covered else ""
        print_error(f"? {whole_line(question.text)}")
        print_error(f"  y: once, {session}n: no")
        self._questions.is_shown = True

    def _read(self) -> None:
        try:
            data = os.read(self._fd, _LINE_BYTES_MAX)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()  # The terminal is closed: no answer is a no.
            return
        *lines, self._unread = (self._unread + data).split(b"\n")
        self._unread = self._unread[-_LINE_BYTES_MAX:]
        for line in lines:
            self._take(line.decode("utf-8", "replace").strip())

    def _take(self, line: str) -> None:
        question = self._questions.first
        if question is None or not self._questions.is_shown:
            return
        answer = self._questions.read_answer(line)
        if answer is None:
            print_error(f"  Type {'y, a or n' if question.for_session else 'y or n'}.")
            return
        self._questions.answer(answer)
        self.show()
