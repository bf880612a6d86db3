"""The command that shows what the board is for: demo."""

import os
import shlex
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, cast

import anyio
import msgspec

from taskloom.board import EventType, TaskView
from taskloom.cli.ending import FINE, TROUBLE
from taskloom.cli.output import console, print_json_line
from taskloom.cli.tour import FATAL_STEP, RULES, SESSION_ID, TASK_ID, Tour
from taskloom.errors import Code, Refused
from taskloom.runtime import Record, open_board, session_dir
from taskloom.runtime.inspect import Entry, inspect

_OPENING: Final = "Twelve steps, three workers, one log on disk. One worker will not see the end."

_PATIENCE_S: Final = 60
"""It takes four seconds; should it ever hang, it says so."""

Show = Callable[[Entry, TaskView], None]
Tell = Callable[[str], None]


def demo(given: Namespace) -> int:
    """Play it, replay it, compare, and say what came out."""
    project = _project(given.keep)
    if given.json:
        moments = anyio.run(_play, project, _show_json, _ignore)
    else:
        console().print(_OPENING)
        with _stage() as (show, tell):
            moments = anyio.run(_play, project, show, tell)
    wal_path = Path(moments[-1].wal_path)
    wrong = [live.seq for live in moments if inspect(wal_path, at=live.seq).view != live]
    if given.json:
        print_json_line(
            {"demo": {"equal": not wrong, "moments": len(moments), "wal_path": str(wal_path)}}
        )
    else:
        _conclude(project, moments, wrong)
    return TROUBLE if wrong else FINE


async def _play(project: Path, show: Show, tell: Tell) -> list[TaskView]:
    """Play, and return the live board as it was at every moment somebody looked."""
    moments: dict[int, TaskView] = {}

    def keep(record: Record, view: TaskView) -> None:
        moments[view.seq] = view
        show(_entry(record), view)

    try:
        with anyio.fail_after(_PATIENCE_S):
            async with open_board(project, session_id=SESSION_ID, rules=RULES) as board:
                await Tour(board, tell).play(keep)
    except ExceptionGroup as several:
        raise _first(several) from several
    return list(moments.values())


def _first(error: Exception) -> Exception:
    """Return what went wrong first: the others only fell with it."""
    while isinstance(error, ExceptionGroup):
        error = cast("ExceptionGroup[Exception]", error).exceptions[0]
    return error


def _project(keep: str | None) -> Path:
    if keep is None:
        return Path(tempfile.mkdtemp(prefix="taskloom-demo-"))
    project = Path(keep)
    if session_dir(project, SESSION_ID).exists():
        raise Refused(
            Code.PATH_CONFLICT,
            f"{project} holds a demo already. Nothing was overwritten; choose another directory.",
            {"path": str(project)},
        )
    return project


@contextmanager
def _stage() -> Generator[tuple[Show, Tell]]:
    """Yield how to show events and tell the rest: a live board in a terminal, else lines."""
    from rich.live import Live

    from taskloom.view.live import draw_live
    from taskloom.view.timeline import Timeline

    out = console()
    if not out.is_terminal or out.is_dumb_terminal:
        out.print(Timeline().heading())
        yield (lambda entry, _: out.print(Timeline().draw(entry))), out.print
        return
    latest: list[TaskView] = []
    live = Live(
        console=out,
        refresh_per_second=10,
        get_renderable=lambda: draw_live(latest[-1], datetime.now(UTC)) if latest else "",
    )

    def show(entry: Entry, view: TaskView) -> None:
        latest[:] = [view]
        if entry.event_type == EventType.STEP_LEASE_EXPIRED:
            live.console.print(f"The lease on {entry.step_id} ran out: it is ready again.")
        if entry.event_type == EventType.STEP_COMPLETED and entry.step_id == FATAL_STEP:
            live.console.print(f"{entry.actor_agent_id} finished {entry.step_id}.")

    with live:
        yield show, live.console.print
        live.refresh()


def _show_json(entry: Entry, _view: TaskView) -> None:
    print_json_line(entry)


def _ignore(_text: str) -> None:
    """Programs read events, not sentences."""


def _entry(record: Record) -> Entry:
    return Entry(
        wal_seq=record.seq,
        session_id=SESSION_ID,
        event_id=record.event_id,
        event_type=record.event_type.value,
        actor_agent_id=record.actor_agent_id,
        actor_run_id=record.actor_run_id,
        task_id=record.task_id,
        step_id=record.step_id,
        payload=msgspec.to_builtins(record.payload),
        created_at=record.created_at,
        command_id=record.command_id,
    )


def _conclude(project: Path, moments: list[TaskView], wrong: list[int]) -> None:
    out = console()
    last = moments[-1]
    if wrong:
        out.print(f"\nThe log does NOT replay to what was live, at line {wrong[0]} first.")
    else:
        out.print(
            f"\nReplayed from the log: at line {last.seq} and at {len(moments) - 1} moments before "
            "it the board equals the live one, field by field."
        )
    out.print(f"The log: {last.wal_path}", soft_wrap=True)
    out.print("Look around in it:")
    where = f"--project {shlex.quote(str(project))}"
    for command in ("show", "log", "replay --at 20", "diff 20 30", "verify"):
        verb, _, rest = command.partition(" ")
        words = (_program(), "board", verb, TASK_ID, rest, where)
        out.print("  " + " ".join(word for word in words if word), soft_wrap=True)


def _program() -> str:
    """Return how this program can be called from here."""
    if shutil.which("taskloom"):
        return "taskloom"
    return os.path.relpath(sys.argv[0]) if sys.argv[0].endswith("taskloom") else "taskloom"
