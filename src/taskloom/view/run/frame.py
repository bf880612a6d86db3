"""Draws the live region of the screen, never larger than the terminal."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from rich.cells import cell_len, chop_cells
from rich.console import Group, RenderableType
from rich.text import Text

from taskloom.board import StepStatus, StepView
from taskloom.view.dag_layout import layout_dag
from taskloom.view.format import clean, counts, duration, one_line, plural, whole_line
from taskloom.view.run.model import QuestionView, RunView, WorkerRunView
from taskloom.view.run.output import Kind, Line
from taskloom.view.run.task_window import TaskWindow, most_urgent
from taskloom.view.style import Cells, Columns, mark, progress, status_word

KEYS: Final = "j/k: select · enter: view output · c: cancel · p: {pause} · q: quit"
OUTPUT_KEYS: Final = "j/k: scroll · G: end · c: cancel · esc: back · q: quit"
CONFIRM_KEYS: Final = "y: yes · any other key: no"
ANSWER_KEYS: Final = "y: once · a: for this session · n: no"
ONCE_KEYS: Final = "y: once · n: no"

_QUESTION_LINES: Final = 8
"""Of a question in the frame; a longer one is printed in full above it."""

_ENDED_SHOWN: Final = 3
"""Ended Tasks, one line each."""

_STYLES: Final[dict[Kind, str]] = {
    "text": "",
    "thinking": "dim italic",
    "tool": "cyan",
    "output": "dim",
    "error": "yellow",
    "note": "dim",
}


def steps_limit(height: int, runs: int, tasks: int) -> int:
    """Return how many steps of one Task fit."""
    left = height - 6 - _runs_limit(height, runs) - 2 * max(1, tasks)
    return max(1, left // max(1, tasks))


def _runs_limit(height: int, runs: int) -> int:
    return min(runs, max(2, height // 3))


def draw_frame(view: RunView, width: int, height: int) -> RenderableType:
    """Draw the session in at most `height` lines."""
    question = _question(view.question, width, height)
    rule = Text("─" * width, "dim")
    lines: list[RenderableType] = [rule, *question, *_head(view)]
    footer = _footer(view)
    room = max(1, height - len(lines) - 1)
    body = _output(view, width, room) if view.output is not None else _board(view, room)
    above = [*lines, *list(body)[:room]][: height - 1]
    return Group(*(_cropped(line) for line in [*above, footer]))


def draw_final(view: RunView) -> RenderableType:
    """Draw the last state, which stays on the screen: the whole tree, without keys."""
    parts: list[RenderableType] = [Text(), *_head(view)]
    for task in view.tasks:
        parts += _task(task, view.runs, 1 << 30)
    return Group(*(_cropped(line) for line in parts))


def _cropped(line: RenderableType) -> RenderableType:
    if isinstance(line, Text):
        line.no_wrap, line.overflow = True, "ellipsis"
    return line


def _head(view: RunView) -> Iterator[Text]:
    done = sum(task.counts.get("completed", 0) for task in view.tasks)
    total = sum(sum(task.counts.values()) for task in view.tasks)
    yield Text.assemble(
        (one_line(view.goal, 200), "bold"), (f"  {one_line(view.session_id)}", "dim"),
    )  # fmt: skip  # a line of the page is a line here
    totals: dict[str, int] = {}
    for task in view.tasks:
        for status, count in task.counts.items():
            totals[status] = totals.get(status, 0) + count
    summary = counts(totals) or "no plan yet"
    head = Text.assemble(
        progress(done, total), f" {done:,} of {plural(total, 'step')}  ", _time(view.elapsed)
    )
    if view.is_paused:
        head.append("  paused: no new workers", "bold yellow")
    head.append(f"  {summary}", "dim")
    yield head


def _time(length: timedelta) -> str:
    """Return a duration in whole seconds, so that it does not flicker."""
    seconds = int(length.total_seconds())
    return f"{seconds}s" if seconds < 60 else duration(timedelta(seconds=seconds))


def _footer(view: RunView) -> Text:
    if view.stopping:
        return Text(view.stopping, "yellow")
    if view.question is not None:
        return Text(ANSWER_KEYS if view.question.for_session else ONCE_KEYS, "bold")
    if view.confirmation:
        return Text.assemble((one_line(view.confirmation), "bold yellow"), f"  {CONFIRM_KEYS}")
    if view.output is not None:
        return Text(OUTPUT_KEYS, "dim")
    return Text(KEYS.format(pause="resume" if view.is_paused else "pause"), "dim")


def question_lines(question: QuestionView, width: int) -> list[str]:
    """Return the lines of a question and of what `a` would allow; nothing is cut."""
    covered = f"  a allows for this session: {whole_line(question.for_session)}"
    return [
        *_folded(f"? {whole_line(question.text)}", width),
        *(_folded(covered, width) if question.for_session else ()),
    ]


def is_long(question: QuestionView, width: int, height: int) -> bool:
    """Return whether a question does not fit the frame."""
    return len(question_lines(question, width)) > _question_limit(height)


def _question_limit(height: int) -> int:
    return max(2, min(_QUESTION_LINES, height // 2))


def _question(question: QuestionView | None, width: int, height: int) -> Iterator[Text]:
    if question is None:
        return
    lines, room = question_lines(question, width), _question_limit(height)
    if len(lines) > room:
        shown = [*lines[: room - 1], f"… all {len(lines)} lines are printed above"]
    else:
        shown = lines
    for line in shown:
        yield Text(line, "bold yellow")
    if question.waiting:
        yield Text(f"  ({plural(question.waiting, 'more question')} after this one)", "dim")


def _folded(text: str, width: int) -> list[str]:
    return chop_cells(text, max(8, width)) or [""]


def _board(view: RunView, room: int) -> Iterator[RenderableType]:
    runs_limit = min(_runs_limit(room, len(view.runs)), room)
    rows = list(_runs(view, runs_limit))
    left = room - len(rows)
    live = [task for task in view.tasks if not task.has_ended]
    ended = [task for task in view.tasks if task.has_ended][-_ENDED_SHOWN:] if left > 6 else []
    left -= len(ended)
    for task in ended:
        yield _task_line(task)
    for at, task in enumerate(live):
        share = left // (len(live) - at)
        drawn = list(_task(task, view.runs, share - 1))[: max(0, share)]
        left -= len(drawn)
        yield from drawn
    yield from rows


def _task(task: TaskWindow, runs: Sequence[WorkerRunView], room: int) -> Iterator[RenderableType]:
    yield _task_line(task)
    by_run = {run.run_id: run for run in runs}
    steps, hidden = task.steps, dict(task.hidden)
    if len(steps) + bool(hidden) > room:
        steps = tuple(most_urgent(steps, room - 1))
        hidden = dict(task.counts)
        for step in steps:
            hidden[step.status.value] -= 1
    rows: list[Cells] = []
    for row in layout_dag(steps):
        step = row.step
        name = Text.assemble(
            (f"  {row.branch}", "dim"), mark(step.status), " ", clean(step.step_id)
        )
        rows.append((name, status_word(step.status), _beside(step, by_run)))
    yield from _rows(rows)
    if hidden and room > 0:
        more = sum(hidden.values())
        yield Text(f"  … and {plural(more, 'more step')}: {counts(hidden)}", "dim")


def _task_line(task: TaskWindow) -> Text:
    line = Text.assemble(
        mark(task.status), " ", (one_line(task.task_id), "bold"), " ", status_word(task.status),
        f"  {one_line(task.title, 100)}",
    )  # fmt: skip  # a line of the page is a line here
    if task.has_ended and task.outcome:
        line.append(f": {one_line(task.outcome, 200)}", "dim")
    elif task.stalled:
        line.append("  stalled: no step can run until the plan changes", "yellow")
    elif task.completeable:
        line.append("  every required step is completed", "green")
    return line


def _beside(step: StepView, runs: dict[str, WorkerRunView]) -> Text:
    run = runs.get(step.claimed_by_run_id or "")
    if run is not None:
        return Text.assemble((f"{one_line(run.name)} {_time(run.age)}  ", "cyan"), _last_line(run))
    if step.claimed_by_agent_id:
        return Text(one_line(step.claimed_by_agent_id), "cyan")
    outcome = step.reason or step.result_summary
    if step.status is StepStatus.FAILED and step.reason and step.result_summary:
        outcome = f"{step.reason}: {step.result_summary}"
    return Text(one_line(outcome or step.title), "dim")


def _last_line(run: WorkerRunView) -> Text:
    return Text("stopping …", "yellow") if run.is_stopping else Text(run.last_line, "dim")


def _runs(view: RunView, room: int) -> Iterator[RenderableType]:
    """Draw the runs that fit; the selected one is always among them."""
    runs, more = view.runs, len(view.runs) - room
    first = 0
    if more > 0:
        room -= 1
        at = next((at for at, run in enumerate(runs) if run.run_id == view.selected), 0)
        first = max(0, min(at - room // 2, len(runs) - room))
    rows: list[Cells] = []
    for at, run in enumerate(runs[first : first + room], first):
        chosen = run.run_id == view.selected
        name = Text(f"{'▸' if chosen else ' '} {at} {one_line(run.name)}", "bold" if chosen else "")
        rows.append(
            (name, Text(one_line(run.step_id or "")), Text(_time(run.age)), _last_line(run))
        )
    yield from _rows(rows)
    if more > 0:
        yield Text(f"  … and {len(runs) - room:,} more running", "dim")


def _rows(rows: list[Cells]) -> list[RenderableType]:
    """Return each row alone, so that rows can be counted, all with the same columns."""
    widths = [max(cell.cell_len for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        for cell, width in zip(row[:-1], widths, strict=False):
            cell.pad_right(width - cell.cell_len)
    return [Columns([row]) for row in rows]


def _output(view: RunView, width: int, room: int) -> Iterator[RenderableType]:
    assert view.output is not None
    run = next((each for each in view.runs if each.run_id == view.selected), None)
    if run is not None:
        step = f"  {one_line(run.step_id)}" if run.step_id else ""
        ended = "  (ended)" if view.output.has_ended else ""
        yield Text.assemble((one_line(run.name), "bold"), step, f"  {_time(run.age)}{ended}")
    below = view.output.below
    limit = room - 1 - bool(below)
    shown: list[Text] = []
    for line in reversed(view.output.lines):
        shown = [*_wrapped(line, width), *shown]
        if len(shown) >= limit:
            break
    yield from shown[-limit:] if limit > 0 else ()
    if below:
        yield Text(f"… {plural(below, 'line')} below", "dim")


def _wrapped(line: Line, width: int) -> list[Text]:
    style, text = _STYLES[line.kind], line.display_text
    if cell_len(text) <= width:
        return [Text(text, style)]
    return [Text(part, style) for part in _folded(text, width)]
