"""How commands find the board, the session and the Task."""

import json
import os
from pathlib import Path

import pytest

from taskloom.board import CancelTask, CreateTask
from tests.cli.run_taskloom import taskloom
from tests.view.sample_boards import SampleBoard, step


@pytest.fixture
def sample(tmp_path: Path) -> SampleBoard:
    made = SampleBoard(tmp_path)
    made.create("release", [step("a")])
    return made


def test_the_nearest_board_upward_is_used(sample: SampleBoard) -> None:
    deep = sample.project / "a" / "b"
    deep.mkdir(parents=True)
    assert taskloom("board", "show", "release", cwd=deep).code == 0


def test_a_project_and_a_state_dir_can_be_named(sample: SampleBoard, tmp_path: Path) -> None:
    (sample.project / ".taskloom").rename(sample.project / ".other")
    away = tmp_path / "away"
    away.mkdir()
    words = ("board", "show", "release", "--project", sample.project, "--state-dir", ".other")
    assert taskloom(*words, cwd=away).code == 0


def test_a_missing_board_is_reported_with_its_path(tmp_path: Path) -> None:
    ended = taskloom("board", "list", "--project", tmp_path, cwd=tmp_path)
    assert ended.code == 2
    assert f"There is no board at {tmp_path / '.taskloom' / 'tasks'}" in ended.err


def test_of_several_sessions_the_newest_is_used_with_a_note(sample: SampleBoard) -> None:
    newer = SampleBoard(sample.project, "s2")
    path = newer.create("newer", [step("a")])
    later = sample.wal("release").stat().st_mtime + 10
    os.utime(path, (later, later))
    ended = taskloom("board", "list", "--json", cwd=sample.project)
    assert [task["task_id"] for task in ended.json()["tasks"]] == ["newer"]
    assert ended.err == "note: session s2, the newest of 2; see --session\n"
    chosen = taskloom("board", "list", "--json", "--session", "s1", cwd=sample.project)
    assert [task["task_id"] for task in chosen.json()["tasks"]] == ["release"]
    assert chosen.err == ""
    unknown = taskloom("board", "list", "--session", "s3", cwd=sample.project)
    assert unknown.code == 2
    assert unknown.err == "taskloom: There is no session 's3'. The sessions are s2, s1.\n"


def test_an_unknown_task_is_refused_with_similar_names(sample: SampleBoard) -> None:
    near = taskloom("board", "show", "relaese", cwd=sample.project)
    assert near.code == 2
    assert near.err == "taskloom: This session has no Task 'relaese'. Did you mean release?\n"
    far = taskloom("board", "log", "xyz", "--json", cwd=sample.project)
    assert far.code == 2
    error = json.loads(far.err)["error"]
    assert error["code"] == "task_not_found"
    assert "Its Tasks are release." in error["message"]


def test_a_missing_path_is_refused(sample: SampleBoard) -> None:
    ended = taskloom("board", "show", "./gone.wal.jsonl", cwd=sample.project)
    assert ended.code == 2
    assert ended.err == "taskloom: There is no file gone.wal.jsonl. Check the path.\n"


def test_a_task_is_found_by_the_name_of_its_log_too(sample: SampleBoard) -> None:
    wal = sample.wal("release")
    wal.rename(wal.with_name("other.wal.jsonl"))
    for word in ("release", "other", "other.wal.jsonl"):
        assert taskloom("board", "show", word, cwd=sample.project).code == 0


@pytest.mark.spec("TB-211")
def test_a_task_id_used_again_means_the_active_one(sample: SampleBoard) -> None:
    sample.send(CancelTask(task_id="release"))
    again = CreateTask(task_id="release", wal_name="again", title="Again", steps=(step("a"),))
    sample.send(again)
    seen = taskloom("board", "show", "release", "--json", cwd=sample.project).json()
    assert seen["view"]["title"] == "Again"
    old = taskloom("board", "show", sample.wal("release"), "--json", cwd=sample.project).json()
    assert old["view"]["status"] == "cancelled"
