"""A run on a screen: events above, the board and the workers below, keys to control it."""

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
from taskloom.cli.watch.banners import closing, opening, reply_lines
from taskloom.cli.watch.key_bindings import Controls
from taskloom.cli.watch.keys import Keyboard
from taskloom.cli.watch.live_region import RESTORE, LiveRegion
from taskloom.cli.watch.questions import ANSWERS, Questions
from taskloom.cli.watch.shutdown import Work, signal_handlers
from taskloom.cli.watch.terminal_output import write_all
from taskloom.cli.watch.view_model import ViewModel
from taskloom.cli.watch.watch_session import TICK_S, WatchSession, watch_session
from taskloom.ids import RunId
from taskloom.orchestrator import ORCHESTRATOR
from taskloom.session import Asker
from taskloom.view.format import one_line, plural
from taskloom.view.run.frame import draw_final, draw_frame, is_long, question_lines, steps_limit
from taskloom.view.run.model import OutputView, QuestionView, RunView

_CANCEL_REASON: Final = "the user cancelled it"

_FINAL_STEPS: Final = 60
"""Of each Task, in the view that stays on the screen."""

_ANSWERED: Final = {"once": "allowed once", "session": "allowed for this session", "no": "refused"}


class ScreenWatcher:
    """Draws on a terminal and reads its keys."""

    def __init__(self, console: Console) -> None:
        """Draw on a console; keys come from standard input."""
        self._console = console
        self._questions = Questions()
        self.was_quit = False

    @property
    def asker(self) -> Asker | None:
        """Asks above the board; the keys y, a and n answer."""
        return self._questions

    async def show(self, host: Host, work: Work) -> Result:
        """Do the work and draw it."""
        self._console.file.flush()
        async with watch_session(host, self._console.file.fileno()) as session:
            screen = _Screen(host, self._console, self._questions, session)
            try:
                with screen.terminal():
                    task = session.shutdown.start(work)
                    self._questions.open()
                    await screen.draw_until_done(task)
                    result = session.result(task)
                    await screen.draw_end(result)
                    return result
            finally:
                self.was_quit = session.shutdown.is_requested
                self._questions.close()


