"""`taskloom board log`: the timeline, a part of it, and what is still to come."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from taskloom.board import CancelTask
from tests.cli.run_taskloom import COMMAND, TIMEOUT_S, environment, taskloom
from tests.view.golden import check
from tests.view.sample_boards import SampleBoard, diamond, reference_wal, step

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def sample(tmp_path: Path) -> SampleBoard:
    made = SampleBoard(tmp_path)
    diamond(made)
    return made


@pytest.mark.spec("TB-123")
def test_the_timeline_shows_every_event_on_one_line(sample: SampleBoard) -> None:
    ended = taskloom("board", "log", "diamond", cwd=sample.project)
    assert (ended.code, ended.err) == (0, "")
    check(ended.out, GOLDEN / "log.txt")


@pytest.mark.spec("TB-108")
def test_programs_get_the_fields_of_the_log_line_by_line(sample: SampleBoard) -> None:
    lines = taskloom("board", "log", "diamond", "--json", cwd=sample.project).json_lines()
    written = [json.loads(line) for line in sample.wal("diamond").read_text().splitlines()]
    for line in written:
        del line["tx"], line["crc"]
    assert [{**line, "step_id": line.get("step_id"), "command_id": None} for line in written] == [
        {**line} for line in lines
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
def test_a_part_of_the_timeline(
    sample: SampleBoard, words: tuple[str, ...], seqs: list[int]
) -> None:
    lines = taskloom("board", "log", "diamond", "--json", *words, cwd=sample.project).json_lines()
    assert [line["wal_seq"] for line in lines] == list(seqs)


def test_the_end_of_a_long_log_is_shown_with_a_note(tmp_path: Path) -> None:
    sample = SampleBoard(tmp_path)
    sample.create("long", [step(f"s{n}") for n in range(300)])
    ended = taskloom("board", "log", "long", cwd=tmp_path)
    assert len(ended.out.splitlines()) == 201
    assert ended.err == "note: starts at line 103; --all shows the earlier events\n"
    assert len(taskloom("board", "log", "long", "--all", cwd=tmp_path).out.splitlines()) == 303


@pytest.mark.spec("TB-122", "TB-123")
def test_the_timeline_of_a_reference_log(tmp_path: Path) -> None:
    path = reference_wal(tmp_path / "old.wal.jsonl")
    lines = taskloom("board", "log", path, "--json", cwd=tmp_path).json_lines()
    assert [line["event_id"] for line in lines] == [f"task_evt_{n}" for n in range(1, 7)]


def test_follow_shows_new_events_and_ends_with_the_task(sample: SampleBoard) -> None:
    """Each change is made only after the one before it was seen, so nothing here is a race."""
    with following(sample) as lines:
        assert [next(lines)["wal_seq"] for _ in range(11)] == list(range(1, 12))
        sample.clock.move(1000)
        sample.send(CancelTask(task_id="diamond", reason="enough"))
        rest = list(lines)
    assert rest[-1]["event_type"] == "task_cancelled"
    assert [line["wal_seq"] for line in rest] == list(range(12, 12 + len(rest)))


def test_following_an_ended_task_reads_it(sample: SampleBoard) -> None:
    sample.send(CancelTask(task_id="diamond"))
    words = ("board", "log", "diamond", "--follow", "--after", "99", "--json")
    ended = taskloom(*words, cwd=sample.project)
    assert (ended.code, ended.out) == (0, "")


class following:  # noqa: N801 - reads as a verb where it is used
    """A follower at work; entering gives its lines as they come, leaving waits for its end."""

    def __init__(self, sample: SampleBoard) -> None:
        self._process = subprocess.Popen(
            [*COMMAND, "board", "log", "diamond", "--json", "--follow"],
            cwd=sample.project,
            env=environment(),
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


def test_a_reader_that_closes_the_pipe_ends_the_program_quietly(sample: SampleBoard) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*COMMAND, "board", "log", "diamond"],
        cwd=sample.project,
        env=environment(),
        stdout=write,
        stderr=subprocess.PIPE,
        timeout=TIMEOUT_S,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")
