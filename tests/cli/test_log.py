"""`taskloom board log`: the timeline, a part of it, and what is still to come."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from taskloom import CancelTask
from tests.cli.program import COMMAND, TIMEOUT_S, surroundings, taskloom
from tests.view.boards import Stage, diamond, reference_wal, step
from tests.view.golden import check

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    made = Stage(tmp_path)
    diamond(made)
    return made


@pytest.mark.spec("TB-123")
def test_the_timeline_tells_every_event_in_one_line(stage: Stage) -> None:
    ended = taskloom("board", "log", "diamond", cwd=stage.project)
    assert (ended.code, ended.err) == (0, "")
    check(ended.out, GOLDEN / "log.txt")


@pytest.mark.spec("TB-108")
def test_programs_get_the_fields_of_the_log_line_by_line(stage: Stage) -> None:
    told = taskloom("board", "log", "diamond", "--json", cwd=stage.project).json_lines()
    written = [json.loads(line) for line in stage.wal("diamond").read_text().splitlines()]
    for line in written:
        del line["tx"], line["crc"]
    assert [{**line, "step_id": line.get("step_id"), "command_id": None} for line in written] == [
        {**line} for line in told
    ]


@pytest.mark.parametrize(
    ("words", "seqs"),
    [
        ((), range(1, 12)),
        (("--after", "9"), [10, 11]),
        (("--limit", "2"), [10, 11]),
        (("--after", "2", "--limit", "2"), [3, 4]),
        (("--after", "99"), []),
    ],
)
def test_a_part_of_the_timeline(stage: Stage, words: tuple[str, ...], seqs: list[int]) -> None:
    told = taskloom("board", "log", "diamond", "--json", *words, cwd=stage.project).json_lines()
    assert [line["wal_seq"] for line in told] == list(seqs)


def test_people_get_the_end_of_a_long_log_and_are_told_so(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.create("long", [step(f"s{n}") for n in range(300)])
    ended = taskloom("board", "log", "long", cwd=tmp_path)
    assert len(ended.out.splitlines()) == 201
    assert ended.err == "note: starts at line 103; --all shows the earlier events\n"
    assert len(taskloom("board", "log", "long", "--all", cwd=tmp_path).out.splitlines()) == 303


@pytest.mark.spec("TB-122", "TB-123")
def test_the_timeline_of_a_reference_log(tmp_path: Path) -> None:
    path = reference_wal(tmp_path / "old.wal.jsonl")
    told = taskloom("board", "log", path, "--json", cwd=tmp_path).json_lines()
    assert [line["event_id"] for line in told] == [f"task_evt_{n}" for n in range(1, 7)]


def test_follow_shows_what_comes_and_ends_with_the_task(stage: Stage) -> None:
    """Each change is made only after the one before it was seen, so nothing here is a race."""
    with following(stage) as lines:
        assert [next(lines)["wal_seq"] for _ in range(11)] == list(range(1, 12))
        stage.clock.move(1000)
        stage.send(CancelTask(task_id="diamond", reason="enough"))
        rest = list(lines)
    assert rest[-1]["event_type"] == "task_cancelled"
    assert [line["wal_seq"] for line in rest] == list(range(12, 12 + len(rest)))


def test_to_follow_a_task_that_has_ended_is_to_read_it(stage: Stage) -> None:
    stage.send(CancelTask(task_id="diamond"))
    words = ("board", "log", "diamond", "--follow", "--after", "99", "--json")
    ended = taskloom(*words, cwd=stage.project)
    assert (ended.code, ended.out) == (0, "")


class following:  # noqa: N801 - reads as a verb where it is used
    """A follower at work; entering gives its lines as they come, leaving waits for its end."""

    def __init__(self, stage: Stage) -> None:
        self._process = subprocess.Popen(
            [*COMMAND, "board", "log", "diamond", "--json", "--follow"],
            cwd=stage.project,
            env=surroundings(),
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Iterator[dict[str, object]]:
        assert self._process.stdout is not None
        return map(json.loads, self._process.stdout)

    def __exit__(self, *_: object) -> None:
        try:
            assert self._process.wait(TIMEOUT_S) == 0
        finally:
            self._process.kill()
            self._process.communicate()


def test_a_reader_that_leaves_early_ends_the_program_quietly(stage: Stage) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*COMMAND, "board", "log", "diamond"],
        cwd=stage.project,
        env=surroundings(),
        stdout=write,
        stderr=subprocess.PIPE,
        timeout=TIMEOUT_S,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")
