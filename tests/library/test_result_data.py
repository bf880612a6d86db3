"""JSON data of results and steps: checked, kept in the log, shown, handed on as data."""

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from taskloom.board import (
    DEFAULT_RULES,
    Event,
    Rules,
    StepCompleted,
    StepStatus,
    TaskCreated,
    view_step,
)
from taskloom.codec import Chain, EventAuthor, Replay, encode
from taskloom.errors import Code
from tests.board.task_driver import ANN, BOSS, TaskDriver, facts, given, setting, step, updating
from tests.cli.run_taskloom import taskloom
from tests.runtime.boards import board_on, claim, create, put, raw_lines, wal

DATA: dict[str, Any] = {"files": ["a.py", "ü"], "ok": True, "n": -3, "share": 0.5, "none": None}
AUTHOR = EventAuthor("s1", "plan", "ev", "ann", "ann-1", datetime(2025, 1, 1, tzinfo=UTC))


def payloads(*events: Event) -> list[bytes]:
    """The payloads of the lines of one decision, as they stand in the log."""
    lines = bytes(encode(events, AUTHOR, Chain(), after=1, base=1)).splitlines()
    raw = [msgspec.json.decode(line, type=dict[str, msgspec.Raw]) for line in lines]
    return [bytes(each["payload"]) for each in raw]


@pytest.mark.spec("LB-206")
def test_a_result_without_data_is_the_line_it_always_was() -> None:
    plain = StepCompleted(StepStatus.CLAIMED, "R", ["x"])
    assert payloads(Event(plain, "a")) == [
        b'{"previous_status":"claimed","result_summary":"R","artifact_ids":["x"]}'
    ]


@pytest.mark.spec("LB-206")
def test_a_plan_without_metadata_is_the_line_it_always_was() -> None:
    driver = given(step("a"), step("b", "a", metadata={"page": 1}))
    created = driver.log[0].payload
    assert isinstance(created, TaskCreated)
    assert created.task.steps[0].metadata is None, "writing a line changes nothing in the event"
    (written,) = payloads(Event(created))
    steps = msgspec.json.decode(written)["task"]["steps"]
    assert list(steps[0]) == [
        *("step_id", "title", "summary", "depends_on_step_ids", "required", "worker_pool_id")
    ]
    assert steps[1]["metadata"] == {"page": 1}
    assert msgspec.json.decode(written, type=TaskCreated).task == created.task


@pytest.mark.spec("LB-206")
def test_data_is_kept_in_the_log_and_every_view_shows_it(tmp_path: Path) -> None:
    with board_on(tmp_path) as board:
        create(board)
        fence = claim(board, "a").fence
        put(board, "a", "completed", ANN, result_summary="done", result_data=DATA, fence=fence)
        assert board.get("plan", BOSS).step("a").result_data == DATA
    (written,) = [each for each in raw_lines(wal(tmp_path)) if "completed" in each["event_type"]]
    assert written["payload"]["result_data"] == DATA
    with board_on(tmp_path) as again:
        assert again.get("plan", BOSS).step("a").result_data == DATA
    shown = taskloom("board", "show", "plan", "--session", "s1", cwd=tmp_path)
    assert 'data: {"files": ["a.py", "ü"]' in shown.out
    machine = taskloom("board", "show", "plan", "--session", "s1", "--json", cwd=tmp_path)
    assert machine.json()["view"]["steps"][0]["result_data"] == DATA


@pytest.mark.spec("LB-206")
def test_who_changes_the_data_of_a_view_changes_nothing_on_the_board() -> None:
    sent: dict[str, Any] = {"list": [1]}
    driver = given(step("a", metadata=sent))
    driver.claim("a", ANN)
    driver.set("a", "completed", ANN, result_data=sent)
    sent["list"].append(2)
    view = view_step(driver.task.steps["a"])
    view.result_data["list"].append(3)
    view.metadata["list"].append(3)
    again = view_step(driver.task.steps["a"])
    assert again.result_data == again.metadata == {"list": [1]}
    assert facts(driver.replayed()) == facts(driver.task)


