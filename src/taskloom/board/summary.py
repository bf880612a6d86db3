"""A summary of a Task that never exceeds a budget, whatever the size of the Task.

Steps that need action come first: blocked and held ones, then ready ones, then the others. The
last line counts the steps that do not fit and says how to query them.
"""

from collections.abc import Iterator
from typing import Final

from taskloom.board.state.step import Step
from taskloom.board.state.task import Task
from taskloom.board.status import StepStatus
from taskloom.board.views import count_steps
from taskloom.define import define
from taskloom.text import clip_line

BUDGET_BYTES: Final = 4_800
"""About 1,200 tokens."""

_ORDER: Final = (
    StepStatus.BLOCKED,
    StepStatus.RUNNING,
    StepStatus.CLAIMED,
    StepStatus.FAILED,
    StepStatus.READY,
    StepStatus.PENDING,
)
_TEXT_MAX: Final = 160


@define(frozen=True)
class Summary:
    """The text, and the number of open steps that did not fit."""

    text: str
    left_out: int


def summarise(task: Task, *, budget_bytes: int = BUDGET_BYTES) -> Summary:
    """Return the summary, of at most `budget_bytes` in UTF-8."""
    lines = _head(task)
    open_steps = sum(task.counts[status] for status in _ORDER)
    # The space of the last line is reserved before it is known whether it is needed.
    room = budget_bytes - sum(_size(line) for line in lines) - _size(_rest(task, open_steps))
    shown = 0
    for line in map(_line, _walk(task)):
        room -= _size(line)
        if room < 0:
            break
        lines.append(line)
        shown += 1
    left_out = open_steps - shown
    if left_out:
        lines.append(_rest(task, left_out))
    return Summary(_clip("\n".join(lines), budget_bytes), left_out)


def _walk(task: Task) -> Iterator[Step]:
    for status in _ORDER:
        for step_id in task.index.walk(None, (status,), lambda _: True):
            yield task.steps[step_id]


def _head(task: Task) -> list[str]:
    counts = ", ".join(f"{count} {status}" for status, count in count_steps(task).items())
    lines = [f"Task {task.task_id} [{task.status.value}] {_short(task.title)}", f"steps: {counts}"]
    if task.is_completeable:
        lines.append("completeable: every required step is completed")
    if task.is_stalled:
        lines.append("stalled: nothing can move until the plan is changed")
    if task.reason:
        lines.append(f"reason: {_short(task.reason)}")
    if task.result_summary:
        lines.append(f"result: {_short(task.result_summary)}")
    return lines


def _line(step: Step) -> str:
    parts = [f"- {step.step_id} [{step.status.value}] {_short(step.title)}"]
    if step.claimed_by_agent_id is not None:
        parts.append(f"by {step.claimed_by_agent_id}")
    if step.reason:
        parts.append(f"({_short(step.reason)})")
    if step.unmet:
        parts.append(f"waits for {step.unmet}")
    return " ".join(parts)


def _rest(task: Task, count: int) -> str:
    return f"… and {count} more open steps; task_query_steps(task_id={task.task_id!r}) shows them"


def _short(text: str) -> str:
    return clip_line(text, _TEXT_MAX)


def _size(line: str) -> int:
    return len(line.encode("utf-8", "replace")) + 1


def _clip(text: str, most: int) -> str:
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= most else raw[:most].decode("utf-8", "ignore")
