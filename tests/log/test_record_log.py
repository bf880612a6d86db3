"""The record log: what it returns, what a crash leaves of it, and files of earlier versions."""

import shutil
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec
import pytest

from taskloom.agent.journal import open_journal
from taskloom.agent.loop.journal_entries import Ended, RunBegun
from taskloom.errors import DamagedLogError, RefusedError, StorageError
from taskloom.log import Disk, RecordLog
from taskloom.session import PromptRecord, Transcript, TurnEnd
from taskloom.testing import Crashed, Fault, FaultyDisk, MemoryDisk

FIXTURES: Final = Path(__file__).parent / "fixtures"
PATH: Final = Path("/project/records.jsonl")


class Note(msgspec.Struct, frozen=True):
    text: str


def opened(path: Path = PATH, disk: Disk | None = None) -> RecordLog[Note]:
    log = RecordLog[Note](path, Note, disk=disk)
    assert log.try_lock()
    return log


def records_on(disk: Disk) -> list[str]:
    log = opened(disk=disk)
    return [note.text for note in log.read_new()]


def test_records_come_back_in_order_and_each_only_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "records.jsonl"
    log = opened(path)
    assert log.read_new() == []
    log.append([Note("a"), Note("b")])
    log.append([Note("c")])
    assert log.read_new() == []
    log.close()
    other = opened(path)
    assert other.read_new() == [Note("a"), Note("b"), Note("c")]
    other.append([Note("d")])
    other.unlock()
    assert log.try_lock()
    assert log.read_new() == [Note("d")]


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    log = opened(path)
    other = RecordLog[Note](path, Note)
    assert not other.try_lock()
    log.unlock()
    assert other.try_lock()


