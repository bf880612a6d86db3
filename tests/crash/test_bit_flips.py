"""A bit that changes by itself is found, wherever it is: never believed, never lost quietly.

Every flip is in the acknowledged part of a log, so every one of them must be reported as
damage. None may pass for a torn write, because then an acknowledged decision would be set
aside as if it had never been promised.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest

from taskloom.board import EventType
from taskloom.codec import Replay, find_committed_prefix, read_header
from taskloom.errors import DamagedLogError, UnavailableError
from taskloom.log import JsonlLog
from taskloom.runtime import TaskWriters
from taskloom.testing import FakeClock
from tests.crash.known_logs import BOSS, NOTHING, SCENARIO_NAMES, TASK, End, Scenario, scenario

FLIPS_MIN: Final = 60_000

Reader = Callable[[bytes, End], object]


def read_on(data: bytes, since: End) -> None:
    """Read on from what was read before; raises `DamagedLogError` if it is not what was written."""
    find_committed_prefix(data, after=since.seq, crc=since.crc, offset=since.offset)


def read_without_checksums(data: bytes, since: End) -> None:
    """The guard taken out: lines are believed if they parse and are numbered right."""
    assert since == NOTHING
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        mark = read_header(line)
        if mark is None or mark.wal_seq != number:
            raise DamagedLogError(number, "does not parse")
    Replay().add(data)


def lines_of_every_kind() -> Iterator[tuple[Scenario, int, int, EventType]]:
    """For each event type, the shortest line of it: (log, start, end, type)."""
    best: dict[EventType, tuple[Scenario, int, int, EventType]] = {}
    for name in SCENARIO_NAMES:
        one, at = scenario(name), 0
        for line in one.data.splitlines(keepends=True):
            kind = EventType(msgspec.json.decode(line)["event_type"])
            there = best.get(kind)
            if there is None or len(line) < there[2] - there[1]:
                best[kind] = (one, at, at + len(line), kind)
            at += len(line)
    return iter(best.values())


def is_found(read: Reader, data: bytes, since: End) -> bool:
    try:
        read(data, since)
    except DamagedLogError:
        return True
    return False


def unseen(read: Reader, data: bytes, start: int, end: int, since: End = NOTHING) -> list[int]:
    """Where, between two places, a flip goes unnoticed by a reader that had read up to `since`."""
    changed = bytearray(data[since.offset :])
    missed: list[int] = []
    for at in range(start - since.offset, end - since.offset):
        for bit in range(8):
            changed[at] ^= 1 << bit
            if not is_found(read, bytes(changed), since):
                missed.append(at)
            changed[at] ^= 1 << bit
    return missed


def around(one: Scenario, start: int, end: int) -> tuple[bytes, End]:
    """The log up to the second write behind a line, and where the write of the line begins."""
    later = [each.offset for each in one.writes if each.offset >= end]
    return one.data[: later[min(1, len(later) - 1)]], one.safe_before(start)


@pytest.mark.slow
@pytest.mark.spec("TB-115")
def test_every_bit_flip_in_every_kind_of_line_is_reported_as_damage(
    figure: Callable[[str], None],
) -> None:
    flips = 0
    for one, start, end, kind in lines_of_every_kind():
        data, since = around(one, start, end)
        assert unseen(read_on, data, start, end, since) == [], (one.name, kind)
        flips += 8 * (end - start)
    for name in SCENARIO_NAMES:  # The last decision, where a flip is most like a torn write.
        one = scenario(name)
        start = max(one.decisions[-2].offset, len(one.data) - 1_500)
        since = one.safe_before(start)
        assert unseen(read_on, one.data, start, len(one.data), since) == [], name
        flips += 8 * (len(one.data) - start)
    assert flips >= FLIPS_MIN
    figure(f"{flips:,} flips, 0 accepted, 0 taken for a torn write")


def test_without_checksums_flips_are_accepted(figure: Callable[[str], None]) -> None:
    one = scenario("one by one")
    start, end = one.decisions[-2].offset, one.decisions[-1].offset
    missed = len(unseen(read_without_checksums, one.data, start, end))
    flips = 8 * (end - start)
    assert missed > flips / 10
    figure(f"without checksums {missed:,} of {flips:,} flips are accepted")


@pytest.mark.slow
@pytest.mark.spec("TB-115")
def test_a_flip_in_front_of_a_torn_write_is_damage_all_the_same() -> None:
    """The torn write is no excuse for the acknowledged line before it."""
    one = scenario("still going")
    start, end = one.decisions[-3].offset, one.decisions[-2].offset
    for size in (1, 40, 300):
        data = one.data[: end + size]
        assert unseen(read_on, data, start, end, one.safe_before(start)) == [], size


@pytest.mark.deep
@pytest.mark.spec("TB-115")
def test_every_bit_flip_in_every_line_is_reported_as_damage(figure: Callable[[str], None]) -> None:
    flips = 0
    for name in SCENARIO_NAMES:
        one = scenario(name)
        assert unseen(read_on, one.data, 0, len(one.data)) == [], name
        flips += 8 * len(one.data)
    figure(f"{flips:,} flips, 0 accepted")


@pytest.mark.slow
@pytest.mark.spec("TB-115", "TB-127")
def test_a_session_reports_a_flip_with_path_and_line_and_leaves_the_file_alone(
    tmp_path: Path, figure: Callable[[str], None]
) -> None:
    """Through real files, the end of a finished Task included, which is told by its last line."""
    directory = tmp_path / "tasks" / "s1"
    directory.mkdir(parents=True)
    path = directory / "plan.wal.jsonl"
    flips = 0
    for name in ("one by one", "still going"):
        one = scenario(name)
        places = [*range(0, len(one.data), 101), *range(len(one.data) - 24, len(one.data))]
        for at in places:
            bad = bytearray(one.data)
            bad[at] ^= 1 << (at % 8)
            path.write_bytes(bad)
            session = TaskWriters(JsonlLog(directory), "s1", clock=FakeClock())
            session.resume()
            [found] = session.found()
            with pytest.raises(UnavailableError) as caught:
                session.writer(found.task_id).ask(lambda task, _: task.seq, BOSS)
            line = one.data.count(b"\n", 0, at) + 1
            details = caught.value.details
            assert details["wal_path"] == str(path)
            assert details["line"] in (line, line + 1)
            assert details["error"]
            assert found.task_id in (TASK, "plan")
            assert session.line(found).status == "unavailable"
            session.close()
            assert path.read_bytes() == bad
            flips += 1
    assert not (tmp_path / "torn").exists()
    figure(f"{flips} flipped files")


@pytest.mark.spec("TB-115")
def test_a_sector_of_zeros_before_the_last_write_is_damage() -> None:
    """Later lines say what was safe when they were written, so this was no torn write."""
    sectors = 0
    for name in SCENARIO_NAMES:
        one = scenario(name)
        for at in range(0, one.writes[-2].offset - 511, 512):
            bad = one.data[:at] + bytes(512) + one.data[at + 512 :]
            assert is_found(read_on, bad, NOTHING), (name, at)
            sectors += 1
    assert sectors > 100


def test_a_sector_of_zeros_within_the_last_write_cannot_be_told_from_a_torn_one() -> None:
    """The one kind of damage that goes unreported: nothing that came later bears witness.

    It costs at most the last write, and never shows half a decision; what was there is kept.
    """
    one = scenario("long lines")
    safe = one.writes[-2]
    for at in range(-(-safe.offset // 512) * 512, len(one.data) - 512, 512):
        lost = one.data[:at] + bytes(512) + one.data[at + 512 :]
        found = find_committed_prefix(lost, after=0, crc=0, offset=0)
        assert safe.seq <= found.seq
        assert found.seq == one.whole_until(found.size_bytes).seq
