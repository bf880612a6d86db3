"""Inspection of one log: what is durable, at any line, without blocking writers."""

import fcntl
import os
from contextlib import closing
from pathlib import Path

import pytest

from taskloom import UnavailableError
from taskloom.board import CancelTask
from taskloom.codec import Chain
from taskloom.errors import StorageError
from taskloom.log import ReadOnlyLog
from taskloom.runtime import Health, inspect, verify
from tests.view.sample_boards import SampleBoard, diamond, reference_wal, step


@pytest.fixture
def sample(tmp_path: Path) -> SampleBoard:
    return SampleBoard(tmp_path)


@pytest.mark.spec("TB-116", "TB-123")
def test_the_inspection_equals_the_live_board(sample: SampleBoard) -> None:
    path = diamond(sample)
    assert inspect(path).view == sample.board.get("diamond", sample.orchestrator)


@pytest.mark.spec("TB-123")
def test_a_later_change_does_not_alter_an_earlier_moment(sample: SampleBoard) -> None:
    path = diamond(sample)
    before = [inspect(path, at=at).view for at in range(1, 12)]
    assert [view.seq for view in before] == list(range(1, 12))
    sample.send(CancelTask(task_id="diamond"))
    assert [inspect(path, at=at).view for at in range(1, 12)] == before
    assert inspect(path, at=99).view.status == "cancelled"


def test_no_writer_waits_for_a_slow_reader(sample: SampleBoard) -> None:
    path = diamond(sample)
    with closing(ReadOnlyLog(path)) as wal:
        entries = wal.lines()
        next(entries)
        writer = os.open(path, os.O_RDWR)
        fcntl.flock(writer, fcntl.LOCK_EX | fcntl.LOCK_NB)  # Raises if the reader held it.
        os.close(writer)
        assert len(list(entries)) == 10


def test_a_reader_resumes_where_it_stopped_and_knows_the_end(sample: SampleBoard) -> None:
    path = sample.create("t", [step("a")])
    with closing(ReadOnlyLog(path)) as wal:
        assert [entry.wal_seq for entry in wal.lines()] == [1, 2, 3]
        assert list(wal.lines()) == []
        sample.send(CancelTask(task_id="t"))
        assert [entry.wal_seq for entry in wal.lines()] == [4, 5]
        assert wal.is_over


def test_a_file_that_was_cut_while_it_was_read_is_damage(sample: SampleBoard) -> None:
    path = diamond(sample)
    with closing(ReadOnlyLog(path)) as wal:
        list(wal.lines())
        os.truncate(path, 100)
        with pytest.raises(UnavailableError, match="cut to 100 bytes"):
            list(wal.lines())


def test_a_long_log_is_read_in_pieces(sample: SampleBoard) -> None:
    path = sample.create("long", [step(f"s{n}") for n in range(3000)])
    assert path.stat().st_size > 1 << 19
    read: list[int] = []
    seen = inspect(path, progress=read.append)
    assert sum(read) == path.stat().st_size
    assert seen.last_seq == 3002
    with closing(ReadOnlyLog(path)) as wal:
        assert [entry.wal_seq for entry in wal.lines(after=2990)] == list(range(2991, 3003))


def with_new_checksums(path: Path, old: bytes, new: bytes) -> None:
    """Change a log and give every line a right checksum, as no accident would."""
    chain = Chain()
    lines = path.read_bytes().replace(old, new).splitlines()
    path.write_bytes(b"".join(chain.line(line[: line.rindex(b',"crc"')] + b"}") for line in lines))


@pytest.mark.spec("TB-115", "TB-1003")
@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        (b'"previous_status":"claimed"', b'"previous_status":"blocked"', "cannot follow"),
        (b'"task_step_blocked"', b'"task_step_danced"', "task_step_danced"),
        (b'"wal_seq":9,', b'"wal_seq":8,', "numbered 8"),
    ],
)
def test_an_impossible_event_is_damage_even_with_a_valid_checksum(
    sample: SampleBoard, old: bytes, new: bytes, cause: str
) -> None:
    path = diamond(sample)
    with_new_checksums(path, b"orc-1", b"orc-2")
    assert verify(path).health is Health.OK
    with_new_checksums(path, old, new)
    found = verify(path)
    assert found.health is Health.DAMAGED
    assert cause in (found.cause or "")


@pytest.mark.spec("TB-122")
def test_a_reference_log_with_a_torn_tail_is_read_up_to_it(tmp_path: Path) -> None:
    path = reference_wal(tmp_path / "old.wal.jsonl")
    path.write_bytes(path.read_bytes()[:-3])
    seen = inspect(path)
    assert (seen.reference_log, seen.last_seq) == (True, 5)
    assert seen.torn_bytes > 0
    assert verify(path).health is Health.TORN


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="No such file"):
        inspect(tmp_path / "gone.wal.jsonl")
