"""The board in a prompt: what matters first, never longer than its budget.

Blocked and held steps come before ready ones, those before failed ones and the last changes; of
what had no room the number is told. Only as much of a Task is looked at as fits, so a big board
costs no more than a small one.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final, TypeAlias

from msgspec import Struct

from taskloom.board import StepStatus, Task
from taskloom.board.state.step import Step
from taskloom.board.status import HELD
from taskloom.board.views import count_steps
from taskloom.codec import EventHeader
from taskloom.ids import AgentId, PoolId, RunId, StepId
from taskloom.text import clip_line

TokenCount: TypeAlias = Callable[[str], int]

_TEXT_CHARS: Final = 120
_LINE_TOKENS: Final = 12
"""A step's line costs at least about this much; more lines than could fit are not even made."""

_URGENT: Final = (StepStatus.BLOCKED, StepStatus.RUNNING, StepStatus.CLAIMED)
_LATER: Final = (StepStatus.READY, StepStatus.FAILED)


def about_tokens(text: str) -> int:
    """Count tokens as a quarter of the UTF-8 bytes, rounded up."""
    return -(-len(text.encode("utf-8", "replace")) // 4)


class Reader(Struct, frozen=True):
    """Whose prompt it is. A worker sees the ready steps of its pool and scope alone."""

    agent_id: AgentId
    worker_pool_id: PoolId | None = None
    """None for an Orchestrator."""
    allowed_step_ids: frozenset[StepId] | None = None
    run_id: RunId | None = None

    def sees(self, step: Step) -> bool:
        """Tell whether a ready step is one this reader could do something with."""
        if self.worker_pool_id is None:
            return True
        return step.worker_pool_id == self.worker_pool_id and (
            self.allowed_step_ids is None or step.step_id in self.allowed_step_ids
        )


class Glance(Struct, frozen=True):
    """One Task as it was looked at: its line, and the lines of its steps by importance."""

    head: str
    urgent: list[str]
    """Blocked, running and claimed steps; the reader's own first."""
    later: list[str]
    """Ready and failed steps."""
    urgent_count: int
    later_count: int


def lines_max(budget: int) -> int:
    """Return how many lines a prompt could show at most."""
    return max(budget // _LINE_TOKENS, 10)


def look(task: Task, reader: Reader, most: int) -> Glance:
    """Look at a Task, and at no more steps than a prompt could show."""
    # The run's own step is looked up: among many it need not be one of the first.
    own = task.steps.get(task.claims.get(reader.run_id or "", ""))
    urgent = [own] if own is not None and own.status in HELD else []
    urgent += islice((step for step in _steps(task, _URGENT) if step is not own), most)
    urgent.sort(key=lambda step: step.claimed_by_agent_id != reader.agent_id)
    every = (each for each in _steps(task, _LATER) if _concerns(each, reader))
    later = list(islice(every, max(0, most - len(urgent))))
    counts = task.counts
    return Glance(
        head=_head(task),
        urgent=[_line(task, step, reader) for step in urgent],
        later=[_line(task, step, reader) for step in later],
        urgent_count=sum(counts[status] for status in _URGENT),
        later_count=sum(counts[status] for status in _LATER)
        if reader.worker_pool_id is None
        else len(later),
    )


def compose(
    glances: list[Glance], changes: list[EventHeader], budget: int, count: TokenCount
) -> str:
    """Return the text within the budget; empty if there is nothing to say."""
    if not glances and not changes:
        return ""
    page = _Page(budget, count)
    page.begin()
    for glance in glances:
        page.add(glance.head)
    page.begin_steps()
    left_out = 0
    for glance in glances:
        left_out += glance.urgent_count - page.add_all(glance.urgent)
    for glance in glances:
        left_out += glance.later_count - page.add_all(glance.later)
    page.end_steps()
    page.add_changes(changes)
    return page.finish(left_out)


class _Page:
    """Lines that together cost no more than a budget, with room kept for the last one."""

    _OPEN: Final = "<task_board>"
    _CLOSE: Final = "</task_board>"
    _REST: Final = "… {count} more steps are not shown; ask with task_query_steps"

    def __init__(self, budget: int, count: TokenCount) -> None:
        self._budget = budget
        self._count = count
        self._lines: list[str] = []
        self._used = 0
        self._steps = range(0)
        """Which of the lines are steps."""

    def begin(self) -> None:
        closing = self._CLOSE + "\n" + self._REST.format(count=10_000_000)
        self._used = self._cost(self._OPEN) + self._cost(closing)
        self._lines = [self._OPEN]

    def _cost(self, line: str) -> int:
        return self._count(line + "\n") + 1  # Joining may cost a token at the seam.

    def begin_steps(self) -> None:
        self._steps = range(len(self._lines), len(self._lines))

    def end_steps(self) -> None:
        self._steps = range(self._steps.start, len(self._lines))

    def add(self, line: str) -> bool:
        cost = self._cost(line)
        if self._used + cost > self._budget:
            return False
        self._used += cost
        self._lines.append(line)
        return True

    def add_all(self, lines: list[str]) -> int:
        """Add as many as fit, in order; return how many."""
        for at, line in enumerate(lines):
            if not self.add(line):
                return at
        return len(lines)

    def add_changes(self, changes: list[EventHeader]) -> None:
        """Add the last changes, the newest if not all of them fit, in order of time."""
        lines = [_change(change) for change in changes]
        cost, chosen = self._cost("recent changes:"), 0
        for line in reversed(lines):
            more = self._cost(line)
            if self._used + cost + more > self._budget:
                break
            cost += more
            chosen += 1
        if chosen and self.add("recent changes:"):
            for line in lines[-chosen:]:
                self.add(line)

    def finish(self, left_out: int) -> str:
        text = self._text(left_out)
        # Counters need not add up line by line; what is over is taken off from behind.
        while self._count(text) > self._budget and len(self._lines) > 1:
            left_out += len(self._lines) - 1 in self._steps
            del self._lines[-1]
            text = self._text(left_out)
        return text if self._count(text) <= self._budget else ""

    def _text(self, left_out: int) -> str:
        rest = [self._REST.format(count=left_out)] if left_out > 0 else []
        return "\n".join([*self._lines, *rest, self._CLOSE])


def _steps(task: Task, statuses: tuple[StepStatus, ...]) -> Iterator[Step]:
    for status in statuses:
        for step_id in task.index.walk(None, (status,), lambda _: True):
            yield task.steps[step_id]


def _concerns(step: Step, reader: Reader) -> bool:
    return step.status is not StepStatus.READY or reader.sees(step)


def _head(task: Task) -> str:
    counts = ", ".join(f"{count} {status}" for status, count in count_steps(task).items())
    line = f"Task {task.task_id} [{task.status.value}] {_short(task.title)} ({counts})"
    if task.is_completeable:
        line += "; completeable: call task_complete"
    if task.is_stalled:
        line += "; stalled: change the plan"
    if task.reason:
        line += f"; reason: {_short(task.reason)}"
    return line


def _line(task: Task, step: Step, reader: Reader) -> str:
    parts = [f"- {task.task_id}/{step.step_id} [{step.status.value}] {_short(step.title)}"]
    if step.claimed_by_agent_id is not None:
        mine = step.claimed_by_agent_id == reader.agent_id
        parts.append("held by you" if mine else f"held by {step.claimed_by_agent_id}")
        if step.lease_expires_at is not None:
            parts.append(f"until {step.lease_expires_at:%H:%M:%S}")
    elif reader.worker_pool_id is None:
        parts.append(f"pool {step.worker_pool_id}")
    if step.reason:
        parts.append(f"({_short(step.reason)})")
    if step.artifact_ids:
        parts.append(f"artifacts {_short(', '.join(step.artifact_ids))}")
    return " ".join(parts)


def _change(change: EventHeader) -> str:
    where = change.task_id if change.step_id is None else f"{change.task_id}/{change.step_id}"
    agent = change.actor_agent_id or "?"
    return f"- {change.created_at:%H:%M:%S} {change.event_type} {where} by {agent}"


def _short(text: str) -> str:
    return clip_line(text, _TEXT_CHARS)
