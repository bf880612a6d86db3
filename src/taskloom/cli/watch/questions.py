"""Questions that wait for a person, one after the other. Nobody's silence is a yes."""

import asyncio
from collections import deque
from typing import Final

from taskloom.session import Answer, Question
from taskloom.view.run.model import Asked

ANSWERS: Final[dict[str, Answer]] = {"y": "once", "a": "session", "n": "no"}


class Questions:
    """The questions of one run."""

    def __init__(self) -> None:
        """Begin closed: nobody is there to answer yet."""
        self._waiting: deque[tuple[Question, asyncio.Future[Answer]]] = deque()
        self._is_open = False
        self.changed = asyncio.Event()
        self.was_shown = False
        """Whether the first one has been seen; a key pressed before that is no answer."""

    def open(self) -> None:
        """Let questions wait for an answer."""
        self._is_open = True

    def close(self) -> None:
        """Answer no to whatever waits and whatever comes."""
        self._is_open = False
        while self._waiting:
            self.answer("no")

    async def ask(self, question: Question) -> Answer:
        """Wait for the person's answer."""
        if not self._is_open:
            return "no"
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        entry = (question, answer)
        self._waiting.append(entry)
        self.changed.set()
        try:
            return await answer
        finally:
            if entry in self._waiting:  # Whoever asked was stopped; nobody needs the answer.
                self._drop(entry)

    @property
    def first(self) -> Asked | None:
        """The one to be answered now."""
        if not self._waiting:
            return None
        question = self._waiting[0][0]
        return Asked(
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
        """Answer the first one."""
        entry = self._waiting[0]
        self._drop(entry)
        if not entry[1].done():
            entry[1].set_result(answer)

    def _drop(self, entry: tuple[Question, "asyncio.Future[Answer]"]) -> None:
        if self._waiting[0] is entry:
            self.was_shown = False
        self._waiting.remove(entry)
        self.changed.set()
