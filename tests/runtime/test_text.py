"""Any text goes through log and replay unharmed, or is refused; it never spoils a log."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from taskloom import RefusedError, SyncBoard
from taskloom.board import CancelTask, CompleteTask, FailTask
from taskloom.errors import Code
from taskloom.testing import FakeClock
from tests.crash.known_logs import BOSS, updating
from tests.runtime.boards import ANN, board_on, claim, create, put, state

TEXT = st.text(alphabet=st.characters(), min_size=0, max_size=60)
"""All of Unicode, lone surrogates included."""

Write = Callable[[SyncBoard, str], object]


FIELDS: dict[str, Write] = {
    "task title": lambda board, text: create(board, title=text),
    "task summary": lambda board, text: create(board, summary=text),
    "new title": lambda board, text: _update(board, {"op": "update_task", "title": text}),
    "new summary": lambda board, text: _update(board, {"op": "update_task", "summary": text}),
    "block reason": lambda board, text: _update(
        board, {"op": "update_task", "status": "blocked", "reason": text}
    ),
    "step title": lambda board, text: _update(
        board, {"op": "add_step", "step": {"step_id": "n", "title": text}}
    ),
    "step summary": lambda board, text: _update(
        board, {"op": "update_step", "step_id": "a", "fields": {"summary": text}}
    ),
    "cancel reason": lambda board, text: _update(
        board, {"op": "cancel_step", "step_id": "c", "reason": text}
    ),
    "result": lambda board, text: _put(board, None, result_summary=text),
    "artifact": lambda board, text: _put(board, None, artifact_ids=(text,)),
    "completed": lambda board, text: _put(board, "completed", result_summary=text),
    "failed": lambda board, text: _put(board, "failed", reason=text),
    "blocked": lambda board, text: _put(board, "blocked", reason=text),
    "fail task": lambda board, text: _send(board, FailTask(task_id="plan", reason=text)),
    "cancel task": lambda board, text: _send(board, CancelTask(task_id="plan", reason=text)),
    "complete task": lambda board, text: _complete(board, text),
    "command id": lambda board, text: _put(board, None, result_summary="x", command_id=text),
}


def _update(board: SyncBoard, *operations: dict[str, object]) -> object:
    create(board)
    return board.send(updating(*operations), BOSS)


def _put(board: SyncBoard, status: str | None, **more: object) -> object:
    create(board)
    claim(board, "a")
    return put(board, "a", status, ANN, **more)


def _send(board: SyncBoard, command: FailTask | CancelTask) -> object:
    create(board)
    return board.send(command, BOSS)


def _complete(board: SyncBoard, text: str) -> object:
    create(board)
    for step_id in ("a", "b", "c"):
        put(board, step_id, "completed", BOSS)
    return board.send(CompleteTask(task_id="plan", result_summary=text), BOSS)


@pytest.mark.slow
@pytest.mark.spec("TB-124")
@pytest.mark.parametrize("field", FIELDS)
@given(text=TEXT)
@example(text="\u2028\u2029\u0085\0\r\n\x1f\x7f")
@example(text="\ud800")
@example(text="\udfff\ud83d")
@example(text="🜂👩‍👩‍👧\U0010ffff\ufffe")
@example(text='","crc":"00000000"}')
def test_any_text_in_any_field_round_trips_or_is_refused(field: str, text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        clock = FakeClock()
        board = board_on(Path(folder), clock=clock)
        code = None
        try:
            FIELDS[field](board, text)
        except RefusedError as refusal:
            code = refusal.code
        assert code in (None, Code.VALIDATION_ERROR)
        if board.writers.found():
            live = board.writers.writer("plan").ask(state)
            again = board_on(Path(folder), clock=clock)
            assert again.writers.writer("plan").ask(state) == live
            assert text in leaves(live) or code is not None
            again.writers.close()
        else:
            assert code is not None
        board.writers.close()


def leaves(value: object) -> list[str]:
    """Every text within a value."""
    if isinstance(value, dict):
        pairs = cast("dict[object, object]", value).items()
        return [leaf for pair in pairs for part in pair for leaf in leaves(part)]
    if isinstance(value, list | tuple | set):
        return [leaf for part in cast("list[object]", value) for leaf in leaves(part)]
    return [value] if isinstance(value, str) else []
