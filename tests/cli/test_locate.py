"""Which board, which session, which Task: found, chosen, or refused with what there is."""

import json
import os
from pathlib import Path

import pytest

from taskloom import CancelTask, CreateTask
from tests.cli.program import taskloom
from tests.view.boards import Stage, step


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    made = Stage(tmp_path)
    made.create("release", [step("a")])
    return made


def test_the_nearest_board_upward_is_meant(stage: Stage) -> None:
    deep = stage.project / "a" / "b"
    deep.mkdir(parents=True)
    assert taskloom("board", "show", "release", cwd=deep).code == 0


def test_a_project_and_a_state_dir_can_be_named(stage: Stage, tmp_path: Path) -> None:
    (stage.project / ".taskloom").rename(stage.project / ".other")
    away = tmp_path / "away"
    away.mkdir()
    words = ("board", "show", "release", "--project", stage.project, "--state-dir", ".other")
    assert taskloom(*words, cwd=away).code == 0


def test_no_board_is_said_with_where_it_was_looked_for(tmp_path: Path) -> None:
    ended = taskloom("board", "list", "--project", tmp_path, cwd=tmp_path)
    assert ended.code == 2
    assert f"There is no board at {tmp_path / '.taskloom' / 'tasks'}" in ended.err


def test_of_several_sessions_the_newest_is_taken_with_a_note(stage: Stage) -> None:
    newer = Stage(stage.project, "s2")
    path = newer.create("newer", [step("a")])
    later = stage.wal("release").stat().st_mtime + 10
    os.utime(path, (later, later))
    ended = taskloom("board", "list", "--json", cwd=stage.project)
    assert [task["task_id"] for task in ended.json()["tasks"]] == ["newer"]
    assert ended.err == "note: session s2, the newest of 2; see --session\n"
    chosen = taskloom("board", "list", "--json", "--session", "s1", cwd=stage.project)
    assert [task["task_id"] for task in chosen.json()["tasks"]] == ["release"]
    assert chosen.err == ""
    unknown = taskloom("board", "list", "--session", "s3", cwd=stage.project)
    assert unknown.code == 2
    assert unknown.err == "taskloom: There is no session 's3'. The sessions are s2, s1.\n"


def test_an_unknown_task_is_refused_with_names_that_sound_alike(stage: Stage) -> None:
    near = taskloom("board", "show", "relaese", cwd=stage.project)
    assert near.code == 2
    assert near.err == "taskloom: This session has no Task 'relaese'. Did you mean release?\n"
    far = taskloom("board", "log", "xyz", "--json", cwd=stage.project)
    assert far.code == 2
    error = json.loads(far.err)["error"]
    assert error["code"] == "task_not_found"
    assert "Its Tasks are release." in error["message"]


def test_a_path_that_is_not_there_is_refused(stage: Stage) -> None:
    ended = taskloom("board", "show", "./gone.wal.jsonl", cwd=stage.project)
    assert ended.code == 2
    assert ended.err == "taskloom: There is no file gone.wal.jsonl. Check the path.\n"


def test_a_task_is_found_by_the_name_of_its_log_too(stage: Stage) -> None:
    wal = stage.wal("release")
    wal.rename(wal.with_name("other.wal.jsonl"))
    for word in ("release", "other", "other.wal.jsonl"):
        assert taskloom("board", "show", word, cwd=stage.project).code == 0


@pytest.mark.spec("TB-211")
def test_a_task_id_used_again_means_the_active_one(stage: Stage) -> None:
    stage.send(CancelTask(task_id="release"))
    again = CreateTask(task_id="release", wal_name="again", title="Again", steps=(step("a"),))
    stage.send(again)
    seen = taskloom("board", "show", "release", "--json", cwd=stage.project).json()
    assert seen["view"]["title"] == "Again"
    old = taskloom("board", "show", stage.wal("release"), "--json", cwd=stage.project).json()
    assert old["view"]["status"] == "cancelled"
