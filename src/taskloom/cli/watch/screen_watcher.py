"""A run on a screen: the story above, the board and the workers below, keys to steer."""

import asyncio
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final

from rich.console import Console
from rich.text import Text

from taskloom.agent import Message, Result
from taskloom.app.session_host import Host
from taskloom.cli.watch.banners import closing, opening, reply
from taskloom.cli.watch.event_source import TICK_S
from taskloom.cli.watch.key_bindings import Controls
from taskloom.cli.watch.keys import Keyboard
from taskloom.cli.watch.questions import ANSWERS, Questions
from taskloom.cli.watch.shutdown import Work, handling
from taskloom.cli.watch.terminal_output import write_all
from taskloom.cli.watch.terminal_painter import SHOW_CURSOR, Painter
from taskloom.cli.watch.view_model import ViewModel
from taskloom.cli.watch.watch_session import Watching, watching
from taskloom.ids import RunId
from taskloom.orchestrator import ORCHESTRATOR
from taskloom.session import Asker
from taskloom.view.format import one_line, plural
from taskloom.view.run.frame import draw_frame, draw_last, is_long, question_lines, steps_room
from taskloom.view.run.model import Asked, RunView, StreamView

_CANCELLED: Final = "cancelled by the person who watches"

_LAST_STEPS: Final = 60
"""Of each Task, in what stays on the screen at the end."""


class ScreenWatcher:
    """Draws on a terminal, and takes its keys."""

    def __init__(self, console: Console) -> None:
        """Take where to draw; keys come from standard input."""
        self._console = console
        self._questions = Questions()
        self.was_quit = False

    @property
    def asker(self) -> Asker | None:
        """Asks above the board; y, a and n are answers."""
        return self._questions

    async def show(self, host: Host, work: Work) -> Result:
        """Do the work and draw it."""
        self._console.file.flush()
        async with watching(host, self._console.file.fileno()) as watch:
            show = _Show(host, self._console, self._questions, watch)
            try:
                with show.terminal():
                    task = watch.leaving.begin(work)
                    self._questions.open()
                    await show.until_done(task)
                    result = watch.result(task)
                    await show.end(result)
                    return result
            finally:
                self.was_quit = watch.leaving.is_wanted
                self._questions.close()


