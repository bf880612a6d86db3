"""The state of a session for the live view: its Tasks, its runs and their output."""

from collections.abc import Sequence
from datetime import timedelta
from time import monotonic
from typing import Final

from rich.text import Text

from taskloom.agent import Message, ModelReply
from taskloom.app.session_host import Host
from taskloom.cli.watch.watch_session import RunOutputs, SessionEvents, viewer
from taskloom.errors import TaskloomError
from taskloom.ids import RunId, TaskId
from taskloom.orchestrator import ORCHESTRATOR, RunInfo, SessionEvent
from taskloom.view.event_line import event_line
from taskloom.view.format import one_line
from taskloom.view.run.model import WorkerRunView
from taskloom.view.run.output import OutputBuffer
from taskloom.view.run.task_window import TaskWindow, window_reader
from taskloom.view.style import mark

_LINES_AT_ONCE: Final = 100
"""Event lines of one update; more cannot be read in time, and the log has them."""


class ViewModel:
    """One session as it is now."""

    def __init__(self, host: Host, events: SessionEvents, outputs: RunOutputs) -> None:
        """Start empty; `update` reads from `events` and `outputs`."""
        self._host = host
        self._events = events
        self._outputs = outputs
        self._started = monotonic()
        self._first_seen: dict[RunId, float] = {ORCHESTRATOR: self._started}
        self._buffers: dict[RunId, OutputBuffer] = {ORCHESTRATOR: OutputBuffer()}
        self._tasks: dict[TaskId, TaskWindow] = {}
        self._changed: set[TaskId] = set()
        self._last_selected: WorkerRunView | None = None
        self.replies: list[Message] = []
        """Replies of the Orchestrator that are not shown yet."""
        self.is_changed = True
        """Whether anything came since the flag was last cleared."""

    @property
    def elapsed(self) -> timedelta:
        """The time since the view was opened."""
        return timedelta(seconds=monotonic() - self._started)

    @property
    def tasks(self) -> tuple[TaskWindow, ...]:
        """The Tasks, in the order they appeared."""
        return tuple(self._tasks.values())

    @property
    def active_runs(self) -> list[RunInfo]:
        """The active worker runs."""
        return self._host.orchestrator.runs(include_ended=False)

    async def load_tasks(self) -> None:
        """Find the Tasks that exist already."""
        page = await self._host.board.list(viewer(self._host))
        self._changed.update(line.task_id for line in page.tasks if line.status != "unavailable")

    def update(self, selected: RunId) -> list[Text]:
        """Take new events and output; return the lines of the events.

        The output of the `selected` run is kept, even when the run has ended.
        """
        return self._update(self._events.take(), selected)

    async def update_to_end(self, selected: RunId) -> list[Text]:
        """Take the remaining events and output, once the work is done."""
        return self._update(await self._events.take_rest(), selected)

    def _update(self, events: Sequence[SessionEvent], selected: RunId) -> list[Text]:
        lines = self._event_lines(events)
        active = {run.run_id for run in self.active_runs}
        for run_id, output in self._outputs.take():
            self.is_changed = True
            if run_id in active and run_id not in self._buffers:
                self._buffers[run_id] = OutputBuffer()
            if run_id in self._buffers:
                self._buffers[run_id].add(output)
            if run_id == ORCHESTRATOR and isinstance(output, ModelReply):
                self.replies.append(output.message)
            elif run_id == ORCHESTRATOR and isinstance(output, str):
                lines.append(Text(one_line(output)))
        now = monotonic()
        keep = {ORCHESTRATOR, selected, *active}
        known = [run_id for run_id in (*self._first_seen, *active) if run_id in keep]
        self._first_seen = {run_id: self._first_seen.get(run_id, now) for run_id in known}
        self._buffers = {run_id: each for run_id, each in self._buffers.items() if run_id in keep}
        return lines

    def _event_lines(self, events: Sequence[SessionEvent]) -> list[Text]:
        lines: list[Text] = []
        for event in events:
            self.is_changed = True
            if event.task_id is not None and event.wal_seq is not None:
                self._changed.add(event.task_id)
            line = event_line(event)
            if line is not None:
                text = Text(f"{event.at:%H:%M:%S} ", "dim")
                lines.append(text.append(line.text, mark(line.status).style if line.status else ""))
        skipped = len(lines) - _LINES_AT_ONCE
        if skipped > 0:
            note = f"… {skipped:,} event lines skipped: too many at once; the log has them"
            lines[:skipped] = [Text(note, "dim")]
        return lines

    async def read_tasks(self, steps: int, *, every: bool = False) -> None:
        """Read the Tasks that changed, with `every` all that have not ended; so many steps each."""
        if every:
            self._changed.update(one for one, task in self._tasks.items() if not task.has_ended)
        actor = viewer(self._host)
        changed, self._changed = self._changed, set()
        for task_id in changed:
            try:
                task = await self._host.board.read(task_id, window_reader(steps), actor)
            except TaskloomError:
                continue  # An event line reports it; the last state stays.
            self._tasks[task_id] = task

    def run_views(self, selected: RunId | None) -> tuple[WorkerRunView, ...]:
        """Return the active runs, and the selected one even if it has ended."""
        views = [self._run_view(ORCHESTRATOR, ORCHESTRATOR)]
        for run in self.active_runs:
            is_stopping = run.state == "stopping"
            views.append(self._run_view(run.run_id, run.name, run.step_id, is_stopping=is_stopping))
        last = self._last_selected
        for view in views:
            if view.run_id == selected:
                self._last_selected = last = view
        if selected is not None and last is not None and last.run_id == selected:
            views += [last] if last not in views else []
        return tuple(views)

    def output(self, run_id: RunId) -> OutputBuffer:
        """Return the output of a run."""
        return self._buffers.get(run_id) or OutputBuffer()

    def _run_view(
        self, run_id: RunId, name: str, step_id: str | None = None, *, is_stopping: bool = False
    ) -> WorkerRunView:
        now = monotonic()
        return WorkerRunView(
            run_id=run_id,
            name=name,
            step_id=step_id,
            age=timedelta(seconds=now - self._first_seen.get(run_id, now)),
            last_line=self.output(run_id).last_line,
            is_stopping=is_stopping,
        )
