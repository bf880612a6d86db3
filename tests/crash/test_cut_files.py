"""A log cut at any byte, or zeros from any byte on, reads as its whole decisions and no more.

This is what a crash leaves of a write: a beginning, or a beginning and sectors that were never
written. Each point is checked against what the script knows of its own log.
"""

from collections.abc import Callable
from itertools import chain, count
from pathlib import Path
from typing import Final

import pytest

from taskloom.codec import CommittedPrefix, checksum_matches, find_committed_prefix, read_header
from taskloom.codec.frame import chained
from taskloom.log import JsonlLog
from taskloom.runtime import restore
from tests.board.task_driver import facts
from tests.crash.known_logs import SCENARIO_NAMES, Scenario, scenario

Finder = Callable[[bytes], CommittedPrefix]

CRASH_POINTS_MIN: Final = 150_000


def from_the_start(data: bytes) -> CommittedPrefix:
    return find_committed_prefix(data, after=0, crc=0, offset=0)


def without_marks(data: bytes) -> CommittedPrefix:
    """A reader that believes each sealed line by itself: the guard of TB-112 taken out."""
    size = seq = crc = 0
    for line in data.splitlines(keepends=True):
        if not checksum_matches(line, crc) or read_header(line) is None:
            break
        size, seq, crc = size + len(line), seq + 1, chained(line, crc)
    return CommittedPrefix(size, seq, crc, len(data) - size)


def check_cut(find: Finder, one: Scenario, at: int, data: bytes) -> None:
    found = find(data)
    expected = one.whole_until(at)
    assert (found.size_bytes, found.seq, found.crc) == expected, (one.name, at)
    assert found.size_bytes + found.torn_bytes == len(data)


def check_all_cuts(find: Finder, one: Scenario) -> int:
    data = one.data
    zeros = bytes(len(data))
    for at in range(len(data) + 1):
        check_cut(find, one, at, data[:at])
        check_cut(find, one, at, data[:at] + zeros[at:])
    return 2 * (len(data) + 1)


@pytest.mark.slow
@pytest.mark.spec("TB-112", "TB-114")
def test_a_log_cut_or_zeroed_from_any_byte_on_holds_exactly_its_whole_decisions(
    figure: Callable[[str], None],
) -> None:
    points = sum(check_all_cuts(from_the_start, scenario(name)) for name in SCENARIO_NAMES)
    assert points >= CRASH_POINTS_MIN
    figure(f"{points:,} crash points, 0 wrong")


def test_without_transaction_marks_a_cut_shows_half_a_decision() -> None:
    for name in ("one by one", "grouped", "sixty-four"):
        with pytest.raises(AssertionError):
            check_all_cuts(without_marks, scenario(name))


def test_a_reader_that_starts_anywhere_finds_the_same_end() -> None:
    """Whoever has read up to some write goes on from there, at whatever offset that is."""
    points = 0
    for name in SCENARIO_NAMES:
        one = scenario(name)
        for start in one.writes[1:-1:3]:
            for at in range(start.offset, len(one.data) + 1, 37):
                data = one.data[start.offset : at]
                for torn in (data, data + bytes(len(one.data) - at)):
                    found = find_committed_prefix(
                        torn, after=start.seq, crc=start.crc, offset=start.offset
                    )
                    end = max(one.whole_until(at), start)
                    assert (found.seq, found.size_bytes) == (end.seq, end.offset - start.offset)
                    points += 1
    assert points > 1_000


@pytest.mark.slow
@pytest.mark.spec("TB-101", "TB-112", "TB-114", "TB-116")
def test_cut_files_open_say_what_was_torn_and_take_appends(
    tmp_path: Path, figure: Callable[[str], None]
) -> None:
    """A sample of the same cuts through real files, the way a session opens them."""
    log = JsonlLog(tmp_path / "tasks" / "s1", torn_dir=tmp_path / "torn")
    with log.exclusive():
        pass
    path = tmp_path / "tasks" / "s1" / "plan.wal.jsonl"
    points = 0
    for name in SCENARIO_NAMES:
        one = scenario(name)
        ends = [end.offset for end in one.decisions[1:]]
        nearby = chain(*((end - 1, end, end + 1, end + 200) for end in ends), range(0, 4_000, 97))
        for at in sorted({at for at in nearby if ends[0] <= at <= len(one.data)}):
            path.write_bytes(one.data[:at])
            _check_file(log, one, at)
            points += 1
    assert points > 300
    figure(f"{points:,} cut files")


def _check_file(log: JsonlLog, one: Scenario, at: int) -> None:
    end = one.whole_until(at)
    wal = log.open("plan")
    wal.acquire(wait=True)
    task = restore(wal, None)
    assert task.seq == end.seq
    assert facts(task) == facts(one.replayed(end))
    rest = one.data[end.offset : at]
    if rest:
        assert wal.torn is not None
        assert wal.torn.kept_in is not None
        assert Path(wal.torn.kept_in).read_bytes() == rest
    else:
        assert wal.torn is None
    following = next((later for later in one.decisions if later.seq > end.seq), None)
    if following is not None:
        lines = one.data[end.offset : following.offset]
        position = wal.position
        wal.append(lines, after=position, then=position._replace(seq=following.seq))
        assert Path(wal.path).read_bytes() == one.data[: following.offset]
    wal.close()


@pytest.mark.deep
@pytest.mark.spec("TB-112", "TB-114")
def test_two_million_crash_points(figure: Callable[[str], None]) -> None:
    """The same, and zeros that stop again: sectors that were lost within the torn write."""
    points = 0
    for block, name in ((b, n) for b in (1, 7, 64, 200, 512) for n in SCENARIO_NAMES):
        one = scenario(name)
        data = one.data
        for at in range(len(data) + 1):
            cut = data[:at] + bytes(min(block, len(data) - at))
            check_cut(from_the_start, one, at, cut)
            points += 1
        points += check_all_cuts(from_the_start, one)
    for number in count():
        if points >= 2_000_000:
            break
        one = scenario(SCENARIO_NAMES[number % len(SCENARIO_NAMES)])
        start = one.writes[1 + number % (len(one.writes) - 1)]
        for at in range(start.offset, len(one.data) + 1):
            data = one.data[start.offset : at]
            found = find_committed_prefix(data, after=start.seq, crc=start.crc, offset=start.offset)
            assert found.seq == max(one.whole_until(at), start).seq
            points += 1
    figure(f"{points:,} crash points, 0 wrong")
