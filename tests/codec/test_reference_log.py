"""Logs of the reference implementation, written by hand from its field lists, with its ways.

Each fixture is opened as a session opens it. Nothing about them is damage, and nothing is ever
appended to them.
"""

import json
import shutil
from pathlib import Path
from typing import Final

import pytest

from taskloom import RefusedError, SyncBoard, TaskView, UnavailableError
from taskloom.board import Actor, ClaimStep, Role
from taskloom.codec import ReferenceReplay, Replay
from taskloom.errors import Code, DamagedLogError
from taskloom.log import JsonlLog
from taskloom.runtime import ListTasks, TaskWriters
from tests.board.task_driver import facts
from tests.crash.known_logs import BOSS, scenario, updating

FIXTURES: Final = Path(__file__).parent / "fixtures"
NAMES: Final = tuple(path.name for path in sorted(FIXTURES.glob("reference-*.wal.jsonl")))


def opened(tmp_path: Path, name: str) -> tuple[SyncBoard, Path]:
    directory = tmp_path / ".soong-agent" / "tasks" / "s1"
    directory.mkdir(parents=True)
    path = Path(shutil.copy(FIXTURES / name, directory))
    board = SyncBoard(TaskWriters(JsonlLog(directory), "s1"))
    board.writers.resume()
    return board, path


def shown(tmp_path: Path, name: str, task_id: str) -> TaskView:
    board, path = opened(tmp_path, name)
    before = path.read_bytes()
    task = board.get(task_id, BOSS)
    board.writers.close()
    assert path.read_bytes() == before
    assert sorted(path.parent.iterdir()) == [path]
    return task


@pytest.mark.spec("TB-122", "TB-120")
def test_a_completed_task_of_the_reference_is_read_with_its_ways(tmp_path: Path) -> None:
    """Promoted snapshot, redundant events, capitals and dots, holders kept, name with extension."""
    task = shown(tmp_path, "reference-completed.wal.jsonl", "Ship.V1")
    assert task.status == "completed"
    assert task.result_summary == "shipped"
    assert task.root_step_ids == ("A.Build", "C_opt")
    assert task.seq == 18
    build, test = task.step("A.Build"), task.step("B.Test")
    assert (build.status, build.result_summary) == ("completed", "built")
    assert build.artifact_ids == ("art_1", "art_2")
    assert build.claimed_by_run_id == "run_worker_1"
    assert build.lease_expires_at is None
    assert (test.status, test.claimed_by_run_id) == ("completed", "run_worker_3")
    assert task.step("C_opt").status == "cancelled"


@pytest.mark.spec("TB-122")
def test_what_only_task_summary_says_is_believed(tmp_path: Path) -> None:
    """The block, a fall from ready without an event, flat fields; steps promoted while blocked."""
    task = shown(tmp_path, "reference-blocked.wal.jsonl", "plan")
    assert task.status == "blocked"
    assert task.title == "The summary rules"
    a, b = task.step("a"), task.step("b")
    assert (a.status, a.title, a.updated_after_dispatch) == ("completed", "flat field", True)
    assert (b.status, b.depends_on_step_ids) == ("ready", ("a",))
    assert task.root_step_ids == ("a",)


@pytest.mark.spec("TB-122")
def test_a_step_falls_from_ready_to_pending_without_an_event() -> None:
    replay = ReferenceReplay()
    replay.add((FIXTURES / "reference-blocked.wal.jsonl").read_bytes(), until=4)
    assert replay.task is not None
    assert replay.task.steps["b"].status == "ready"
    replay.add(_lines("reference-blocked.wal.jsonl", 4, 5))
    assert replay.task is not None
    assert replay.task.steps["b"].status == "pending"


@pytest.mark.spec("TB-122")
def test_leases_reopening_and_the_end_of_a_reference_task_are_read(tmp_path: Path) -> None:
    task = shown(tmp_path, "reference-cancelled.wal.jsonl", "old")
    assert (task.status, task.reason) == ("cancelled", "no longer")
    assert {step.status for step in task.steps} == {"cancelled"}
    assert task.step("a").claimed_by_run_id is None


@pytest.mark.spec("TB-122")
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_appended_to_a_reference_log(tmp_path: Path, name: str) -> None:
    board, path = opened(tmp_path, name)
    before = path.read_bytes()
    task_id = json.loads(before.splitlines()[0])["task_id"]
    worker = Actor(agent_id="w", run_id="w1", session_id="s1", role=Role.MAIN)
    for command, actor in (
        (updating({"op": "update_task", "title": "mine"}, task_id=task_id), BOSS),
        (ClaimStep(task_id=task_id, step_id="a"), worker),
    ):
        with pytest.raises(RefusedError):
            board.send(command, actor)
    listed = board.list(BOSS, ListTasks(include_terminal=True)).tasks
    assert [line.task_id for line in listed] == [task_id]
    assert listed[0].error is None
    board.writers.close()
    assert path.read_bytes() == before


@pytest.mark.spec("TB-122", "TB-123")
@pytest.mark.parametrize("name", NAMES)
def test_a_reference_log_can_be_read_up_to_any_line(name: str) -> None:
    data = (FIXTURES / name).read_bytes()
    for until in range(1, data.count(b"\n") + 1):
        replay = ReferenceReplay()
        replay.add(data, until=until)
        assert replay.seq == until


@pytest.mark.spec("TB-115", "TB-122")
def test_a_gap_in_a_reference_log_is_damage(tmp_path: Path) -> None:
    board, path = opened(tmp_path, "reference-blocked.wal.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:4] + lines[5:]))
    with pytest.raises(UnavailableError) as caught:
        SyncBoard(TaskWriters(JsonlLog(path.parent), "s1")).get("plan", BOSS)
    assert caught.value.details["line"] == 5
    board.writers.close()


@pytest.mark.spec("TB-1003")
def test_unknown_fields_are_ignored_on_replay() -> None:
    one = scenario("one by one")
    plain, richer = Replay(), Replay()
    plain.add(one.data)
    lines = [json.loads(line) for line in one.data.splitlines()]
    for line in lines:
        line["from_the_future"] = {"a": [1]}
        line["payload"]["also_new"] = "x"
    richer.add(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    assert plain.task is not None
    assert richer.task is not None
    assert facts(plain.task) == facts(richer.task)


@pytest.mark.spec("TB-1003", "TB-115")
def test_an_unknown_event_type_is_damage_with_its_line() -> None:
    data = scenario("one by one").data.replace(b'"task_step_started"', b'"task_step_danced"')
    with pytest.raises(DamagedLogError) as caught:
        Replay().add(data)
    assert caught.value.line == 6
    written = (FIXTURES / "reference-completed.wal.jsonl").read_bytes()
    with pytest.raises(DamagedLogError) as caught:
        ReferenceReplay().add(written.replace(b'"task_step_started"', b'"task_step_danced"'))
    assert caught.value.line == 6


def test_a_reference_log_refuses_with_a_code_that_says_so(tmp_path: Path) -> None:
    board, _ = opened(tmp_path, "reference-blocked.wal.jsonl")
    with pytest.raises(RefusedError) as caught:
        board.send(updating({"op": "update_task", "title": "mine"}), BOSS)
    assert caught.value.code is Code.PERMISSION_DENIED
    board.writers.close()


def _lines(name: str, start: int, end: int) -> bytes:
    return b"".join((FIXTURES / name).read_bytes().splitlines(keepends=True)[start:end])
