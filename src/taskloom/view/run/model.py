"""All that a frame is drawn from. Plain data: whoever watches fills it, whoever draws reads it."""

from dataclasses import dataclass
from datetime import timedelta

from taskloom.ids import RunId, StepId
from taskloom.view.format import clean
from taskloom.view.run.output import Line
from taskloom.view.run.task_window import TaskWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRunView:
    """One run that is under way."""

    run_id: RunId
    name: str
    step_id: StepId | None
    age: timedelta
    last: str
    stopping: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question that waits for a person."""

    text: str
    for_session: str
    waiting: int = 0
    """Questions behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamView:
    """One run's own words, as far as the person has scrolled."""

    lines: tuple[Line, ...]
    """Up to the last one shown."""
    below: int = 0
    """Lines that follow."""
    over: bool = False


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
    paused: bool = False
    leaving: str = ""
    """What is waited for, once the person wants to leave."""
    asked: Asked | None = None
    confirm: str = ""
    """A yes-or-no question of the view's own."""
    stream: StreamView | None = None
    """If the selected run's words are shown instead of the board."""


def visible(text: str) -> str:
    """Return a question's text on one line, whole: a command of two lines is not one of one."""
    return clean(text.replace("\r\n", "⏎").replace("\n", "⏎").replace("\r", "⏎"))
