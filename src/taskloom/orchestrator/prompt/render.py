"""Renders a board or one Task as text that never exceeds a budget.

Blocked and held steps come first, then failed and ready ones, then the recent changes; the text
counts the steps that had no room. Only as many steps are read as could fit, so a big Task costs no
more than a small one, and the text is counted as a whole, not line by line.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final, TypeAlias

from msgspec import Struct

from taskloom.board import HELD, Step, StepStatus, Task, count_steps
from taskloom.codec import EventHeader
from taskloom.ids import AgentId, PoolId, RunId, StepId
from taskloom.text import clip_line

TokenCount: TypeAlias = Callable[[str], int]

_TEXT_CHARS: Final = 120
_LINE_TOKENS: Final = 12
"""A step's line costs at least about this much, so more lines than could fit are not made."""

_LINE_BYTES: Final = 20
_URGENT: Final = (StepStatus.BLOCKED, StepStatus.RUNNING, StepStatus.CLAIMED)
_FOR_ORCHESTRATOR: Final = (StepStatus.FAILED, StepStatus.READY)
_FOR_WORKER: Final = (StepStatus.READY, StepStatus.FAILED)
_ALL_OPEN: Final = (*_URGENT, *_FOR_ORCHESTRATOR, StepStatus.PENDING)