def test_a_line_has_the_frame_of_the_board_s_log(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    log = RecordLog[Note](path, Note, field="note")
    assert log.try_lock()
    log.append([Note("a"), Note("b")])
    first, second = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    assert list(first) == ["wal_seq", "note", "tx", "crc"]
    assert (first["tx"], second["tx"]) == ([1, 2, 0], [2, 2, 0])


def test_a_record_without_a_json_form_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    log = RecordLog[object](path, Any)
    assert log.try_lock()
    log.append([{"n": 1}])
    with pytest.raises(RefusedError, match="no JSON form"):
        log.append([{"n": 2}, object()])
    log.append([{"n": 3}])
    log.close()
    again = RecordLog[object](path, Any)
    assert again.try_lock()
    assert again.read_new() == [{"n": 1}, {"n": 3}]


def test_a_changed_byte_is_reported_with_its_line_and_left_there(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    log = opened(path)
    for text in "abc":
        log.append([Note(text)])
    log.close()
    path.write_bytes(path.read_bytes().replace(b'"b"', b'"x"'))
    before = path.read_bytes()
    again = opened(path)
    for _ in range(2):
        with pytest.raises(DamagedLogError, match="line 2"):
            again.read_new()
    assert path.read_bytes() == before


def test_a_line_of_another_type_is_reported_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    log = RecordLog[object](path, Any)
    assert log.try_lock()
    log.append([{"text": "a"}])
    log.append([{"text": "b"}])
    log.append([{"n": 3}])
    log.close()
    again = opened(path)
    for _ in range(2):
        with pytest.raises(DamagedLogError, match="line 3: not a record of this log"):
            again.read_new()


def test_a_file_that_lost_lines_is_damaged_for_a_reader_that_knew_them(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    log = opened(path)
    log.append([Note("a")])
    kept = path.read_bytes()
    log.append([Note("b")])
    log.close()
    path.write_bytes(kept)
    assert log.try_lock()
    with pytest.raises(DamagedLogError, match="2 lines"):
        log.read_new()


@pytest.mark.parametrize("size", [1, 3])
def test_a_cut_at_any_byte_of_an_append_leaves_all_of_it_or_none(size: int) -> None:
    disk = MemoryDisk()
    log = opened(disk=disk)
    log.append([Note("a")])
    whole = len(disk.content(PATH))
    log.append([Note("b")] * size)
    data = disk.content(PATH)
    for cut in range(whole, len(data) + 1):
        other = MemoryDisk()
        other.put(PATH, data[:cut])
        after = opened(disk=other)
        expected = ["a"] + ["b"] * size * (cut == len(data))
        assert [note.text for note in after.read_new()] == expected
        after.append([Note("c")])
        after.close()
        assert records_on(other) == [*expected, "c"]


def test_what_was_appended_survives_a_power_cut_after_a_crash_at_any_call() -> None:
    """The first append includes the file's creation: its name must be durable too."""
    calls = 0
    for at in range(1, 200):
        for fault in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER):
            disk = MemoryDisk()
            faulty = FaultyDisk(disk, fault, at=at)
            promised = _append_until_it_crashes(faulty)
            calls = max(calls, at if faulty.has_failed else 0)
            for seed in range(4):
                found = records_on(disk.power_cut(Random(seed)))
                assert found[: len(promised)] == promised
                assert found == [str(n) for n in range(len(found))]
        if calls < at:
            break
    assert calls > 10


def _append_until_it_crashes(disk: Disk) -> list[str]:
    promised: list[str] = []
    try:
        log = opened(disk=disk)
        log.read_new()
        for number in range(3):
            log.append([Note(str(number))])
            promised.append(str(number))
    except Crashed:
        pass
    return promised


@pytest.mark.parametrize("fault", [Fault.EIO, Fault.ENOSPC, Fault.FULL])
def test_a_failed_append_leaves_nothing_and_the_log_can_be_locked_again(fault: Fault) -> None:
    disk = MemoryDisk()
    first = opened(disk=disk)
    first.append([Note("a")])
    first.close()
    faulty = FaultyDisk(disk, fault, at=1, calls=["write"])
    log = opened(disk=faulty)
    assert log.read_new() == [Note("a")]
    with pytest.raises(StorageError):
        log.append([Note("b")])
    faulty.repair()
    assert log.try_lock()
    assert log.read_new() == []
    log.append([Note("c")])
    log.close()
    assert records_on(disk) == ["a", "c"]


@pytest.mark.parametrize(("name", "field"), [("journal", "entry"), ("transcript", "record")])
def test_the_bytes_of_earlier_versions_are_written_again(
    tmp_path: Path, name: str, field: str
) -> None:
    before = (FIXTURES / f"{name}.jsonl").read_bytes()
    log = RecordLog[object](tmp_path / "again.jsonl", Any, field=field)
    assert log.try_lock()
    batch: list[object] = []
    for line in map(msgspec.json.decode, before.splitlines()):
        batch.append(line[field])
        place, size, _ = line["tx"]
        if place == size:
            log.append(batch)
            batch = []
    assert (tmp_path / "again.jsonl").read_bytes() == before


@pytest.mark.spec("AG-702")
def test_a_journal_of_an_earlier_version_opens(tmp_path: Path) -> None:
    path = Path(shutil.copy(FIXTURES / "journal.jsonl", tmp_path))
    journal, entries = open_journal(path)
    journal.close()
    assert isinstance(entries[0], RunBegun)
    assert entries[0].messages[0].text == "write two notes, naïvely ☃"
    assert isinstance(entries[-1], Ended)
    assert len(entries) == 12


@pytest.mark.spec("AP-302")
def test_a_transcript_of_an_earlier_version_opens(tmp_path: Path) -> None:
    path = Path(shutil.copy(FIXTURES / "transcript.jsonl", tmp_path))
    transcript = Transcript(path)
    records = transcript.begin()
    assert isinstance(records[0], PromptRecord)
    assert records[0].message.text == "please edit"
    assert records[-1] == TurnEnd("cancelled")
    assert len(records) == 8
    transcript.append([TurnEnd("end_turn")])
    transcript.close()
    assert Transcript(path).begin()[:-1] == records
