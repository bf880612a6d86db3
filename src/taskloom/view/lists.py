"""Lists for people: Tasks, timelines, checks and comparisons."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from taskloom.board import StepView, TaskLine, TaskPage
from taskloom.runtime.inspect import Entry
from taskloom.runtime.survey import Finding, Health
from taskloom.view.compare import Change, Comparison
from taskloom.view.gist import gist
from taskloom.view.style import mark, status_word
from taskloom.view.words import clean, counts, moment, one_line, plural, size

_STEPS_SHOWN: Final = 200
_WITH_HOLDER: Final = ("claimed_by_run_id", "lease_expires_at")
_WORDS: Final = {"claimed_by_agent_id": "held by", "result_summary": "result"}


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in headings:
        table.add_column(heading, no_wrap=True, overflow="ellipsis")
    return table


def draw_tasks(page: TaskPage) -> RenderableType:
    """Draw a page of Tasks."""
    table = _table("task", "status", "steps", "changed (UTC)", "title")
    for line in page.tasks:
        table.add_row(
            Text.assemble(mark(line.status), " ", clean(line.task_id)),
            status_word(line.status),
            counts(line.counts),
            moment(line.updated_at),
            _about(line),
        )
    if not page.has_more:
        return table
    note = f"{len(page.tasks):,} of {plural(page.total, 'Task')}; --limit and --offset show others"
    return Group(table, Text(note, "dim"))


def _about(line: TaskLine) -> Text:
    if line.error is not None:
        details = line.error.get("message", "")
        return Text(one_line(str(details)), "red")
    text = Text(one_line(line.title))
    for word, is_so in (("stalled", line.stalled), ("completeable", line.completeable)):
        if is_so:
            text.append(f" ({word})", "yellow")
    outcome = line.result_summary or line.reason
    if outcome:
        text.append(f": {one_line(outcome)}", "dim")
    return text


EVENT_HEADING: Final = f"{'seq':>6}  {'time (UTC)':19}  {'event':23}  {'step':20}  {'by':14}  what"


def draw_entry(entry: Entry) -> Text:
    """Draw one event as one line, the same width each time, so that lines can come one by one."""
    line = Text.assemble(
        (f"{entry.wal_seq:>6}", "dim"), "  ", (moment(entry.created_at), "dim"), "  ",
        f"{clean(entry.event_type):23}", "  ", (f"{clean(entry.step_id or ''):20}", "bold"), "  ",
        f"{one_line(entry.actor_agent_id or ''):14}", "  ", gist(entry.event_type, entry.payload),
    )  # fmt: skip  # a line of the page is a line here
    line.rstrip()
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


_HEALTH_STYLE: Final = {
    Health.OK: "green",
    Health.TORN: "yellow",
    Health.DAMAGED: "bold red",
    Health.UNREADABLE: "bold red",
    Health.MISSING: "bold red",
}


def draw_findings(findings: Sequence[Finding]) -> RenderableType:
    """Draw what a check came to: one line a log, and the trouble beneath in full."""
    table = _table("health", "task", "status", "lines", "size", "file")
    for found in findings:
        table.add_row(
            Text(found.health, _HEALTH_STYLE[found.health]),
            clean(found.task_id or ""),
            status_word(found.status) if found.status is not None else "",
            f"{found.lines:,}",
            size(found.size_bytes),
            clean(Path(found.wal_path).name),
        )
    notes = [Text(note) for note in map(describe, findings) if note]
    for note in notes:
        note.overflow = "fold"
    return Group(table, *([Text(), *notes] if notes else []))


def describe(found: Finding) -> str:
    """Say what is to be known about one log; nothing if it is simply fine."""
    path = clean(found.wal_path)
    match found.health:
        case Health.DAMAGED:
            return f"damaged: {path}, line {found.line}: {clean(found.cause or '')}"
        case Health.UNREADABLE | Health.MISSING:
            return f"{found.health}: {path}: {clean(found.cause or '')}"
        case Health.TORN:
            what = found.cause or f"whole up to line {found.lines}"
            return (
                f"torn: {path}: {what}; {plural(found.torn_bytes, 'byte')} of a write that a "
                "crash cut short follow. Nothing that was acknowledged is lost."
            )
        case Health.OK if found.foreign:
            return (
                f"reference log: {path}: it has no checksums, so its numbering and its events "
                "were checked, not its bytes"
            )
        case Health.OK:
            return ""


def draw_comparison(found: Comparison) -> RenderableType:
    """Draw what changed between two moments: one step a row, a line for each thing that did."""
    head = Text.assemble(
        (clean(found.task_id), "bold"), f"  seq {found.before_seq:,} → {found.after_seq:,}"
    )
    if found.is_empty:
        return Group(head, Text("nothing changed"))
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(no_wrap=True, overflow="ellipsis")
    rows = [("~", "(the Task)", _changes(found.task))] if found.task else []
    rows += [("+", clean(step.step_id), _whole(step)) for step in found.added]
    rows += [("-", clean(step.step_id), _whole(step)) for step in found.removed]
    rows += [("~", clean(step.step_id), _changes(step.changes)) for step in found.changed]
    for sign, name, what in rows[:_STEPS_SHOWN]:
        table.add_row(Text(sign, {"+": "green", "-": "red"}.get(sign, "yellow")), name, what)
    rest = len(rows) - _STEPS_SHOWN
    more = [Text(f"… and {plural(rest, 'more step')}; --json has them all")] if rest > 0 else []
    return Group(head, table, *more)


def _whole(step: StepView) -> str:
    return f"{step.status}  {one_line(step.title)}"


def _changes(changes: Sequence[Change]) -> str:
    """Tell each change on a line of its own; run and lease come and go with the holder."""
    names = {change.field for change in changes}
    untold = _WITH_HOLDER if "claimed_by_agent_id" in names else ()
    return "\n".join(_change(change) for change in changes if change.field not in untold)


def _change(change: Change) -> str:
    before, after = _value(change.before), _value(change.after)
    if change.field == "status":
        return f"{before} → {after}"
    return f"{_WORDS.get(change.field, change.field)}: {before} → {after}"


def _value(value: object) -> str:
    match value:
        case None | "":
            return "nothing"
        case datetime():
            return moment(value)
        case bool():
            return "yes" if value else "no"
        case tuple():
            return "[" + ", ".join(one_line(str(each), 80) for each in value) + "]"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] # any tuple will do
        case _:
            return one_line(str(value), 160)
