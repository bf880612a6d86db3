"""`taskloom board list | show | replay | diff`, as people and programs use them."""

from pathlib import Path

import pytest

from taskloom.board import CompleteTask
from tests.cli.run_taskloom import taskloom, taskloom_in_terminal
from tests.view.golden import check
from tests.view.sample_boards import (
    SampleBoard,
    change_after_dispatch,
    diamond,
    reference_wal,
    step,
)

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def sample(tmp_path: Path) -> SampleBoard:
    made = SampleBoard(tmp_path)
    diamond(made)
    made.create("done", [step("a")], title="Long over")
    made.complete("done", "a")
    made.send(CompleteTask(task_id="done", result_summary="it went well"))
    return made


@pytest.mark.spec("TB-118", "TB-209", "TB-311")
def test_list_leaves_out_ended_tasks_by_default(sample: SampleBoard) -> None:
    ended = taskloom("board", "list", cwd=sample.project)
    assert ended.code == 0
    assert [line.split()[1] for line in ended.out.splitlines()[1:]] == ["diamond"]
    assert "1 ended Task not shown; --all shows all Tasks" in ended.err
    check(taskloom("board", "list", "--all", cwd=sample.project).out, GOLDEN / "list.txt")


@pytest.mark.spec("TB-119", "TB-118")
def test_list_prints_json(sample: SampleBoard) -> None:
    page = taskloom("board", "list", "--all", "--limit", "1", "--json", cwd=sample.project).json()
    assert (page["total"], page["has_more"]) == (2, True)
    assert page["tasks"][0]["task_id"] == "done"
    assert page["tasks"][0]["result_summary"] == "it went well"
    only = taskloom("board", "list", "--status", "running", "--json", cwd=sample.project).json()
    assert [task["task_id"] for task in only["tasks"]] == ["diamond"]
    assert only["tasks"][0]["counts"] == {"pending": 1, "running": 1, "blocked": 1, "completed": 1}


@pytest.mark.spec("TB-115", "TB-127")
def test_list_shows_a_damaged_task_as_unavailable_and_the_others_as_they_are(
    sample: SampleBoard,
) -> None:
    wal = sample.wal("diamond")
    data = bytearray(wal.read_bytes())
    data[200] ^= 1
    wal.write_bytes(data)
    page = taskloom("board", "list", "--all", "--json", cwd=sample.project).json()
    status = {task["task_id"]: task["status"] for task in page["tasks"]}
    assert status == {"diamond": "unavailable", "done": "completed"}
    error = next(task["error"] for task in page["tasks"] if task["task_id"] == "diamond")
    assert error["code"] == "task_wal_unavailable"
    assert (error["details"]["wal_path"], error["details"]["line"]) == (str(wal), 1)
    shown = taskloom("board", "show", "diamond", cwd=sample.project)
    assert (shown.code, shown.out) == (1, "")
    assert f"{wal}, line 1" in shown.err
    assert "Traceback" not in shown.err
    assert taskloom("board", "show", "done", cwd=sample.project).code == 0


@pytest.mark.spec("TB-123")
def test_replay_shows_the_board_as_it_was(sample: SampleBoard) -> None:
    ended = taskloom("board", "replay", "diamond", "--at", "9", cwd=sample.project)
    assert ended.code == 0
    check(ended.out, GOLDEN / "replay.txt")
    seen = taskloom("board", "replay", "diamond", "--at", "3", "--json", cwd=sample.project).json()
    assert (seen["view"]["seq"], seen["last_seq"]) == (3, 11)
    assert [each["status"] for each in seen["view"]["steps"]] == ["ready", *["pending"] * 3]


@pytest.mark.spec("TB-123", "TB-209", "TB-120")
def test_show_reads_a_task_that_has_ended(sample: SampleBoard) -> None:
    seen = taskloom("board", "show", "done", "--json", cwd=sample.project).json()
    assert seen["view"]["status"] == "completed"
    assert seen["view"]["result_summary"] == "it went well"
    assert (seen["reference_log"], seen["torn_bytes"], seen["session_id"]) == (False, 0, "s1")


@pytest.mark.spec("TB-415", "TB-414")
def test_show_has_the_content_at_dispatch(sample: SampleBoard) -> None:
    change_after_dispatch(sample)
    seen = taskloom("board", "show", "diamond", "--json", cwd=sample.project).json()
    (late,) = (each for each in seen["view"]["steps"] if each["updated_after_dispatch"])
    assert (late["dispatched_title"], late["dispatched_summary"]) == ("Do b", "")
    assert (late["title"], late["summary"]) == ("Do b well", "All 12 pages, not 10.")
    assert "at dispatch" in taskloom("board", "show", "diamond", cwd=sample.project).out


