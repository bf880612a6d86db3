"""Unusual files, names and streams: a message and an exit code, never a traceback or a hang."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.run_taskloom import COMMAND, TIMEOUT_S, ProgramResult, environment, taskloom
from tests.view.sample_boards import SampleBoard, reference_wal, step

NO_UNICODE = os.fsdecode(b"\xff")


@pytest.fixture
def sample(tmp_path: Path) -> SampleBoard:
    made = SampleBoard(tmp_path)
    made.create("release", [step("a")])
    return made


def in_shell(line: str, cwd: Path) -> ProgramResult:
    """Run `taskloom LINE` in a shell, for what only a shell can do to a program's streams."""
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$@" {line}', "sh", *COMMAND],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return ProgramResult(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("command", ["show", "log", "verify"])
def test_a_pipe_or_a_device_is_no_log(sample: SampleBoard, command: str) -> None:
    pipe = sample.project / "pipe.wal.jsonl"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        ended = taskloom("board", command, path, cwd=sample.project)
        assert ended.code == 2
        assert "is not a regular file" in ended.out + ended.err


def test_a_link_to_a_log_may_be_named(sample: SampleBoard) -> None:
    link = sample.project / "link.wal.jsonl"
    link.symlink_to(sample.wal("release"))
    for command in ("show", "log", "verify"):
        assert taskloom("board", command, link, cwd=sample.project).code == 0


def test_files_that_are_no_logs_are_not_listed(sample: SampleBoard) -> None:
    sample.wal("dangling").symlink_to("/nowhere")
    os.mkfifo(sample.wal("pipe"))
    sample.wal("folder").mkdir()
    ended = taskloom("board", "list", "--json", cwd=sample.project)
    assert (ended.code, ended.err) == (0, "")
    assert [task["task_id"] for task in ended.json()["tasks"]] == ["release"]


@pytest.mark.parametrize("name", ["my session", "e\x1b[31mvil", "empty", NO_UNICODE])
def test_a_directory_that_is_no_session_is_not_chosen(sample: SampleBoard, name: str) -> None:
    folder = sample.directory.parent / name
    folder.mkdir()
    if name != "empty":
        (folder / "x.wal.jsonl").write_bytes(sample.wal("release").read_bytes())
    ended = taskloom("board", "show", "release", cwd=sample.project)
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize(
    "words",
    [
        ("show", NO_UNICODE),
        ("list", "--project", f"/nowhere/{NO_UNICODE}"),
        ("list", "--session", NO_UNICODE),
    ],
)
def test_arguments_that_are_not_unicode_are_escaped_in_json(
    sample: SampleBoard, words: tuple[str, ...]
) -> None:
    ended = taskloom("board", *words, "--json", cwd=sample.project)
    assert ended.code == 2
    assert "\\udcff" in json.loads(ended.err)["error"]["message"]


def test_file_names_that_are_not_unicode_are_escaped_in_json(sample: SampleBoard) -> None:
    sample.wal(NO_UNICODE).write_text("garbage\n")
    listed = taskloom("board", "list", "--json", cwd=sample.project)
    assert listed.code == 0
    assert {task["task_id"] for task in listed.json()["tasks"]} == {"release", "\\udcff"}
    checked = taskloom("board", "verify", "--json", cwd=sample.project)
    assert checked.code == 1
    assert any(each["wal_path"].endswith("\\udcff.wal.jsonl") for each in checked.json()["wals"])


@pytest.mark.parametrize("json_too", ["", "--json"])
@pytest.mark.parametrize("words", ["board show release", "board log release", "--version"])
@pytest.mark.parametrize("stream", [">&-", ">/dev/full"])
def test_output_that_cannot_be_written_is_one_line_and_a_failure(
    sample: SampleBoard, stream: str, words: str, json_too: str
) -> None:
    if words == "--version" and json_too:
        return
    ended = in_shell(f"{words} {json_too} {stream}", sample.project)
    assert ended.code == 1
    assert len(ended.err.splitlines()) == 1
    assert ("closed" if stream == ">&-" else "No space left") in ended.err


@pytest.mark.parametrize("stream", ["2>&-", "2>/dev/full"])
def test_an_error_that_cannot_be_printed_keeps_its_exit_code(
    sample: SampleBoard, stream: str
) -> None:
    assert in_shell(f"board show nosuch {stream}", sample.project).code == 2
    assert in_shell(f"board show release {stream}", sample.project).code == 0


def test_a_missing_working_directory_is_reported(sample: SampleBoard) -> None:
    line = f'mkdir gone; cd gone; rmdir ../gone; "{COMMAND[0]}" -m {COMMAND[2]} board list'
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=sample.project,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("taskloom: The working directory does not exist")


def test_paths_and_session_ids_are_escaped(sample: SampleBoard) -> None:
    odd = sample.project / "esc\x1b[31m.wal.jsonl"
    odd.write_bytes(b"garbage\n" * 2)
    for command in ("show", "log", "verify"):
        ended = taskloom("board", command, odd, cwd=sample.project)
        assert ended.code == 1
        assert "\x1b" not in ended.out + ended.err
        assert "esc\\x1b[31m" in ended.out + ended.err


def test_a_width_of_zero_is_the_default_width(sample: SampleBoard) -> None:
    shown = taskloom("board", "show", "release", cwd=sample.project, COLUMNS="0")
    assert shown.out
    assert shown == taskloom("board", "show", "release", cwd=sample.project, COLUMNS="80")


def test_every_command_reports_an_empty_log_alike(sample: SampleBoard) -> None:
    empty = sample.project / "empty.wal.jsonl"
    empty.touch()
    for words in (("show",), ("log",), ("log", "--follow"), ("log", "--json")):
        ended = taskloom("board", *words, empty, cwd=sample.project)
        assert (ended.code, ended.out) == (1, "")
        assert "no whole transaction" in ended.err


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_follower_notices_that_its_file_is_gone(sample: SampleBoard, how: str) -> None:
    wal = sample.wal("release")
    with subprocess.Popen(
        [*COMMAND, "board", "log", "release", "--json", "--follow"],
        cwd=sample.project,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert [json.loads(process.stdout.readline())["wal_seq"] for _ in range(3)] == [1, 2, 3]
        data = wal.read_bytes()
        wal.unlink()
        if how == "replaced":
            wal.write_bytes(data)
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, out) == (1, "")
    assert "was removed or replaced" in json.loads(err)["error"]["message"]


@pytest.mark.parametrize("at", ["2026-01-01T00:00:00", "0001-01-01T00:00:00+14:00"])
def test_times_out_of_range_do_not_break_the_list(sample: SampleBoard, at: str) -> None:
    path = reference_wal(sample.wal("old"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**line, "created_at": at}) + "\n" for line in lines))
    for words in (("list",), ("list", "--json"), ("show", "old"), ("log", "old"), ("verify",)):
        ended = taskloom("board", *words, cwd=sample.project)
        assert (ended.code, ended.err) == (0, "")


def test_one_invalid_log_does_not_break_the_list(sample: SampleBoard) -> None:
    path = reference_wal(sample.wal("old"))
    path.write_text(path.read_text().replace('"steps": [', '"steps": ["oops", ', 1))
    tasks = taskloom("board", "list", "--json", cwd=sample.project).json()["tasks"]
    assert {task["status"] for task in tasks} == {"running", "unavailable"}
