"""Recovery is made of the same calls as everything else, so it is stopped at each of them too.

A log with a torn tail is opened, and the process ends just before or after the k-th call, for
every k; then perhaps the power goes as well. Opening it again must come to the same Task, with
the torn bytes kept, however often it is tried.
"""

from collections.abc import Callable, Iterator
from itertools import count
from random import Random
from typing import Final

import pytest

from taskloom.errors import StorageError
from taskloom.log import Disk, JsonlLog
from taskloom.runtime import restore
from taskloom.testing import Crashed, Fault, FaultyDisk, MemoryDisk
from tests.crash.acknowledgements import SESSION, wal_path
from tests.crash.known_logs import SCENARIO_NAMES, End, Scenario, scenario

CASES_MIN: Final = 5_000


def recover(disk: Disk) -> int:
    """Open the log, set its torn tail aside, and say how far it goes."""
    wal = JsonlLog(SESSION, disk=disk).open("plan")
    wal.acquire(wait=True)
    seq = restore(wal, None).seq
    wal.close()
    return seq


def check(disk: MemoryDisk, one: Scenario, end: End, torn: bytes) -> None:
    """Opened again, the log is whole and what was torn is kept beside it."""
    assert recover(disk.another_process()) == end.seq
    assert disk.content(wal_path("plan")) == one.data[: end.offset]
    kept = [disk.content(path) for path in disk.files() if path.suffix == ".torn"]
    assert torn in kept or not torn


def torn_logs(step: int) -> Iterator[tuple[Scenario, int]]:
    for name in SCENARIO_NAMES:
        if name == "sixty-four":
            continue  # Long, and nothing new for recovery.
        one = scenario(name)
        first = one.decisions[1].offset
        for at in range(first + 1, min(len(one.data), first + 6_000), step):
            if one.whole_until(at).offset != at:
                yield one, at


def count_cases(step: int, faults: tuple[Fault, ...]) -> int:
    cases = 0
    for one, at in torn_logs(step):
        end = one.whole_until(at)
        torn = one.data[end.offset : at]
        for fault, k in ((fault, k) for fault in faults for k in count(1)):
            disk = MemoryDisk()
            disk.put(wal_path("plan"), one.data[:at])
            faulty = FaultyDisk(disk.another_process(), fault, at=k)
            if not _stops(faulty):
                break
            cases += 1
            check(disk.power_cut(Random(cases)) if cases % 2 else _killed(disk), one, end, torn)
    return cases


def _stops(faulty: FaultyDisk) -> bool:
    try:
        recover(faulty)
    except (Crashed, StorageError):
        return True
    return faulty.has_failed


def _killed(disk: MemoryDisk) -> MemoryDisk:
    """The same disk without the locks of the process that ended."""
    left = MemoryDisk()
    for path in disk.files():
        left.put(path, disk.content(path))
    return left


CRASHES: Final = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)


@pytest.mark.slow
@pytest.mark.spec("TB-114")
def test_recovery_may_be_stopped_at_any_call_and_comes_to_the_same_end(
    figure: Callable[[str], None],
) -> None:
    crashed, failed = count_cases(71, CRASHES), count_cases(701, (Fault.EIO, Fault.ENOSPC))
    assert crashed + failed >= CASES_MIN
    figure(f"{crashed:,} crashes and {failed:,} errors within recovery")


class ForgetsCopies(MemoryDisk):
    """A disk that keeps no copies: what if the log were cut before its copy is safe?"""

    def sync_directory(self, path: object) -> None:
        pass


def test_without_syncing_the_copy_first_a_power_cut_takes_it() -> None:
    one, at = next(torn_logs(701))
    end = one.whole_until(at)
    lost = 0
    for seed in range(40):
        disk = ForgetsCopies()
        disk.put(wal_path("plan"), one.data[:at])
        recover(disk)
        left = disk.power_cut(Random(seed))
        lost += not any(path.suffix == ".torn" for path in left.files())
        assert left.content(wal_path("plan")) == one.data[: end.offset]
    assert lost > 0
