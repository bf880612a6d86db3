"""Tasks as text for the model."""

from typing import Final

from taskloom.middleware.plan.decide import format_ids
from taskloom.middleware.plan.item import PlanItem, id_order
from taskloom.middleware.plan.plan_texts import PlanTexts
from taskloom.middleware.plan.tasks import Tasks

_REMINDER_TASKS_MAX: Final = 20


def render_task(item: PlanItem, texts: PlanTexts) -> str:
    """Return one task with all its fields."""
    lines = [
        texts.task.format(id=item.id, subject=item.subject),
        texts.task_status.format(status=item.status),
        texts.task_description.format(description=item.description),
    ]
    if item.blocked_by:
        lines.append(texts.task_blocked_by.format(ids=format_ids(item.blocked_by)))
    if item.blocks:
        lines.append(texts.task_blocks.format(ids=format_ids(item.blocks)))
    if item.owner:
        lines.append(texts.task_owner.format(owner=item.owner))
    return "\n".join(lines)


def render_list(tasks: Tasks, texts: PlanTexts) -> str:
    """Return one line per task, then the ids of unreadable files."""
    lines = [_line(tasks, item, texts) for item in tasks.items.values()] or [texts.no_tasks]
    if tasks.unreadable:
        ids = format_ids(sorted(tasks.unreadable, key=id_order))
        lines.append(texts.left_out.format(ids=ids))
    return "\n".join(lines)


def render_reminder(tasks: Tasks, texts: PlanTexts) -> str:
    """Return advice to use the list, then the open tasks."""
    ids = sorted(tasks.open, key=id_order)
    lines = [_line(tasks, tasks.items[id_], texts) for id_ in ids[:_REMINDER_TASKS_MAX]]
    if len(ids) > _REMINDER_TASKS_MAX:
        lines.append(texts.reminder_more.format(count=len(ids) - _REMINDER_TASKS_MAX))
    return "\n".join([texts.reminder, *lines])


def _line(tasks: Tasks, item: PlanItem, texts: PlanTexts) -> str:
    line = f"#{item.id} [{item.status}] {_one_line(item.subject)}"
    if item.owner:
        line += texts.line_owner.format(owner=_one_line(item.owner))
    blockers = tasks.open_blockers(item)
    if blockers:
        line += texts.line_blocked_by.format(ids=format_ids(blockers))
    return line


def _one_line(text: str) -> str:
    """Return a text on one line, so that it cannot imitate another task's line."""
    return " ".join(text.split())
