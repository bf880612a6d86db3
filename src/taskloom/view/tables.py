"""Tables of Tasks, log checks and comparisons."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from taskloom.board import StepView, TaskLine, TaskPage
from taskloom.runtime import Finding, Health
from taskloom.view.compare import Change, Comparison
from taskloom.view.format import clean, one_line, plural, size, timestamp
from taskloom.view.style import Cells, Columns, mark, status_word

_STEPS_SHOWN: Final = 200
_WITH_HOLDER: Final = ("claimed_by_run_id", "lease_expires_at")
_LABELS: Final = {"claimed_by_agent_id": "held by", "result_summary": "result"}


def draw_tasks(page: TaskPage) -> RenderableType:
    """Draw a page of Tasks."""
    rows = [
        (
            Text.assemble(mark(line.status), " ", clean(line.task_id)),
            status_word(line.status),
            Text(_done(line)),
            Text(timestamp(line.updated_at)),
            _about(line),
        )
        for line in page.tasks
    ]
    table = Columns(rows, heading=("  task", "status", "steps done", "changed (UTC)", "title"))
    if not page.has_more:
        return table
    note = f"{len(page.tasks):,} of {plural(page.total, 'Task')}; --limit and --offset show more"
    return Group(table, Text(note, "dim"))


def _done(line: TaskLine) -> str:
    if not line.counts:
        return ""
    return f"{line.counts.get('completed', 0):,} of {sum(line.counts.values()):,}"


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


_HEALTH_STYLE: Final = {
    Health.OK: "green",
    Health.TORN: "yellow",
    Health.DAMAGED: "bold red",
    Health.UNREADABLE: "bold red",
    Health.MISSING: "bold red",
    Health.NOT_A_FILE: "bold red",
}


def draw_findings(findings: Sequence[Finding]) -> RenderableType:
    """Draw the results of a check: one line per log, then the problems in full."""
    rows = [
        (
            Text(found.health, _HEALTH_STYLE[found.health]),
            Text(clean(found.task_id or "")),
            status_word(found.status) if found.status is not None else Text(),
            Text(f"{found.lines:,}"),
            Text(size(found.size_bytes)),
            Text(clean(Path(found.wal_path).name)),
        )
        for found in findings
    ]
    table = Columns(rows, heading=("health", "task", "status", "lines", "size", "file"))
    # Paths are for copying, so these lines are not wrapped here.
    notes = [
        Text(note, no_wrap=True, overflow="ignore") for note in map(describe, findings) if note
    ]
    return Group(table, *([Text(), *notes] if notes else []))


def describe(found: Finding) -> str:
    """Describe the problem of a log; nothing if it has none."""
    path = clean(found.wal_path)
    match found.health:
        case Health.DAMAGED:
            return f"damaged: {path}, line {found.line}: {clean(found.cause or '')}"
        case Health.UNREADABLE | Health.MISSING | Health.NOT_A_FILE:
            return f"{found.health}: {path}: {clean(found.cause or '')}"
        case Health.TORN:
            intact = found.cause or f"intact up to line {found.lines}"
            torn = plural(found.torn_bytes, "byte")
            return (
                f"torn: {path}: {intact}; {torn} of an unfinished write follow. "
                "No acknowledged change is lost."
            )
        case Health.OK if found.reference_log:
            return (
                f"reference log: {path}: it has no checksums, so only its numbering and its events "
                "were checked"
            )
        case Health.OK:
            return ""


def draw_comparison(found: Comparison) -> RenderableType:
    """Draw a comparison: the changed steps, one line per change."""
    head = Text.assemble(
        (clean(found.task_id), "bold"), f"  seq {found.before_seq:,} → {found.after_seq:,}"
    )
    if found.is_empty:
        return Group(head, Text("nothing changed"))
    parts = [("~", "(the Task)", _changes(found.task))] if found.task else []
    parts += [("+", clean(step.step_id), [_summary(step)]) for step in found.added]
    parts += [("-", clean(step.step_id), [_summary(step)]) for step in found.removed]
    parts += [("~", clean(step.step_id), _changes(step.changes)) for step in found.changed]
    rows: list[Cells] = []
    for sign, name, lines in parts[:_STEPS_SHOWN]:
        style = {"+": "green", "-": "red"}.get(sign, "yellow")
        rows.append((Text(sign, style), Text(name), Text(lines[0])))
        rows += [(Text(), Text(), Text(line)) for line in lines[1:]]
    rest = len(parts) - _STEPS_SHOWN
    more = [Text(f"… and {plural(rest, 'more step')}; --json has them all")] if rest > 0 else []
    return Group(head, Columns(rows), *more)


def _summary(step: StepView) -> str:
    return f"{step.status}  {one_line(step.title)}"


def _changes(changes: Sequence[Change]) -> list[str]:
    """Return one line per change; a change of worker implies those of run and lease."""
    names = {change.field for change in changes}
    implied = _WITH_HOLDER if "claimed_by_agent_id" in names else ()
    return [_change(change) for change in changes if change.field not in implied]


def _change(change: Change) -> str:
    before, after = _value(change.before), _value(change.after)
    if change.field == "status":
        return f"{before} → {after}"
    return f"{_LABELS.get(change.field, change.field)}: {before} → {after}"


def _value(value: object) -> str:
    match value:
        case None | "":
            return "nothing"
        case datetime():
            return timestamp(value)
        case bool():
            return "yes" if value else "no"
        case tuple():
            return "[" + ", ".join(one_line(str(each), 80) for each in value) + "]"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] # a tuple of anything
        case _:
            return one_line(str(value), 160)
