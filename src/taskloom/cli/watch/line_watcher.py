"""A run in plain lines: for logs, pipes and terminals that can do no more."""

import sys
from datetime import UTC, datetime
from typing import TextIO

from taskloom.agent import Message, ModelReply, Result
from taskloom.app.session_host import Host
from taskloom.cli.watch.banners import closing, opening, reply
from taskloom.cli.watch.questions import Questions
from taskloom.cli.watch.shutdown import Work
from taskloom.cli.watch.typed_answers import TypedAnswers
from taskloom.cli.watch.watch_session import watching
from taskloom.ids import RunId
from taskloom.orchestrator import ORCHESTRATOR, RunOutput, SessionEvent
from taskloom.session import Asker
from taskloom.view.event_line import event_line
from taskloom.view.format import one_line


class LinesWatcher:
    """Tells what is worth reading, a line each; asks where `keyboard` is a terminal."""

    def __init__(self, keyboard: TextIO | None) -> None:
        """Take where answers are typed."""
        self._questions = Questions()
        fd = keyboard.fileno() if keyboard is not None else -1
        self._answers = TypedAnswers(self._questions, fd) if keyboard is not None else None
        self._told_id = ""
        self.was_quit = False

    @property
    def asker(self) -> Asker | None:
        """Asks on standard error, and reads a line."""
        return self._questions if self._answers is not None else None

    async def show(self, host: Host, work: Work) -> Result:
        """Do the work and tell it."""
        sys.stdout.flush()
        answers = self._answers
        async with watching(host, sys.stdout.fileno()) as watch:

            def telling(happened: list[SessionEvent], said: list[tuple[RunId, RunOutput]]) -> str:
                if watch.leaving.is_wanted:
                    self._questions.close()
                if answers is not None:
                    answers.put()
                return self._tell(happened, said)

            if answers is not None:
                answers.open()
            try:
                result = await watch.tell(work, _dated(opening(host)), telling)
            finally:
                self.was_quit = watch.leaving.is_wanted
                if answers is not None:
                    answers.close()
            await watch.output.write(self._last_words(result, host))
            return result

    def _tell(self, happened: list[SessionEvent], said: list[tuple[RunId, RunOutput]]) -> str:
        """Tell what a look found: first the words that led to something, last the final ones."""
        lines = [
            f"{_at(session_event.at)} {line.text}"
            for session_event in happened
            if (line := event_line(session_event)) is not None
        ]
        before: list[str] = []
        for run_id, each in said:
            if run_id == ORCHESTRATOR and isinstance(each, str):
                lines.append(f"{_at(datetime.now(UTC))} {one_line(each)}")
            if run_id == ORCHESTRATOR and isinstance(each, ModelReply):
                self._told_id = each.message.id
                (before if each.message.tool_calls else lines).extend(_words(each.message))
        return "".join(f"{line}\n" for line in [*before, *lines])

    def _last_words(self, result: Result, host: Host) -> str:
        lines: list[str] = []
        if result.message is not None and result.message.id != self._told_id:
            lines += reply(result.message)
        lines += closing(result, host, was_quit=self.was_quit)
        return "".join(f"{line}\n" for line in lines)


def _words(message: Message) -> list[str]:
    words = reply(message)
    if not words:
        return []
    return [
        f"{_at(datetime.now(UTC))} orchestrator: {words[0]}",
        *(f"  {each}" for each in words[1:]),
    ]


def _dated(lines: list[str]) -> str:
    now = _at(datetime.now(UTC))
    return "".join(f"{now} {line}\n" for line in lines)


def _at(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%H:%M:%S}"
