"""Every call to the disk fails once, in every way it can; then the process goes on, or another.

The script runs with its k-th call failing, for k = 1, 2, 3… until it passes without a
failure. After each: what was acknowledged is there, what was denied is not, the next attempt
works or says `storage_error`, and the numbers are dense.
"""

from collections.abc import Callable
from itertools import count
from typing import Final

import pytest

from taskloom.errors import DamagedLogError, TaskloomError
from taskloom.log import Disk
from taskloom.testing import Crashed, Fault, FaultyDisk, MemoryDisk
from tests.crash.acknowledgements import (
    Acknowledgements,
    SessionProcess,
    attempt,
    check,
    commands,
    resend,
    tear,
)

CASES_MIN: Final = 1_500
ERRORS: Final = (Fault.EIO, Fault.ENOSPC, Fault.EINTR, Fault.EROFS, Fault.FULL, Fault.SHORT_WRITE)
CRASHES: Final = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)


PAIRS: Final = (
    (Fault.EIO, Fault.EIO),
    (Fault.ENOSPC, Fault.CRASH_BEFORE),
    (Fault.EIO, Fault.CRASH_AFTER),
)
"""A second fault soon after the first: while a failed write is being taken back, for one."""


class NeverCuts(MemoryDisk):
    """A disk that does not cut files: the guard of TB-125 taken out."""

    def truncate(self, fd: int, size_bytes: int) -> None:
        pass

    def another_process(self) -> "NeverCuts":
        return NeverCuts(self._storage)


class Faults:
    """A disk on which one call fails, and perhaps another soon after."""

    def __init__(self, disk: Disk, first: Fault, at: int, second: tuple[Fault, int] | None) -> None:
        self.inner = FaultyDisk(disk, first, at=at)
        self.outer = (
            None if second is None else FaultyDisk(self.inner, second[0], at=at + second[1])
        )

    @property
    def disk(self) -> Disk:
        return self.outer or self.inner

    def repair(self) -> None:
        """A full disk has room again; a second fault is still to come."""
        self.inner.repair()


def run_all(
    storage: MemoryDisk, disk: Disk, account: Acknowledgements, repair: Callable[[], None]
) -> None:
    """All commands through one disk, with a torn tail in the middle of it."""
    process = SessionProcess(disk, account)
    attempt(process.session.resume)
    for number, (command, actor) in enumerate(commands()):
        if command.command_id in account.acknowledged:
            continue
        if number == 6:
            tear(storage, "one")
        resend(process, [(command, actor)], repair)
        if number == 4:
            attempt(process.session.found)
    process.session.close()


def case(storage: MemoryDisk, first: Fault, at: int, second: tuple[Fault, int] | None) -> bool:
    """Run with these faults; tell whether the run came as far as the first."""
    process = storage.another_process()
    faults, account = Faults(process, first, at, second), Acknowledgements()
    try:
        run_all(storage, faults.disk, account, faults.repair)
    except Crashed:
        process.kill()
        check(storage, account)
        run_all(storage, storage.another_process(), account, lambda: None)
    check(storage, account)
    assert len(account.acknowledged) == len(commands())
    return faults.inner.has_failed


def count_cases(
    first: Fault,
    second: tuple[Fault, int] | None = None,
    make: Callable[[], MemoryDisk] = MemoryDisk,
) -> int:
    """Let every call fail in turn; return how many there were."""
    for at in count(1):
        try:
            if not case(make(), first, at, second):
                return at - 1
        except BaseException as error:
            error.add_note(f"call {at} failed with {first.name}, then {second}")
            raise
    raise AssertionError("count never ends")


@pytest.mark.slow
@pytest.mark.spec("TB-111", "TB-113", "TB-125", "TB-128")
def test_whichever_call_fails_nothing_acknowledged_is_lost_and_the_work_goes_on(
    figure: Callable[[str], None],
) -> None:
    singles = {fault: count_cases(fault) for fault in (*ERRORS, *CRASHES)}
    assert all(singles[fault] >= 90 for fault in singles.keys() - {Fault.FULL, Fault.SHORT_WRITE})
    doubles = sum(count_cases(first, (then, gap)) for first, then in PAIRS for gap in (1, 2, 3, 4))
    cases = sum(singles.values()) + doubles
    assert cases >= CASES_MIN
    figure(f"{cases:,} cases, {doubles:,} of them with a second fault soon after")


def test_without_cutting_a_failed_write_back_the_log_is_spoilt() -> None:
    with pytest.raises((AssertionError, DamagedLogError, TaskloomError)):
        count_cases(Fault.FULL, make=NeverCuts)
