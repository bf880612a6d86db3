"""The live part of the screen: never higher or wider than there is room."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from rich.cells import cell_len, chop_cells
from rich.console import Group, RenderableType
from rich.text import Text

from taskloom.board import StepStatus, StepView
from taskloom.view.columns import Cells, Columns
from taskloom.view.dag_layout import DEPTH_MAX, layout_dag
from taskloom.view.format import clean, counts, one_line, plural, span
from taskloom.view.run.model import Asked, RunView, WorkerRunView, visible
from taskloom.view.run.output import Kind, Line
from taskloom.view.run.task_window import TaskWindow, most_urgent
from taskloom.view.style import mark, progress, status_word

KEYS: Final = "j/k: select · enter: view output · c: cancel · p: {pause} · q: quit"
STREAM_KEYS: Final = "j/k: scroll · G: end · c: cancel · esc: back · q: quit"
CONFIRM_KEYS: Final = "y: yes · any other key: no"
ANSWER_KEYS: Final = "y: once · a: for this session · n: no"
ONCE_KEYS: Final = "y: once · n: no"

_QUESTION_LINES: Final = 8
"""Of a question within the frame; a longer one is printed whole above it."""

_ENDED_SHOWN: Final = 3
"""Tasks that have ended, a line each."""

_LOOKS: Final[dict[Kind, str]] = {
    "text": "",
    "thinking": "dim italic",
    "tool": "cyan",
    "output": "dim",
    "trouble": "yellow",
    "note": "dim",
}


def steps_room(height: int, runs: int, tasks: int) -> int:
    """Return how many steps of one Task there is room for."""
    left = height - 6 - _runs_room(height, runs) - 2 * max(1, tasks)
    return max(1, left // max(1, tasks))


def _runs_room(height: int, runs: int) -> int:
    return min(runs, max(2, height // 3))


def draw_frame(seen: RunView, width: int, height: int) -> RenderableType:
    """Draw the session as it is now, in at most `height` lines."""
    question = _question(seen.asked, width, height)
    rule = Text("─" * width, "dim")
    lines: list[RenderableType] = [rule, *question, *_head(seen)]
    foot = _foot(seen)
    room = max(1, height - len(lines) - 1)
    body = _stream(seen, width, room) if seen.stream is not None else _board(seen, room)
    above = [*lines, *list(body)[:room]][: height - 1]
    return Group(*(_one(line) for line in [*above, foot]))


def draw_last(seen: RunView) -> RenderableType:
    """Draw how it ended, to stay on the screen: the whole tree and no keys."""
    parts: list[RenderableType] = [Text(), *_head(seen)]
    for task in seen.tasks:
        parts += _task(task, seen.runs, 1 << 30)
    return Group(*(_one(line) for line in parts))


def _one(line: RenderableType) -> RenderableType:
    if isinstance(line, Text):
        line.no_wrap, line.overflow = True, "ellipsis"
    return line


def _head(seen: RunView) -> Iterator[Text]:
    done = sum(task.counts.get("completed", 0) for task in seen.tasks)
    total = sum(sum(task.counts.values()) for task in seen.tasks)
    yield Text.assemble(
        (one_line(seen.goal, 200), "bold"), (f"  {one_line(seen.session_id)}", "dim"),
    )  # fmt: skip  # a line of the page is a line here
    gathered: dict[str, int] = {}
    for task in seen.tasks:
        for status, count in task.counts.items():
            gathered[status] = gathered.get(status, 0) + count
    stands = counts(gathered) or "no plan yet"
    head = Text.assemble(
        progress(done, total), f" {done:,} of {plural(total, 'step')}  ", _time(seen.elapsed)
    )
    if seen.paused:
        head.append("  paused: no new workers", "bold yellow")
    head.append(f"  {stands}", "dim")
    yield head


def _time(length: timedelta) -> str:
    """Return a length of time that does not flicker: whole seconds."""
    seconds = int(length.total_seconds())
    return f"{seconds}s" if seconds < 60 else span(timedelta(seconds=seconds))


def _foot(seen: RunView) -> Text:
    if seen.leaving:
        return Text(seen.leaving, "yellow")
    if seen.asked is not None:
        return Text(ANSWER_KEYS if seen.asked.for_session else ONCE_KEYS, "bold")
    if seen.confirm:
        return Text.assemble((one_line(seen.confirm), "bold yellow"), f"  {CONFIRM_KEYS}")
    if seen.stream is not None:
        return Text(STREAM_KEYS, "dim")
    return Text(KEYS.format(pause="resume" if seen.paused else "pause"), "dim")


def question_lines(asked: Asked, width: int) -> list[str]:
    """Return a question with all that a yes would allow, cut into lines and nowhere else."""
    covered = f"  a allows for this session: {visible(asked.for_session)}"
    return [
        *_folded(f"? {visible(asked.text)}", width),
        *(_folded(covered, width) if asked.for_session else ()),
    ]


def is_long(asked: Asked, width: int, height: int) -> bool:
    """Tell whether a question does not fit the frame."""
    return len(question_lines(asked, width)) > _question_room(height)


def _question_room(height: int) -> int:
    return max(2, min(_QUESTION_LINES, height // 2))


def _question(asked: Asked | None, width: int, height: int) -> Iterator[Text]:
    if asked is None:
        return
    lines, room = question_lines(asked, width), _question_room(height)
    if len(lines) > room:
        shown = [*lines[: room - 1], f"… all {len(lines)} lines are printed above"]
    else:
        shown = lines
    for line in shown:
        yield Text(line, "bold yellow")
    if asked.waiting:
        yield Text(f"  ({plural(asked.waiting, 'more question')} after this one)", "dim")


def _folded(text: str, width: int) -> list[str]:
    return chop_cells(text, max(8, width)) or [""]


def _board(seen: RunView, room: int) -> Iterator[RenderableType]:
    runs_room = min(_runs_room(room, len(seen.runs)), room)
    rows = list(_runs(seen, runs_room))
    left = room - len(rows)
    live = [task for task in seen.tasks if not task.is_over]
    ended = [task for task in seen.tasks if task.is_over][-_ENDED_SHOWN:] if left > 6 else []
    left -= len(ended)
    for task in ended:
        yield _task_line(task)
    for at, task in enumerate(live):
        share = left // (len(live) - at)
        drawn = list(_task(task, seen.runs, share - 1))[: max(0, share)]
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
        guides = "".join("│ " if more else "  " for more in row.lines)
        branch = ("└ " if row.is_last else "├ ") if row.depth else ""
        deep = f"({row.depth}) " if row.depth > DEPTH_MAX else ""
        step = row.step
        name = Text.assemble(
            (f"  {guides}{branch}{deep}", "dim"), mark(step.status), " ", clean(step.step_id)
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
    if task.is_over and task.outcome:
        line.append(f": {one_line(task.outcome, 200)}", "dim")
    elif task.stalled:
        line.append("  stalled: nothing can move until the plan is changed", "yellow")
    elif task.completeable:
        line.append("  every required step is completed", "green")
    return line


def _beside(step: StepView, runs: dict[str, WorkerRunView]) -> Text:
    run = runs.get(step.claimed_by_run_id or "")
    if run is not None:
        return Text.assemble((f"{one_line(run.name)} {_time(run.age)}  ", "cyan"), _last(run))
    if step.claimed_by_agent_id:
        return Text(one_line(step.claimed_by_agent_id), "cyan")
    said = step.reason or step.result_summary
    if step.status is StepStatus.FAILED and step.reason and step.result_summary:
        said = f"{step.reason}: {step.result_summary}"
    return Text(one_line(said or step.title), "dim")


def _last(run: WorkerRunView) -> Text:
    return Text("stopping …", "yellow") if run.stopping else Text(run.last, "dim")


def _runs(seen: RunView, room: int) -> Iterator[RenderableType]:
    """Draw the runs; the selected one is always among them."""
    runs, more = seen.runs, len(seen.runs) - room
    first = 0
    if more > 0:
        room -= 1
        at = next((at for at, run in enumerate(runs) if run.run_id == seen.selected), 0)
        first = max(0, min(at - room // 2, len(runs) - room))
    rows: list[Cells] = []
    for at, run in enumerate(runs[first : first + room], first):
        chosen = run.run_id == seen.selected
        name = Text(f"{'▸' if chosen else ' '} {at} {one_line(run.name)}", "bold" if chosen else "")
        rows.append((name, Text(one_line(run.step_id or "")), Text(_time(run.age)), _last(run)))
    yield from _rows(rows)
    if more > 0:
        yield Text(f"  … and {len(runs) - room:,} more at work", "dim")


def _rows(rows: list[Cells]) -> list[RenderableType]:
    """Return a drawing of each row alone, so that they can be counted, all in the same columns."""
    widths = [max(cell.cell_len for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        for cell, width in zip(row[:-1], widths, strict=False):
            cell.pad_right(width - cell.cell_len)
    return [Columns([row]) for row in rows]


def _stream(seen: RunView, width: int, room: int) -> Iterator[RenderableType]:
    assert seen.stream is not None
    run = next((each for each in seen.runs if each.run_id == seen.selected), None)
    if run is not None:
        step = f"  {one_line(run.step_id)}" if run.step_id else ""
        over = "  (over)" if seen.stream.over else ""
        yield Text.assemble((one_line(run.name), "bold"), step, f"  {_time(run.age)}{over}")
    below = seen.stream.below
    lines_room = room - 1 - bool(below)
    shown: list[Text] = []
    for line in reversed(seen.stream.lines):
        shown = [*_wrapped(line, width), *shown]
        if len(shown) >= lines_room:
            break
    yield from shown[-lines_room:] if lines_room > 0 else ()
    if below:
        yield Text(f"… {plural(below, 'line')} below", "dim")


def _wrapped(line: Line, width: int) -> list[Text]:
    style, text = _LOOKS[line.kind], line.shown
    if cell_len(text) <= width:
        return [Text(text, style)]
    return [Text(part, style) for part in _folded(text, width)]