@pytest.mark.spec("LB-206")
@pytest.mark.parametrize("data", [DATA, [], {}, "text", 0, False, 1.5, [[[None]]], 2**64 - 1])
def test_what_json_can_hold_comes_back_equal_after_a_restart(data: object) -> None:
    driver = given(step("a"))
    driver.set("a", "completed", BOSS, result_data=data)
    replay = Replay()
    for line in driver.log:
        events = [Event(line.payload, line.step_id)]
        replay.add(bytes(encode(events, AUTHOR, Chain(), after=line.seq - 1, base=0)))
    assert replay.task is not None
    assert replay.task.steps["a"].result_data == driver.step("a").result_data == data


def containing_itself() -> object:
    inner: list[object] = []
    inner += [inner, inner]
    return inner


def deep() -> object:
    value: object = 1
    for _ in range(100):
        value = [value]
    return value


REFUSED: list[tuple[object, str, str]] = [
    ({"a": [math.nan]}, "$.result_data.a[0]", "finite"),
    ({"a": math.inf}, "$.result_data.a", "finite"),
    ({1: "a"}, "$.result_data, a key,", "string"),
    ({"a": {1, 2}}, "$.result_data.a", "JSON"),
    ({"a": b"x"}, "$.result_data.a", "JSON"),
    ([object()], "$.result_data[0]", "JSON"),
    (2**64, "$.result_data", "string"),
    ("\ud83d", "$.result_data", "surrogate"),
    ({"\ud83d": 1}, "$.result_data, a key,", "surrogate"),
    ("x" * 99, "$.result_data", "bytes"),
    (["x" * 30] * 9, "$.result_data", "bytes"),
    ({"x" * 30: 1, "y" * 30: 1}, "$.result_data", "bytes"),
    ([0] * 60, "$.result_data", "bytes"),
    (containing_itself(), "$.result_data", "bytes"),
]


@pytest.mark.spec("LB-206", "TB-208")
@pytest.mark.parametrize(("data", "path", "why"), REFUSED)
def test_what_json_cannot_hold_or_is_too_big_is_refused(data: object, path: str, why: str) -> None:
    driver = given(step("a"), rules=Rules(data_bytes_max=60))
    refused = driver.refusal(setting("a", "completed", result_data=data), BOSS)
    assert (refused.code, refused.details["path"]) == (Code.VALIDATION_ERROR, path)
    assert why in refused.message


@pytest.mark.spec("LB-206")
def test_data_nested_without_end_is_refused() -> None:
    driver = given(step("a"))
    refused = driver.refusal(setting("a", "completed", result_data=deep()), BOSS)
    assert refused.details["path"] == "$.result_data"
    assert "deep" in refused.message


@pytest.mark.spec("LB-206")
@pytest.mark.parametrize("status", [None, "running", "blocked", "failed", "cancelled"])
def test_data_belongs_to_a_completed_step(status: str | None) -> None:
    driver = given(step("a"))
    driver.claim("a", ANN)
    refused = driver.refusal(setting("a", status, result_data=1), ANN)
    assert (refused.code, refused.details["path"]) == (Code.VALIDATION_ERROR, "$.result_data")


@pytest.mark.spec("LB-103")
def test_metadata_of_a_step_is_kept_and_can_be_replaced() -> None:
    driver: TaskDriver = given(step("a", metadata={"page": 1}), step("b"))
    driver.update({"op": "update_step", "step_id": "a", "fields": {"metadata": {"page": 2}}})
    driver.update({"op": "add_step", "step": {"step_id": "c", "title": "C", "metadata": {}}})
    steps = driver.replayed().steps
    assert [steps[name].metadata for name in "abc"] == [{"page": 2}, None, {}]
    for wrong in ("text", [1], 7):
        add = {"op": "add_step", "step": {"step_id": "d", "title": "D", "metadata": wrong}}
        refused = driver.refusal(updating(add), BOSS)
        assert refused.details["path"] == "$.operations[0].step.metadata"


def test_the_defaults_let_a_page_of_data_in() -> None:
    assert DEFAULT_RULES.data_bytes_max >= 100_000
