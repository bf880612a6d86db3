"""A Task while it is being worked on: one line a step, so that the whole fits a screen."""

from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from taskloom.board import StepView, TaskView
from taskloom.view.forest import lay_out
from taskloom.view.style import mark, progress, status_word
from taskloom.view.words import clean, counts, lease, one_line


def draw_live(view: TaskView, now: datetime) -> RenderableType:
    """Draw the Task as it is now."""
    done, total = view.counts.get("completed", 0), sum(view.counts.values())
    table = Table.grid(padding=(0, 2, 0, 0))
    for width in (None, 9, 34):
        table.add_column(no_wrap=True, overflow="ellipsis", min_width=width)
    for row in lay_out(view.steps):
        guides = "".join("│ " if more else "  " for more in row.lines)
        branch = ("└ " if row.is_last else "├ ") if row.depth else ""
        name = Text.assemble(
            (guides + branch, "dim"), mark(row.step.status), " ", clean(row.step.step_id)
        )
        table.add_row(name, status_word(row.step.status), _beside(row.step, now))
    head = Text.assemble(
        (one_line(view.title), "bold"), "  ", mark(view.status), " ", status_word(view.status)
    )
    return Group(head, Text.assemble(progress(done, total), f" {counts(view.counts)}"), table)


def _beside(step: StepView, now: datetime) -> Text:
    if step.claimed_by_agent_id:
        end = step.lease_expires_at
        left = f", {lease(end, now)}" if end is not None else ""
        return Text(f"{one_line(step.claimed_by_agent_id)}{left}", "cyan")
    return Text(one_line(step.reason or step.result_summary or step.title), "dim")
