"""One Task for people: where it stands, its steps as a tree, and what a worker did not see."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from taskloom.board import StepStatus, StepView
from taskloom.runtime import Inspection
from taskloom.view.columns import Cells, Columns
from taskloom.view.dag_layout import DEPTH_MAX, Row, layout_dag
from taskloom.view.format import clean, counts, json_text, lease, moment, one_line, plural, some
from taskloom.view.step_filter import Choice
from taskloom.view.style import mark, progress, status_word

STEPS_SHOWN: Final = 100
"""A board that does not fit three screens is read by asking, not by scrolling."""

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


def draw_task(seen: Inspection, choice: Choice, now: datetime) -> RenderableType:
    """Draw the whole page of a Task."""
    parts: list[RenderableType] = [draw_head(seen), Text()]
    chosen = choice.narrow(seen).view.steps
    if not choice.is_narrow and (choice.everything or len(chosen) <= STEPS_SHOWN):
        parts.append(draw_tree(chosen, now))
    else:
        shown = chosen if choice.everything else _most_urgent(chosen)
        parts.append(draw_steps(shown, now))
        parts.extend(_left_out(len(chosen) - len(shown)))
    changed = [step for step in chosen if step.updated_after_dispatch]
    if changed:
        parts += [Text(), draw_dispatched(changed[:STEPS_SHOWN])]
    return Group(*parts)


def draw_head(seen: Inspection) -> RenderableType:
    """Draw where the Task stands."""
    view = seen.view
    done, total = view.counts.get("completed", 0), sum(view.counts.values())
    place = f"seq {view.seq:,}" if view.seq == seen.last_seq else _moment_of(seen)
    lines = [
        Text.assemble(
            (one_line(view.task_id), "bold"), " ", mark(view.status), " ",
            status_word(view.status), (f"  {place}  {moment(view.updated_at)} UTC", "dim"),
        ),
        Text(one_line(view.title)),
        Text.assemble(progress(done, total), f" {done:,} of {plural(total, 'step')} completed"),
        Text(counts(view.counts)),
    ]  # fmt: skip  # a line of the page is a line here
    lines.extend(_diagnoses(seen))
    for line in lines:
        line.no_wrap, line.overflow = True, "ellipsis"
    return Group(*lines)


def _moment_of(seen: Inspection) -> str:
    return f"as it was at seq {seen.view.seq:,} of {seen.last_seq:,}"


def _diagnoses(seen: Inspection) -> Iterator[Text]:
    view = seen.view
    if view.stalled:
        yield Text("stalled: nothing can move until the plan is changed", "yellow")
    if view.completeable:
        yield Text("completeable: every required step is completed", "green")
    if view.reason:
        yield Text(f"reason: {one_line(view.reason)}")
    if view.result_summary:
        yield Text(f"result: {one_line(view.result_summary)}")
    if seen.reference_log:
        yield Text("written by the reference implementation: to be read, not changed", "dim")


def draw_tree(steps: Sequence[StepView], now: datetime) -> Columns:
    """Draw every step under the deepest one it waits for."""
    done = {step.step_id for step in steps if step.status is StepStatus.COMPLETED}
    rows: list[Cells] = []
    for row in layout_dag(steps):
        notes = _notes(row.step, now)
        unmet = [on for on in row.step.depends_on_step_ids if on not in done]
        if row.step.status is StepStatus.PENDING and len(row.step.depends_on_step_ids) > 1:
            notes.append(Text(f"waits for {some(unmet)}", "dim"))
        if row.named:
            notes.append(Text(f"also before {some(row.named)}", "dim"))
        rows += _row(_branch(row), row.step, notes, _guide(row))
    return Columns(rows)


def draw_steps(steps: Sequence[StepView], now: datetime) -> Columns:
    """Draw steps beneath each other, without the tree."""
    rows: list[Cells] = []
    for step in steps:
        name = Text.assemble(mark(step.status), " ", clean(step.step_id))
        rows += _row(name, step, _notes(step, now), "")
    return Columns(rows)


def _row(name: Text, step: StepView, notes: Sequence[Text], guide: str) -> Iterator[Cells]:
    """Yield a step's own line and those beneath it, with the guide that leads on."""
    yield name, status_word(step.status), notes[0]
    for note in notes[1:]:
        yield Text(guide, "dim"), Text(), note


def draw_dispatched(steps: Sequence[StepView]) -> Table:
    """Draw, for steps changed after dispatch, what the worker saw beside what stands there now."""
    table = Table(title="Changed after dispatch", title_justify="left", title_style="bold")
    for heading in ("step", "the worker saw", "now"):
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


def _branch(row: Row) -> Text:
    """Draw a step's sign and name behind its guides."""
    own = ("└ " if row.is_last else "├ ") if row.depth else ""
    deep = Text(f"({row.depth}) ", "dim") if row.depth > DEPTH_MAX else Text()
    sign = mark(row.step.status)
    return Text.assemble((_before(row) + own, "dim"), deep, sign, " ", clean(row.step.step_id))


def _guide(row: Row) -> str:
    """Draw the guides beside the further lines of a step."""
    own = ("  " if row.is_last else "│ ") if row.depth else ""
    return _before(row) + own + ("│" if row.has_children and row.depth < DEPTH_MAX else "")


def _before(row: Row) -> str:
    return "".join("│ " if more else "  " for more in row.lines)


def _notes(step: StepView, now: datetime) -> list[Text]:
    """Say what there is to say about a step, a line each; the title comes first."""
    title = Text(one_line(step.title))
    if not step.required:
        title.append(" (optional)", "dim")
    notes = [title]
    if step.metadata is not None:
        notes.append(Text(f"metadata: {one_line(json_text(step.metadata))}", "dim"))
    if step.claimed_by_agent_id:
        held = f"by {one_line(step.claimed_by_agent_id)}"
        end = step.lease_expires_at
        notes.append(Text(held if end is None else f"{held}, {lease(end, now)}", "cyan"))
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
    advice = "--all shows them as a tree; --status ready,blocked and --pool NAME choose"
    return [Text(f"… and {plural(count, 'more step')}: {advice}", "dim")]