class _Screen:
    """The screen of one run."""

    def __init__(
        self, host: Host, console: Console, questions: Questions, session: WatchSession
    ) -> None:
        self._host = host
        self._questions = questions
        self._shutdown = session.shutdown
        self._writer = session.writer
        self._model = ViewModel(host, session.events, session.outputs)
        self._region = LiveRegion(console)
        self._fd = console.file.fileno()
        self._controls = Controls(ORCHESTRATOR)
        self._keyboard = Keyboard(sys.stdin.fileno(), self._on_keys, self._on_closed)
        self._wake = asyncio.Event()
        self._lines: list[Text] = []
        """Lines to add above the live region."""
        self._last_reply_id = ""
        self._printed_question: QuestionView | None = None
        self._second: int = -1
        self._steps_limit = 0
        self._is_stale = True
        self._is_resized = False

    # The terminal.

    @contextmanager
    def terminal(self) -> Generator[None]:
        """Use the terminal inside the block, and restore it whatever happens."""
        try:
            self._keyboard.open()
            with signal_handlers({signal.SIGWINCH: self._resize, signal.SIGTSTP: self._suspend}):
                yield
        finally:
            self._keyboard.close()
            self._restore()

    def _restore(self) -> None:
        if not self._writer.is_lost:
            with suppress(OSError):
                write_all(self._fd, RESTORE)

    def _resize(self) -> None:
        self._is_resized = True
        self._redraw()

    def _suspend(self) -> None:
        """Stop the process as Ctrl-Z does; it continues here when the shell resumes it."""
        self._keyboard.restore_modes()
        self._restore()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._keyboard.set_modes()
        self._resize()

    def _on_closed(self) -> None:
        self._shutdown.request_once()
        self._redraw()

    def _redraw(self) -> None:
        self._is_stale = True
        self._wake.set()

    # The loop.

    async def draw_until_done(self, task: "asyncio.Task[Result]") -> None:
        """Draw until the work is done."""
        task.add_done_callback(lambda _: self._wake.set())
        self._lines += [Text(line, "bold") for line in opening(self._host)]
        await self._model.load_tasks()
        while not task.done():
            if self._shutdown.is_requested:
                self._questions.close()
            self._add_update(self._model.update(self._controls.selected))
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

    async def draw_end(self, result: Result) -> None:
        """Leave the final board on the screen, and the final reply below it."""
        model = self._model
        events = await model.update_to_end(ORCHESTRATOR)
        final = [message for message in model.replies if not message.tool_calls]
        model.replies = [message for message in model.replies if message.tool_calls]
        self._add_update(events)
        await model.read_tasks(_FINAL_STEPS, every=True)
        await self._writer.write(self._region.draw(self._lines, None))
        await self._writer.write(self._region.draw([], draw_final(self._view())) + "\r\n")
        self._lines = [Text()]
        model.replies = final
        self._add_update([])
        if result.message is not None and result.message.id != self._last_reply_id:
            self._add_reply(result.message)
        was_quit = self._shutdown.is_requested
        self._lines += [Text(line) for line in closing(result, self._host, was_quit=was_quit)]
        self._region.detach()
        await self._writer.write(self._region.draw(self._lines, None))

    def _add_update(self, events: list[Text]) -> None:
        """Add lines: replies with tool calls precede the events, a final reply follows."""
        replies, self._model.replies = self._model.replies, []
        for message in replies:
            if message.tool_calls:
                self._add_reply(message)
        self._lines += events
        for message in replies:
            if not message.tool_calls:
                self._add_reply(message)

    def _add_reply(self, message: Message) -> None:
        self._last_reply_id = message.id
        self._lines += [Text(line) for line in reply_lines(message)]

    async def _draw(self) -> None:
        """Draw a frame, if anything on it has changed."""
        model, region = self._model, self._region
        second = int(model.elapsed.total_seconds())
        is_changed = self._is_stale or model.is_changed or bool(self._lines)
        if (not is_changed and second == self._second) or self._writer.is_lost:
            return
        self._second, self._is_stale, model.is_changed = second, False, False
        open_tasks = sum(not task.has_ended for task in model.tasks)
        limit = steps_limit(region.max_height, len(model.active_runs) + 1, open_tasks)
        await model.read_tasks(limit, every=limit != self._steps_limit)
        self._steps_limit = limit
        view = self._view()
        self._print_long_question(view.question)
        frame = draw_frame(view, region.width, region.max_height)
        lines, self._lines = self._lines, []
        text = region.draw(lines, frame)
        if self._is_resized:
            self._is_resized = False
            text = region.redraw(frame)

        def on_screen() -> None:
            # Keys that are waiting were pressed before the question could be read.
            self._keyboard.read_pending()
            first = self._questions.first
            self._questions.is_shown = first is not None and view.question == first

        await self._writer.write(text, then=on_screen)

    def _print_long_question(self, question: QuestionView | None) -> None:
        region = self._region
        if question is None or question == self._printed_question:
            return
        if is_long(question, region.width, region.max_height):
            self._printed_question = question
            self._lines += [Text(line, "yellow") for line in question_lines(question, region.width)]

    def _view(self) -> RunView:
        controls, model = self._controls, self._model
        controls.update_runs(self._run_ids())
        runs = model.run_views(controls.selected if controls.shows_output else None)
        confirmation = ""
        if controls.confirming is not None:
            name = next((run.name for run in runs if run.run_id == controls.confirming), "?")
            confirmation = f"Cancel {one_line(name)}? Its step fails; the Orchestrator decides."
        info = self._host.session.info
        return RunView(
            goal=info.goal,
            session_id=info.session_id,
            elapsed=model.elapsed,
            tasks=model.tasks,
            runs=runs,
            selected=controls.selected,
            is_paused=self._host.orchestrator.is_paused,
            stopping=self._stopping(),
            question=None if confirmation else self._questions.first,
            confirmation=confirmation,
            output=self._output() if controls.shows_output else None,
        )

    def _stopping(self) -> str:
        if not self._shutdown.is_requested:
            return ""
        count = self._shutdown.active_workers
        what = plural(count, "worker") if count else "the Orchestrator"
        hint = "" if self._shutdown.is_forced else " Ctrl-C: stop now."
        return f"Stopping: waiting for {what}. Nothing is lost.{hint}"

    def _output(self) -> OutputView:
        controls = self._controls
        buffer = self._model.output(controls.selected)
        lines = buffer.all_lines
        below = 0
        if controls.last_line is not None:
            below = max(0, min(len(lines) - 1, buffer.total - controls.last_line))
        has_ended = controls.selected not in self._run_ids()
        shown = lines[: len(lines) - below]
        return OutputView(lines=tuple(shown), below=below, has_ended=has_ended)

    def _run_ids(self) -> list[RunId]:
        return [ORCHESTRATOR, *(run.run_id for run in self._model.active_runs)]

    # The keys.

    def _on_keys(self, keys: list[str]) -> None:
        for key in keys:
            if not self._answer(key, is_alone=len(keys) == 1):
                self._control(key)
        self._redraw()

    def _answer(self, key: str, *, is_alone: bool) -> bool:
        """Take a key as an answer: pressed alone, to a question that is on the screen."""
        question = self._questions.first
        if question is None or key not in ANSWERS or self._controls.confirming is not None:
            return False
        answer = self._questions.read_answer(key)
        if answer is not None and is_alone and self._questions.is_shown:
            self._questions.answer(answer)
            self._lines.append(Text(f"{one_line(question.text)}: {_ANSWERED[answer]}", "yellow"))
        return True

    def _control(self, key: str) -> None:
        if self._shutdown.is_requested:
            if key == "ctrl-c":
                self._shutdown.request()
            return
        page = max(1, self._region.max_height - 5)
        total = self._model.output(self._controls.selected).total
        action = self._controls.press(key, self._run_ids(), total, page)
        if action is None:
            return
        orchestrator = self._host.orchestrator
        match action.kind:
            case "quit":
                self._shutdown.request()
            case "cancel":
                orchestrator.stop(action.run_id, _CANCEL_REASON)
            case "pause" if orchestrator.is_paused:
                orchestrator.resume()
            case "pause":
                orchestrator.pause()
            case "redraw":
                self._is_resized = True
