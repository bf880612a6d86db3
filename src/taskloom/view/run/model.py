"""The data of one frame of the live view. Watchers fill it, `frame` draws it."""

from dataclasses import dataclass
from datetime import timedelta

from taskloom.ids import RunId, StepId
from taskloom.view.run.output import Line
from taskloom.view.run.task_window import TaskWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRunView:
    """One active run."""

    run_id: RunId
    name: str
    step_id: StepId | None
    age: timedelta
    last_line: str
    """The last line of its output."""
    is_stopping: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionView:
    """A permission question that waits for the user."""

    text: str
    for_session: str
    """What an answer for the whole session would allow."""
    waiting: int = 0
    """Questions behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputView:
    """The output of one run, as far as the user has scrolled."""

    lines: tuple[Line, ...]
    """Up to the last one shown."""
    below: int = 0
    """Lines that follow."""
    has_ended: bool = False
    """Whether the run has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A session at one moment."""

    goal: str
    session_id: str
    elapsed: timedelta
    tasks: tuple[TaskWindow, ...]
    runs: tuple[WorkerRunView, ...]
    """The Orchestrator first, then the workers."""
    selected: RunId | None = None
    is_paused: bool = False
    stopping: str = ""
    """What the shutdown waits for, once the user quits."""
    question: QuestionView | None = None
    confirmation: str = ""
    """A yes-or-no question of the view itself."""
    output: OutputView | None = None
    """Set to show the output of the selected run instead of the board."""
