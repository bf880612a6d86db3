"""Draws one Task: its state, its steps as a tree, and what changed after dispatch."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from taskloom.board import StepStatus, StepView
from taskloom.runtime import Inspection
from taskloom.view.dag_layout import DEPTH_MAX, Row, layout_dag
from taskloom.view.format import (
    clean,
    counts,
    join_names,
    json_text,
    lease_left,
    one_line,
    plural,
    timestamp,
)
from taskloom.view.step_filter import StepFilter
from taskloom.view.style import Cells, Columns, mark, progress, status_word

STEPS_SHOWN: Final = 100
"""A longer list is better filtered than scrolled."""

_URGENT: Final = (
    StepStatus.BLOCKED,
    StepStatus.FAILED,
    StepStatus.RUNNING,
    StepStatus.CLAIMED,
    StepStatus.READY,
    StepStatus.PENDING,
    StepStatus.COMPLETED,
    StepStatus.CANCELLED,
)
_TEXT_MAX: Final = 2_000


def draw_task(inspection: Inspection, step_filter: StepFilter, now: datetime) -> RenderableType:
    """Draw a Task."""
    parts: list[RenderableType] = [draw_head(inspection), Text()]
    selected = step_filter.apply(inspection).view.steps
    if not step_filter.is_active and (step_filter.show_all or len(selected) <= STEPS_SHOWN):
        parts.append(draw_tree(selected, now))
    else:
        shown = selected if step_filter.show_all else _most_urgent(selected)
        parts.append(draw_steps(shown, now))
        parts.extend(_left_out(len(selected) - len(shown)))
    changed = [step for step in selected if step.updated_after_dispatch]
    if changed:
        parts += [Text(), draw_dispatched(changed[:STEPS_SHOWN])]
    return Group(*parts)


def draw_head(inspection: Inspection) -> RenderableType:
    """Draw the state of the Task."""
    view = inspection.view
    done, total = view.counts.get("completed", 0), sum(view.counts.values())
    seq = f"seq {view.seq:,}"
    if view.seq != inspection.last_seq:
        seq = f"as it was at {seq} of {inspection.last_seq:,}"
    lines = [
        Text.assemble(
            (one_line(view.task_id), "bold"), " ", mark(view.status), " ",
            status_word(view.status), (f"  {seq}  {timestamp(view.updated_at)} UTC", "dim"),
        ),
        Text(one_line(view.title)),
        Text.assemble(progress(done, total), f" {done:,} of {plural(total, 'step')} completed"),
        Text(counts(view.counts)),
    ]  # fmt: skip  # one line of the page per line
    lines.extend(_diagnoses(inspection))
    for line in lines:
        line.no_wrap, line.overflow = True, "ellipsis"
    return Group(*lines)


def _diagnoses(inspection: Inspection) -> Iterator[Text]:
    view = inspection.view
    if view.stalled:
        yield Text("stalled: no step can run until the plan changes", "yellow")
    if view.completeable:
        yield Text("completeable: every required step is completed", "green")
    if view.reason:
        yield Text(f"reason: {one_line(view.reason)}")
    if view.result_summary:
        yield Text(f"result: {one_line(view.result_summary)}")
    if inspection.reference_log:
        yield Text("reference log: it can be read, not changed", "dim")


def draw_tree(steps: Sequence[StepView], now: datetime) -> Columns:
    """Draw every step under the deepest one it depends on."""
    done = {step.step_id for step in steps if step.status is StepStatus.COMPLETED}
    rows: list[Cells] = []
    for row in layout_dag(steps):
        notes = _notes(row.step, now)
        unmet = [on for on in row.step.depends_on_step_ids if on not in done]
        if row.step.status is StepStatus.PENDING and len(row.step.depends_on_step_ids) > 1:
            notes.append(Text(f"waits for {join_names(unmet)}", "dim"))
        if row.named:
            notes.append(Text(f"also before {join_names(row.named)}", "dim"))
        name = Text.assemble(
            (row.branch, "dim"), mark(row.step.status), " ", clean(row.step.step_id)
        )
        rows += _row(name, row.step, notes, _guide(row))
    return Columns(rows)


def draw_steps(steps: Sequence[StepView], now: datetime) -> Columns:
    """Draw steps as a list."""
    rows: list[Cells] = []
    for step in steps:
        name = Text.assemble(mark(step.status), " ", clean(step.step_id))
        rows += _row(name, step, _notes(step, now), "")
    return Columns(rows)


def _row(name: Text, step: StepView, notes: Sequence[Text], guide: str) -> Iterator[Cells]:
    """Yield the line of a step and those of its notes, with the guide of the tree."""
    yield name, status_word(step.status), notes[0]
    for note in notes[1:]:
        yield Text(guide, "dim"), Text(), note


def draw_dispatched(steps: Sequence[StepView]) -> Table:
    """Draw what workers saw at dispatch beside the current content."""
    table = Table(title="Changed after dispatch", title_justify="left", title_style="bold")
    for heading in ("step", "at dispatch", "now"):
        table.add_column(heading, overflow="fold")
    for step in steps:
        saw = (step.dispatched_title or "", step.dispatched_summary or "")
        table.add_row(clean(step.step_id), _content(*saw), _content(step.title, step.summary))
    return table


def _content(title: str, summary: str) -> Text:
    lines = [one_line(title, _TEXT_MAX)]
    if summary:
        lines.append(one_line(summary, _TEXT_MAX))
    return Text("\n".join(lines))


def _guide(row: Row) -> str:
    """Return the guide beside the further lines of a step."""
    own = ("  " if row.is_last else "│ ") if row.depth else ""
    return row.guides + own + ("│" if row.has_children and row.depth < DEPTH_MAX else "")


def _notes(step: StepView, now: datetime) -> list[Text]:
    """Return the lines about a step; the title comes first."""
    title = Text(one_line(step.title))
    if not step.required:
        title.append(" (optional)", "dim")
    notes = [title]
    if step.metadata is not None:
        notes.append(Text(f"metadata: {one_line(json_text(step.metadata))}", "dim"))
    if step.claimed_by_agent_id:
        held = f"by {one_line(step.claimed_by_agent_id)}"
        end = step.lease_expires_at
        notes.append(Text(held if end is None else f"{held}, {lease_left(end, now)}", "cyan"))
    if step.reason:
        notes.append(Text(f"reason: {one_line(step.reason)}", "yellow"))
    if step.result_summary and step.result_summary != step.reason:
        notes.append(Text(f"result: {one_line(step.result_summary)}", "dim"))
    if step.result_data is not None:
        notes.append(Text(f"data: {one_line(json_text(step.result_data))}", "dim"))
    if step.updated_after_dispatch:
        notes.append(Text("changed after dispatch, see below", "yellow"))
    return notes


def _most_urgent(steps: Sequence[StepView]) -> list[StepView]:
    rank = {status: at for at, status in enumerate(_URGENT)}
    return sorted(steps, key=lambda step: rank[step.status])[:STEPS_SHOWN]


def _left_out(count: int) -> list[RenderableType]:
    if count <= 0:
        return []
    advice = "--all shows the whole tree; --status ready,blocked and --pool NAME filter"
    return [Text(f"… and {plural(count, 'more step')}: {advice}", "dim")]