def estimate_tokens(text: str) -> int:
    """Count tokens as a quarter of the UTF-8 bytes, rounded up."""
    return -(-_count_bytes(text) // 4)


class Reader(Struct, frozen=True):
    """The agent that reads the text. A worker sees the ready steps of its pool and scope alone."""

    agent_id: AgentId
    worker_pool_id: PoolId | None = None
    """None for an Orchestrator."""
    allowed_step_ids: frozenset[StepId] | None = None
    run_id: RunId | None = None

    @property
    def is_worker(self) -> bool:
        """Whether it is a worker."""
        return self.worker_pool_id is not None

    def may_claim(self, step: Step) -> bool:
        """Return whether a ready step is in the reader's scope."""
        return not self.is_worker or (
            step.worker_pool_id == self.worker_pool_id
            and (self.allowed_step_ids is None or step.step_id in self.allowed_step_ids)
        )


class TaskLines(Struct, frozen=True):
    """One Task as lines: its own, and those of its steps by importance."""

    head: str
    urgent: list[str]
    """Blocked, running and claimed steps; the reader's own first."""
    later: list[str]
    """Ready and failed steps."""
    urgent_count: int
    later_count: int


def max_lines(budget: int) -> int:
    """Return how many steps a board text of this budget could show at most."""
    return max(budget // _LINE_TOKENS, 10)


def task_lines(task: Task, reader: Reader, limit: int) -> TaskLines:
    """Return a Task as lines, with at most about `limit` steps."""
    # The reader's own step is looked up: among many held ones it may not be one of the first.
    own = task.steps.get(task.claims.get(reader.run_id or "", ""))
    urgent = [own] if own is not None and own.status in HELD else []
    urgent += islice((step for step in _walk(task, _URGENT) if step is not own), limit)
    urgent.sort(key=lambda step: step.claimed_by_agent_id != reader.agent_id)
    statuses = _FOR_WORKER if reader.is_worker else _FOR_ORCHESTRATOR
    visible = (
        step
        for step in _walk(task, statuses)
        if step.status is not StepStatus.READY or reader.may_claim(step)
    )
    later = list(islice(visible, max(0, limit - len(urgent))))
    counts, prefix = task.counts, f"{task.task_id}/"
    return TaskLines(
        head="; ".join(_head(task)),
        urgent=[_step_line(step, reader, prefix) for step in urgent],
        later=[_step_line(step, reader, prefix) for step in later],
        urgent_count=sum(counts[status] for status in _URGENT),
        later_count=len(later) if reader.is_worker else sum(counts[each] for each in statuses),
    )


def render_board(
    tasks: list[TaskLines], changes: list[EventHeader], budget: int, count: TokenCount
) -> str:
    """Return the board within a budget of tokens; empty if there is nothing to show."""
    if not tasks and not changes:
        return ""
    heads = [task.head for task in tasks]
    steps = [line for task in tasks for line in task.urgent]
    steps += [line for task in tasks for line in task.later]
    recent = [_change_line(change) for change in changes]
    total = sum(task.urgent_count + task.later_count for task in tasks)

    def render(size: int) -> str:
        """Render the `size` most important lines."""
        shown = steps[: max(0, size - len(heads))]
        newest = min(len(recent), max(0, size - len(heads) - len(steps)))
        lines = ["<task_board>", *heads[:size], *shown]
        if newest:
            lines += ["recent changes:", *recent[-newest:]]
        if total > len(shown):
            hidden = total - len(shown)
            lines.append(f"… {hidden} more steps are not shown; ask with task_query_steps")
        lines.append("</task_board>")
        return "\n".join(lines)

    return _fit(render, len(heads) + len(steps) + len(recent), budget, count)


def render_task(task: Task, budget_bytes: int) -> str:
    """Return one Task with its open steps within a budget of UTF-8 bytes."""
    reader = Reader("")
    head = _head(task)
    if task.result_summary:
        head.append(f"result: {_clip(task.result_summary)}")
    limit = max(0, budget_bytes // _LINE_BYTES)
    steps = [_step_line(step, reader) for step in islice(_walk(task, _ALL_OPEN), limit)]
    total = sum(task.counts[status] for status in _ALL_OPEN)

    def render(size: int) -> str:
        lines = [*head, *steps[:size]]
        if total > size:
            query = f"task_query_steps(task_id={task.task_id!r})"
            lines.append(f"… and {total - size} more open steps; {query} shows them")
        return "\n".join(lines)

    text = _fit(render, len(steps), budget_bytes, _count_bytes)
    return text or render(0).encode("utf-8", "replace")[:budget_bytes].decode("utf-8", "ignore")


def _fit(render: Callable[[int], str], size: int, budget: int, count: TokenCount) -> str:
    """Return the longest rendering that fits, by bisection; empty if none does."""
    text = render(size)
    if count(text) <= budget:
        return text
    fits = 0
    while size - fits > 1:
        middle = (fits + size) // 2
        if count(render(middle)) <= budget:
            fits = middle
        else:
            size = middle
    # A counter need not grow with the text, so the result is counted once more.
    while fits >= 0:
        text = render(fits)
        if count(text) <= budget:
            return text
        fits -= 1
    return ""


def _walk(task: Task, statuses: tuple[StepStatus, ...]) -> Iterator[Step]:
    for status in statuses:
        for step_id in task.index.walk(None, (status,), lambda _: True):
            yield task.steps[step_id]


def _head(task: Task) -> list[str]:
    counts = ", ".join(f"{count} {status}" for status, count in count_steps(task).items())
    parts = [f"Task {task.task_id} [{task.status.value}] {_clip(task.title)} ({counts})"]
    if task.is_completeable:
        parts.append("completeable: call task_complete")
    if task.is_stalled:
        parts.append("stalled: change the plan")
    if task.reason:
        parts.append(f"reason: {_clip(task.reason)}")
    return parts


def _step_line(step: Step, reader: Reader, prefix: str = "") -> str:
    parts = [f"- {prefix}{step.step_id} [{step.status.value}] {_clip(step.title)}"]
    if step.claimed_by_agent_id is not None:
        own = step.claimed_by_agent_id == reader.agent_id
        parts.append("held by you" if own else f"held by {step.claimed_by_agent_id}")
        if step.lease_expires_at is not None:
            parts.append(f"until {step.lease_expires_at:%H:%M:%S}")
    elif not reader.is_worker:
        parts.append(f"pool {step.worker_pool_id}")
    if step.reason:
        parts.append(f"({_clip(step.reason)})")
    if step.unmet:
        parts.append(f"waits for {step.unmet}")
    if step.artifact_ids:
        parts.append(f"artifacts {_clip(', '.join(step.artifact_ids))}")
    return " ".join(parts)


def _change_line(change: EventHeader) -> str:
    where = change.task_id if change.step_id is None else f"{change.task_id}/{change.step_id}"
    agent = change.actor_agent_id or "?"
    return f"- {change.created_at:%H:%M:%S} {change.event_type} {where} by {agent}"


def _clip(text: str) -> str:
    return clip_line(text, _TEXT_CHARS)


def _count_bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
