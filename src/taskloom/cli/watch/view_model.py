"""What is known of a run, kept up to date for drawing: its Tasks, its runs and what they say."""

from collections.abc import Sequence
from datetime import timedelta
from time import monotonic
from typing import Final

from rich.text import Text

from taskloom.agent import Message, ModelReply
from taskloom.app.session_host import Host
from taskloom.cli.watch.event_source import BoardEvents, RunStreams, looker
from taskloom.errors import TaskloomError
from taskloom.ids import RunId, TaskId
from taskloom.orchestrator import ORCHESTRATOR, RunInfo, SessionEvent
from taskloom.view.event_line import event_line
from taskloom.view.format import one_line
from taskloom.view.run.model import WorkerRunView
from taskloom.view.run.output import OutputBuffer
from taskloom.view.run.task_window import TaskWindow, look_at
from taskloom.view.style import mark

_TOLD_AT_ONCE: Final = 100
"""Lines of the story that one look adds; more than that nobody reads, and the log has them."""


class ViewModel:
    """One session as it is now."""

    def __init__(self, host: Host, story: BoardEvents, voices: RunStreams) -> None:
        """Begin with nothing seen."""
        self._host = host
        self._story = story
        self._voices = voices
        self._began = monotonic()
        self._since: dict[RunId, float] = {ORCHESTRATOR: self._began}
        self._speeches: dict[RunId, OutputBuffer] = {ORCHESTRATOR: OutputBuffer()}
        self._tasks: dict[TaskId, TaskWindow] = {}
        self._changed: set[TaskId] = set()
        self._last_run: WorkerRunView | None = None
        self.replies: list[Message] = []
        """What the Orchestrator said and has not been told yet."""
        self.is_new = True
        """Whether anything happened since somebody last asked."""

    @property
    def elapsed(self) -> timedelta:
        """How long it has been watched."""
        return timedelta(seconds=monotonic() - self._began)

    @property
    def tasks(self) -> tuple[TaskWindow, ...]:
        """The Tasks, in the order they were met."""
        return tuple(self._tasks.values())

    @property
    def runs(self) -> list[RunInfo]:
        """The worker runs under way."""
        return self._host.orchestrator.runs(include_ended=False)

    async def begin(self) -> None:
        """Find the Tasks that are there already."""
        page = await self._host.board.list(looker(self._host))
        self._changed.update(line.task_id for line in page.tasks if line.status != "unavailable")

    async def refresh(self, reading: RunId) -> list[Text]:
        """Take in what is new; return the story's new lines. `reading` is whom somebody reads."""
        return await self._take_in(self._story.take(), reading)

    async def finish(self, reading: RunId) -> list[Text]:
        """Take in the rest, once the work is done."""
        return await self._take_in(await self._story.rest(), reading)

    async def _take_in(self, happened: Sequence[SessionEvent], reading: RunId) -> list[Text]:
        lines = self._tell(happened)
        under_way = {worker_run.run_id for worker_run in self.runs}
        for run_id, said in await self._voices.take():
            self.is_new = True
            speech = self._speeches.get(run_id)
            if speech is None and run_id in under_way:
                speech = self._speeches[run_id] = OutputBuffer()
            if speech is not None:
                speech.hear(said)
            if run_id == ORCHESTRATOR and isinstance(said, ModelReply):
                self.replies.append(said.message)
            elif run_id == ORCHESTRATOR and isinstance(said, str):
                lines.append(Text(one_line(said)))
        keep = {ORCHESTRATOR, reading, *under_way}
        now = monotonic()
        self._since = {
            run_id: self._since.get(run_id, now) for run_id in (*self._since, *under_way)
            if run_id in keep
        }  # fmt: skip  # what is kept stands on one line
        self._speeches = {
            run_id: speech for run_id, speech in self._speeches.items() if run_id in keep
        }
        return lines

    def _tell(self, happened: Sequence[SessionEvent]) -> list[Text]:
        lines: list[Text] = []
        for each in happened:
            self.is_new = True
            if each.task_id is not None and each.wal_seq is not None:
                self._changed.add(each.task_id)
            line = event_line(each)
            if line is not None:
                text = Text(f"{each.at:%H:%M:%S} ", "dim")
                lines.append(text.append(line.text, mark(line.status).style if line.status else ""))
        if len(lines) > _TOLD_AT_ONCE:
            left = len(lines) - _TOLD_AT_ONCE
            lines[:left] = [
                Text(f"… {left:,} lines that came too quickly; the log has them", "dim")
            ]
        return lines

    async def look(self, room: int, *, again: bool = False) -> None:
        """Look at the Tasks that changed, or at all that go on, for so many steps of each."""
        if again:
            self._changed.update(one for one, task in self._tasks.items() if not task.is_over)
        actor = looker(self._host)
        changed, self._changed = self._changed, set()
        for task_id in changed:
            try:
                seen = await self._host.board.read(task_id, look_at(room), actor)
            except TaskloomError:
                continue  # It is told in the story; what was seen last stays.
            self._tasks[task_id] = seen

    def seen_runs(self, reading: RunId | None) -> tuple[WorkerRunView, ...]:
        """Return the runs as they are, and the one that somebody reads though it is over."""
        found = [self._run(ORCHESTRATOR, ORCHESTRATOR)]
        for worker_run in self.runs:
            stopping = worker_run.state == "stopping"
            seen = self._run(
                worker_run.run_id, worker_run.name, worker_run.step_id, stopping=stopping
            )
            found.append(seen)
        last = self._last_run
        for run in found:
            if run.run_id == reading:
                self._last_run = last = run
        if reading is not None and last is not None and last.run_id == reading:
            found += [last] if last not in found else []
        return tuple(found)

    def speech(self, run_id: RunId) -> OutputBuffer:
        """Return what a run said."""
        return self._speeches.get(run_id) or OutputBuffer()

    def _run(
        self, run_id: RunId, name: str, step_id: str | None = None, *, stopping: bool = False
    ) -> WorkerRunView:
        return WorkerRunView(
            run_id=run_id,
            name=name,
            step_id=step_id,
            age=timedelta(seconds=monotonic() - self._since.get(run_id, monotonic())),
            last=self.speech(run_id).last,
            stopping=stopping,
        )
