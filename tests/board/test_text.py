"""Arbitrary Unicode through every text field: it comes back as it was, or is refused."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from taskloom.board import (
    CancelTask,
    CompleteTask,
    CreateTask,
    FailTask,
    Task,
    view_step,
    view_task,
)
from taskloom.errors import Code, RefusedError
from tests.board.task_driver import ANN, BOSS, TASK, TaskDriver, facts, setting, step, updating

TEXT = st.text(st.characters(exclude_categories=()), max_size=40)
"""All of Unicode, lone surrogates too."""

Write = Callable[[str], TaskDriver]
Read = Callable[[Task], object]


def new(text: str = "T", summary: str = "", **of_step: Any) -> TaskDriver:  # noqa: ANN401  # as NewStep
    first = step("a", **of_step)
    return TaskDriver(
        CreateTask(task_id=TASK, wal_name=TASK, title=text, summary=summary, steps=(first,))
    )


def updated(operation: dict[str, object]) -> TaskDriver:
    driver = new()
    driver.do(updating(operation))
    return driver


def by_worker(**sent: object) -> TaskDriver:
    driver = new()
    driver.claim("a", ANN)
    driver.do(setting("a", sent.pop("status", None), **sent), ANN)  # pyright: ignore[reportArgumentType]  # a status or None
    return driver


def ended(command: Any) -> TaskDriver:  # noqa: ANN401  # one of three commands
    driver = new()
    if isinstance(command, CompleteTask):
        driver.complete("a")
    driver.do(command, BOSS)
    return driver


def added(text: str, field: str) -> TaskDriver:
    return updated({"op": "add_step", "step": {"step_id": "b", "title": "B", field: text}})


def changed(text: str, field: str) -> TaskDriver:
    return updated({"op": "update_step", "step_id": "a", "fields": {field: text}})


FIELDS: dict[str, tuple[Write, Read]] = {
    "title of a Task": (lambda text: new(text), lambda task: task.title),
    "summary of a Task": (lambda text: new("T", text), lambda task: task.summary),
    "title of a step": (lambda text: new(title=text), lambda task: task.steps["a"].title),
    "summary of a step": (lambda text: new(summary=text), lambda task: task.summary),
    "new title": (
        lambda text: updated({"op": "update_task", "title": text}),
        lambda task: task.title,
    ),
    "new summary": (
        lambda text: updated({"op": "update_task", "summary": text}),
        lambda task: task.summary,
    ),
    "reason of a block": (
        lambda text: updated({"op": "update_task", "status": "blocked", "reason": text}),
        lambda task: task.reason,
    ),
    "title of an added step": (
        lambda text: added(text, "title"),
        lambda task: task.steps["b"].title,
    ),
    "summary of an added step": (
        lambda text: added(text, "summary"),
        lambda task: task.steps["b"].summary,
    ),
    "new title of a step": (
        lambda text: changed(text, "title"),
        lambda task: task.steps["a"].title,
    ),
    "new summary of a step": (
        lambda text: changed(text, "summary"),
        lambda task: task.steps["a"].summary,
    ),
    "reason of a cancelled step": (
        lambda text: updated({"op": "cancel_step", "step_id": "a", "reason": text}),
        lambda task: task.steps["a"].reason,
    ),
    "result of a step": (
        lambda text: by_worker(result_summary=text),
        lambda task: task.steps["a"].result_summary,
    ),
    "artifact of a step": (
        lambda text: by_worker(artifact_ids=(text,)),
        lambda task: task.steps["a"].artifact_ids[0],
    ),
    "reason of a failed step": (
        lambda text: by_worker(status="failed", reason=text),
        lambda task: task.steps["a"].reason,
    ),
    "result of a Task": (
        lambda text: ended(CompleteTask(task_id=TASK, result_summary=text)),
        lambda task: task.result_summary,
    ),
    "reason of a failed Task": (
        lambda text: ended(FailTask(task_id=TASK, reason=text)),
        lambda task: task.reason,
    ),
    "reason of a cancelled Task": (
        lambda text: ended(CancelTask(task_id=TASK, reason=text)),
        lambda task: task.reason,
    ),
}


def is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_refusal(field: str, text: str, refused: RefusedError) -> None:
    assert refused.code is Code.VALIDATION_ERROR
    may_be_empty = not ("title" in field or "artifact" in field)
    assert not is_unicode(text) or not (may_be_empty or text.strip())
    assert is_unicode(repr(refused.as_dict()))


@pytest.mark.spec("TB-124")
@pytest.mark.parametrize("field", FIELDS)
@given(text=TEXT)
@example("\u2028\u2029\u0085\x00\n\r\t")
@example("\ud83d\ude00")
@example("😀 é e\u0301 \ufeff\uffff")
@settings(max_examples=60)
def test_a_text_comes_back_as_it_was_or_is_refused(field: str, text: str) -> None:
    write, read = FIELDS[field]
    try:
        driver = write(text)
    except RefusedError as refused:
        check_refusal(field, text, refused)
        return
    assert is_unicode(text)
    assert read(driver.task) == text
    again = driver.replayed()
    assert facts(again) == facts(driver.task)
    view_task(again, "")
    view_step(again.steps["a"])


@pytest.mark.spec("TB-124", "TB-203")
@given(text=TEXT)
@settings(max_examples=200)
def test_any_text_as_an_id_is_safe_or_refused(text: str) -> None:
    safe = 0 < len(text) <= 80 and set(text) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_")
    operation = {"op": "add_step", "step": {"step_id": text, "title": "T"}}
    driver = new()
    if safe and text != "a":
        driver.do(updating(operation))
        assert text in driver.replayed().steps
    else:
        assert driver.refuses(updating(operation)) is Code.VALIDATION_ERROR


@pytest.mark.spec("TB-124", "TB-619")
@given(text=TEXT)
@example("\ud83d")
@settings(max_examples=100)
def test_an_answer_about_any_text_can_itself_be_sent(text: str) -> None:
    driver = new()
    wrong: list[object] = [
        updating({"op": f"x{text}"}),
        updating({"op": "update_task", "title": "T", f"x{text}": 1}),
        setting(f"x{text}", None),
        CancelTask(task_id=TASK, reason=f"{text}\ud83d"),
    ]
    for command in wrong:
        error = driver.refusal(command)
        for word in (error.message, *error.details.values()):
            assert is_unicode(str(word))
