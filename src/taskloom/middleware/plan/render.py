"""Tasks in words for the model."""

from collections.abc import Iterator
from typing import Final

from taskloom.middleware.plan.decide import numbered
from taskloom.middleware.plan.item import PlanItem, order
from taskloom.middleware.plan.plan_texts import PlanTexts
from taskloom.middleware.plan.tasks import Tasks

_REMINDED: Final = 20
"""Open tasks that a reminder shows: enough to go on with, and short."""


def show_task(item: PlanItem, texts: PlanTexts) -> str:
    """Return one task in full."""
    lines = [
        texts.task.format(id=item.id, subject=item.subject),
        texts.task_status.format(status=item.status),
        texts.task_description.format(description=item.description),
    ]
    if item.blocked_by:
        lines.append(texts.task_blocked_by.format(ids=numbered(item.blocked_by)))
    if item.blocks:
        lines.append(texts.task_blocks.format(ids=numbered(item.blocks)))
    if item.owner:
        lines.append(texts.task_owner.format(owner=item.owner))
    return "\n".join(lines)


def show_list(tasks: Tasks, texts: PlanTexts) -> str:
    """Return one line a task, and a word on files that cannot be read."""
    lines = [_line(tasks, item, texts) for item in tasks.items.values()] or [texts.no_tasks]
    if tasks.unreadable:
        ids = numbered(sorted(tasks.unreadable, key=order))
        lines.append(texts.left_out.format(ids=ids))
    return "\n".join(lines)


def show_reminder(tasks: Tasks, texts: PlanTexts) -> str:
    """Return the open tasks with a word of advice."""
    return "\n".join(_reminder(tasks, texts))


def _reminder(tasks: Tasks, texts: PlanTexts) -> Iterator[str]:
    yield texts.reminder
    ids = sorted(tasks.open, key=order)
    for id_ in ids[:_REMINDED]:
        yield _line(tasks, tasks.items[id_], texts)
    if len(ids) > _REMINDED:
        yield texts.reminder_more.format(count=len(ids) - _REMINDED)


def _line(tasks: Tasks, item: PlanItem, texts: PlanTexts) -> str:
    line = f"#{item.id} [{item.status}] {_flat(item.subject)}"
    if item.owner:
        line += texts.line_owner.format(owner=_flat(item.owner))
    blockers = tasks.open_blockers(item)
    if blockers:
        line += texts.line_blocked_by.format(ids=numbered(blockers))
    return line


def _flat(text: str) -> str:
    """Return a text in one line, so that it cannot pass for a line of another task."""
    return " ".join(text.split())