class _Show:
    """One showing of one run."""

    def __init__(
        self,
        host: Host,
        console: Console,
        questions: Questions,
        watch: Watching,
    ) -> None:
        self._host = host
        self._questions = questions
        self._leaving = watch.leaving
        self._output = watch.output
        self._picture = ViewModel(host, watch.story, watch.voices)
        self._painter = Painter(console)
        self._fd = console.file.fileno()
        self._controls = Controls(ORCHESTRATOR)
        self._keyboard = Keyboard(sys.stdin.fileno(), self._take_keys, self._gone)
        self._wake = asyncio.Event()
        self._story: list[Text] = []
        self._told_id = ""
        self._told_question: Asked | None = None
        self._second: int = -1
        self._room = 0
        self._is_stale = True
        self._is_resized = False

    # The terminal.

    @contextmanager
    def terminal(self) -> Generator[None]:
        """Have the terminal inside the block, and give it back whatever happens."""
        try:
            self._keyboard.open()
            with handling({signal.SIGWINCH: self._resize, signal.SIGTSTP: self._suspend}):
                yield
        finally:
            self._keyboard.close()
            self._show_cursor()

    def _show_cursor(self) -> None:
        if not self._output.is_lost:
            with suppress(OSError):
                write_all(self._fd, SHOW_CURSOR)

    def _resize(self) -> None:
        self._is_resized = True
        self._touch()

    def _suspend(self) -> None:
        """Stop as a program without keys would, and go on where the shell lets it."""
        self._keyboard.release_orphaned_steps()
        self._show_cursor()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._keyboard.take()
        self._resize()

    def _gone(self) -> None:
        """Leave: whoever held the keyboard has closed the terminal."""
        self._leaving.lose()
        self._touch()

    def _touch(self) -> None:
        self._is_stale = True
        self._wake.set()

    # The loop.

    async def until_done(self, task: "asyncio.Task[Result]") -> None:
        """Draw until the work is done."""
        task.add_done_callback(lambda _: self._wake.set())
        self._story += [Text(line, "bold") for line in opening(self._host)]
        await self._picture.begin()
        while not task.done():
            if self._leaving.is_wanted:
                self._questions.close()
            happened = await self._picture.refresh(self._controls.selected)
            self._tell_replies(happened)
            await self._draw()
            waiting = [asyncio.ensure_future(self._wake.wait())]
            waiting.append(asyncio.ensure_future(self._questions.changed.wait()))
            await asyncio.wait(waiting, timeout=TICK_S, return_when=asyncio.FIRST_COMPLETED)
            for each in waiting:
                each.cancel()
            self._wake.clear()
            if self._questions.changed.is_set():
                self._questions.changed.clear()
                self._is_stale = True

    async def end(self, result: Result) -> None:
        """Leave the last state of the board on the screen, and the last words below it."""
        happened = await self._picture.finish(ORCHESTRATOR)
        final = [message for message in self._picture.replies if not message.tool_calls]
        self._picture.replies = [each for each in self._picture.replies if each not in final]
        self._tell_replies(happened)
        await self._picture.look(_LAST_STEPS, again=True)
        await self._output.write(self._painter.paint(self._story, None))
        await self._output.write(self._painter.paint([], draw_last(self._seen())) + "\r\n")
        self._story = [Text()]
        self._picture.replies = final
        self._tell_replies([])
        if result.message is not None and result.message.id != self._told_id:
            self._tell(result.message)
        was_quit = self._leaving.is_wanted
        self._story += [Text(line) for line in closing(result, self._host, was_quit=was_quit)]
        self._painter.forget()
        await self._output.write(self._painter.paint(self._story, None))

    def _tell_replies(self, happened: list[Text]) -> None:
        """Tell what a look found: first the words that led to something, last the final ones."""
        replies, self._picture.replies = self._picture.replies, []
        for message in replies:
            if message.tool_calls:
                self._tell(message)
        self._story += happened
        for message in replies:
            if not message.tool_calls:
                self._tell(message)

    def _tell(self, message: Message) -> None:
        self._told_id = message.id
        self._story += [Text(line) for line in reply(message)]

    async def _draw(self) -> None:
        """Draw a frame, if anything on it has changed."""
        second = int(self._picture.elapsed.total_seconds())
        is_new = self._picture.is_new or bool(self._story)
        stale = self._is_stale or is_new or second != self._second
        if not stale or self._output.is_lost:
            return
        self._second, self._is_stale, self._picture.is_new = second, False, False
        painter = self._painter
        live = sum(not task.is_over for task in self._picture.tasks)
        room = steps_room(painter.height, len(self._picture.runs) + 1, live)
        await self._picture.look(room, again=room != self._room)
        self._room = room
        seen = self._seen()
        self._tell_long_question(seen.asked)
        frame = draw_frame(seen, painter.width, painter.height)
        story, self._story = self._story, []
        drawn = painter.paint(story, frame)
        if self._is_resized:
            self._is_resized = False
            drawn = painter.repaint(frame)

        def shown() -> None:
            # An answer is one to what stood on the screen when its key was pressed.
            first = self._questions.first
            self._questions.was_shown = first is not None and seen.asked == first

        await self._output.write(drawn, then=shown)

    def _tell_long_question(self, asked: Asked | None) -> None:
        painter = self._painter
        if asked is None or asked == self._told_question:
            return
        if is_long(asked, painter.width, painter.height):
            self._told_question = asked
            self._story += [Text(line, "yellow") for line in question_lines(asked, painter.width)]

    def _seen(self) -> RunView:
        controls, picture = self._controls, self._picture
        controls.keep_up(self._run_ids())
        runs = picture.seen_runs(controls.selected if controls.is_reading else None)
        confirm = ""
        if controls.confirming is not None:
            name = next((run.name for run in runs if run.run_id == controls.confirming), "?")
            confirm = f"Cancel {one_line(name)}? Its step fails, and the Orchestrator decides."
        return RunView(
            goal=self._host.session.info.goal,
            session_id=self._host.session.info.session_id,
            elapsed=picture.elapsed,
            tasks=picture.tasks,
            runs=runs,
            selected=controls.selected,
            paused=self._host.orchestrator.is_paused,
            leaving=self._leaving_words(),
            asked=None if confirm else self._questions.first,
            confirm=confirm,
            stream=self._stream() if controls.is_reading else None,
        )

    def _leaving_words(self) -> str:
        if not self._leaving.is_wanted:
            return ""
        count = self._leaving.held_up_by
        what = f"until {plural(count, 'worker')} stopped" if count else "until the turn is closed"
        hint = "" if self._leaving.is_urgent else " Ctrl-C: at once."
        return f"Leaving: waiting {what}. Nothing is lost.{hint}"

    def _stream(self) -> StreamView:
        controls = self._controls
        speech = self._picture.speech(controls.selected)
        lines = speech.everything
        below = 0
        if controls.last_line is not None:
            below = max(0, min(len(lines) - 1, speech.total - controls.last_line))
        shown = lines[: len(lines) - below]
        over = controls.selected not in self._run_ids()
        return StreamView(lines=tuple(shown), below=below, over=over)

    def _run_ids(self) -> list[RunId]:
        return [ORCHESTRATOR, *(worker_run.run_id for worker_run in self._picture.runs)]

    # The keys.

    def _take_keys(self, keys: list[str]) -> None:
        for key in keys:
            if not self._answers(key, alone=len(keys) == 1):
                self._steer(key)
        self._touch()

    def _answers(self, key: str, *, alone: bool) -> bool:
        """Take a key as an answer, if it is one: pressed alone, to a question that was seen."""
        asked = self._questions.first
        if asked is None or key not in ANSWERS or self._controls.confirming is not None:
            return False
        answer = self._questions.read_answer(key)
        if answer is not None and alone and self._questions.was_shown:
            self._questions.answer(answer)
            self._story.append(Text(f"{one_line(asked.text)}: {_ANSWERED[answer]}", "yellow"))
        return True

    def _steer(self, key: str) -> None:
        if self._leaving.is_wanted:
            if key == "ctrl-c":
                self._leaving.leave()
            return
        page = max(1, self._painter.height - 5)
        total = self._picture.speech(self._controls.selected).total
        wished = self._controls.press(key, self._run_ids(), total, page)
        if wished is None:
            return
        orchestrator = self._host.orchestrator
        match wished.wish:
            case "quit":
                self._leaving.leave()
            case "cancel":
                orchestrator.stop(wished.run_id, _CANCELLED)
            case "pause" if orchestrator.is_paused:
                orchestrator.resume()
            case "pause":
                orchestrator.pause()
            case "redraw":
                self._is_resized = True


_ANSWERED: Final = {"once": "allowed once", "session": "allowed for this session", "no": "refused"}