def test_show_filters_steps(sample: SampleBoard) -> None:
    words = ("board", "show", "diamond", "--status", "blocked,pending", "--json")
    seen = taskloom(*words, cwd=sample.project).json()
    assert [each["step_id"] for each in seen["view"]["steps"]] == ["c", "d"]
    wrong = taskloom("board", "show", "diamond", "--status", "asleep", cwd=sample.project)
    assert wrong.code == 2
    assert "must be one of pending, ready," in wrong.err


def test_diff_shows_what_changed_between_two_lines(sample: SampleBoard) -> None:
    ended = taskloom("board", "diff", "diamond", "6", "11", cwd=sample.project)
    assert ended.code == 0
    check(ended.out, GOLDEN / "diff.txt")
    found = taskloom("board", "diff", "diamond", "6", "11", "--json", cwd=sample.project).json()
    assert (found["before_seq"], found["after_seq"]) == (6, 11)
    assert (found["added"], found["removed"], found["task"]) == ([], [], [])
    (status,) = (c for c in found["changed"][1]["changes"] if c["field"] == "status")
    assert status == {"field": "status", "before": "ready", "after": "blocked"}


@pytest.mark.parametrize("words", [("replay", "--at", "99"), ("diff", "1", "99")])
def test_a_missing_line_is_refused_with_the_last_one(
    sample: SampleBoard, words: tuple[str, ...]
) -> None:
    verb, *rest = words
    ended = taskloom("board", verb, "diamond", *rest, cwd=sample.project)
    assert ended.code == 2
    assert ended.err == "taskloom: The log has no line 99; its last line is 11.\n"


@pytest.mark.spec("TB-122", "TB-123")
def test_a_reference_log_is_shown_from_anywhere(tmp_path: Path) -> None:
    path = reference_wal(tmp_path / "elsewhere" / "old.wal.jsonl")
    empty = tmp_path / "empty"
    empty.mkdir()
    seen = taskloom("board", "show", path, "--json", cwd=empty).json()
    assert seen["reference_log"] is True
    assert [each["status"] for each in seen["view"]["steps"]] == ["completed", "ready"]
    assert seen["view"]["steps"][0]["claimed_by_agent_id"] == "w"
    then = taskloom("board", "replay", path, "--at", "4", "--json", cwd=empty).json()
    assert then["view"]["steps"][0]["status"] == "claimed"
    assert "From elsewhere" in taskloom("board", "show", "old.wal.jsonl", cwd=path.parent).out


def test_a_terminal_gets_colours_and_a_pipe_gets_none(sample: SampleBoard) -> None:
    piped = taskloom("board", "show", "diamond", cwd=sample.project).out
    coloured = taskloom_in_terminal("board", "show", "diamond", cwd=sample.project)
    plain = taskloom_in_terminal("board", "show", "diamond", cwd=sample.project, NO_COLOR="1")
    assert coloured.code == 0
    assert "\x1b[32m" in coloured.out
    assert "\x1b[32m" not in plain.out
    assert "\x1b" not in piped
    assert all(line == line.rstrip() for line in piped.splitlines())


@pytest.mark.spec("TB-124")
def test_text_of_a_board_cannot_drive_a_terminal(tmp_path: Path) -> None:
    sample = SampleBoard(tmp_path)
    sample.create("t", [step("a", title="\x1b]0;owned\a\x1b[2J gone \u202e")], title="\x1b[31mred")
    for words in (("show", "t"), ("log", "t"), ("list",)):
        ended = taskloom_in_terminal("board", *words, cwd=tmp_path, NO_COLOR="1")
        assert ended.code == 0
        assert "\x1b]" not in ended.out
        assert "\x1b[2J" not in ended.out
        assert "\x1b[31m" not in ended.out
    assert r"\x1b[31mred" in taskloom("board", "show", "t", cwd=tmp_path).out


def test_a_symbol_that_cannot_be_encoded_becomes_a_question_mark(sample: SampleBoard) -> None:
    ended = taskloom("board", "show", "diamond", cwd=sample.project, PYTHONIOENCODING="ascii")
    assert ended.code == 0
    assert "? a" in ended.out
