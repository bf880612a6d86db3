"""A run in plain lines, for logs, pipes and simple terminals."""

import sys
from datetime import UTC, datetime
from typing import TextIO

from taskloom.agent import Message, ModelReply, Result
from taskloom.app.session_host import Host
from taskloom.cli.watch.banners import closing, opening, reply_lines
from taskloom.cli.watch.questions import LinePrompt, Questions
from taskloom.cli.watch.shutdown import Work
from taskloom.cli.watch.watch_session import OutputOfRun, watch_session
from taskloom.orchestrator import ORCHESTRATOR, SessionEvent
from taskloom.session import Asker
from taskloom.view.event_line import event_line
from taskloom.view.format import one_line


class LineWatcher:
    """Prints one line per event; asks questions if `terminal` is one."""

    def __init__(self, terminal: TextIO | None) -> None:
        """Read answers from a terminal; without one no user can be asked."""
        self._questions = Questions()
        self._prompt = LinePrompt(self._questions, terminal.fileno()) if terminal else None
        self._last_reply_id = ""
        self.was_quit = False

    @property
    def asker(self) -> Asker | None:
        """Asks on standard error, and reads a line."""
        return self._questions if self._prompt is not None else None

    async def show(self, host: Host, work: Work) -> Result:
        """Do the work and print it."""
        sys.stdout.flush()
        prompt = self._prompt
        async with watch_session(host, sys.stdout.fileno()) as session:

            def render(events: list[SessionEvent], outputs: list[OutputOfRun]) -> str:
                if session.shutdown.is_requested:
                    self._questions.close()
                if prompt is not None:
                    prompt.show()
                return self._render(events, outputs)

            if prompt is not None:
                prompt.open()
            try:
                result = await session.write_lines(work, _dated(opening(host)), render)
            finally:
                self.was_quit = session.shutdown.is_requested
                if prompt is not None:
                    prompt.close()
            await session.writer.write(self._render_end(result, host))
            return result

    def _render(self, events: list[SessionEvent], outputs: list[OutputOfRun]) -> str:
        """Render a batch: replies with tool calls precede the events, a final reply follows."""
        lines = [
            f"{_time(event.at)} {line.text}"
            for event in events
            if (line := event_line(event)) is not None
        ]
        before: list[str] = []
        for run_id, output in outputs:
            if run_id == ORCHESTRATOR and isinstance(output, str):
                lines.append(f"{_time(datetime.now(UTC))} {one_line(output)}")
            if run_id == ORCHESTRATOR and isinstance(output, ModelReply):
                message = output.message
                self._last_reply_id = message.id
                (before if message.tool_calls else lines).extend(_dated_reply(message))
        return "".join(f"{line}\n" for line in [*before, *lines])

    def _render_end(self, result: Result, host: Host) -> str:
        lines: list[str] = []
        if result.message is not None and result.message.id != self._last_reply_id:
            lines += reply_lines(result.message)
        lines += closing(result, host, was_quit=self.was_quit)
        return "".join(f"{line}\n" for line in lines)


def _dated_reply(message: Message) -> list[str]:
    lines = reply_lines(message)
    if not lines:
        return []
    return [
        f"{_time(datetime.now(UTC))} orchestrator: {lines[0]}",
        *(f"  {line}" for line in lines[1:]),
    ]


def _dated(lines: list[str]) -> str:
    now = _time(datetime.now(UTC))
    return "".join(f"{now} {line}\n" for line in lines)


def _time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%H:%M:%S}"
