"""The power goes: of what was written since the last sync, any blocks may be missing.

The script runs on a disk with a durable and a volatile half and is stopped before and after each
of its calls. From each such moment many disks follow, with 512-byte and 4-KiB blocks lost or in
another order, and names of files lost as well. On every one of them the session is opened
again: all that was acknowledged is there, nothing is there by half, and work goes on.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from random import Random
from typing import Final

import pytest

from taskloom.board import TERMINAL_EVENTS, ClaimStep, CreateTask, FailTask, StepStatus, UpdateStep
from taskloom.errors import DamagedLogError, StorageError, TaskloomError
from taskloom.log import JsonlLog
from taskloom.runtime import restore
from taskloom.testing import Crashed, Fault, FaultyDisk, MemoryDisk
from taskloom.testing.log_contract import some_lines
from tests.crash.acknowledgements import (
    SESSION,
    Acknowledgements,
    Sent,
    SessionProcess,
    check,
    logs,
    wal_path,
)
from tests.crash.known_logs import BOSS, step, updating, worker

STATES_MIN: Final = 20_000
TRIES: Final = 5_800
"""Cuts at one moment; many of them leave the same disk and are looked at once."""


class NeverSyncs(MemoryDisk):
    """A disk that says yes to a sync and does nothing: the guard of TB-113 taken out."""

    def sync(self, fd: int) -> None:
        pass

    def another_process(self) -> "NeverSyncs":
        return NeverSyncs(self._storage)


class NeverSyncsNames(MemoryDisk):
    """The same for directories."""

    def sync_directory(self, path: object) -> None:
        pass

    def another_process(self) -> "NeverSyncsNames":
        return NeverSyncsNames(self._storage)


def groups() -> list[list[Sent]]:
    """Commands by the write they share."""
    long = "a result that goes over many sectors " * 150
    steps = tuple(step(f"s{n}", summary="x" * 250) for n in range(16))
    runs = [worker(f"run-{n}", "one") for n in range(6)]
    found: list[list[Sent]] = [
        [(CreateTask(task_id="one", wal_name="one", title="One", steps=steps), BOSS)],
        [(ClaimStep(task_id="one", step_id=f"s{n}"), runs[n]) for n in range(6)],
        [(_done(n, long), runs[n]) for n in range(4)],
        [(CreateTask(task_id="two", wal_name="two", title="Two", steps=steps[:9]), BOSS)],
        [(_done(4, long), runs[4]), (ClaimStep(task_id="one", step_id="s9"), worker("r", "one"))],
        [(updating({"op": "cancel_step", "step_id": "s7", "reason": long}, task_id="one"), BOSS)],
        [(_done(5, long), runs[5]), (_done(6, long), BOSS)],
        [
            (updating({"op": "update_task", "summary": long * 2}, task_id="one"), BOSS),
            (FailTask(task_id="one", reason=long), BOSS),
        ],
    ]
    number = count()
    return [
        [(replace(command, command_id=f"c{next(number)}"), actor) for command, actor in group]
        for group in found
    ]


def _done(number: int, result: str) -> UpdateStep:
    return UpdateStep(
        task_id="one",
        step_id=f"s{number}",
        status=StepStatus.COMPLETED,
        result_summary=result,
    )


def run_all(process: SessionProcess) -> None:
    """Send each group so that it shares one sync."""
    account = process.account
    for group in groups():
        first, actor = group[0]
        if isinstance(first, CreateTask):
            process.send(first, actor)
            continue
        writer = process.session.writer(first.task_id)
        named = [(command.command_id or "", command, actor) for command, actor in group]
        account.doubtful.update(command_id for command_id, _, _ in named)
        pending_answers = [
            (command_id, writer.submit(command, actor))
            for command_id, command, actor in named
            if not isinstance(command, CreateTask)
        ]
        for command_id, pending in pending_answers:
            writer.commit(pending)
            account.note(command_id, pending.result())


def moments(make: Callable[[], MemoryDisk]) -> Iterator[tuple[MemoryDisk, Acknowledgements]]:
    """The disk just before and just after each call of the script."""
    for at in count(1):
        for fault in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER):
            disk, account = make(), Acknowledgements()
            faulty = FaultyDisk(disk, fault, at=at)
            try:
                run_all(SessionProcess(faulty, account))
            except Crashed:
                yield disk, account
            if not faulty.has_failed:
                return


def states(disk: MemoryDisk, tries: int) -> Iterator[MemoryDisk]:
    """The different disks a power cut may leave."""
    seen: set[int] = set()
    for number in range(tries if disk.unsynced() else 1):
        left = disk.power_cut(Random(number), block_bytes=4096 if number % 6 == 0 else 512)
        mark = hash(tuple((path, left.content(path)) for path in sorted(left.files())))
        if mark not in seen:
            seen.add(mark)
            yield left


def decision_ends() -> dict[str, set[int]]:
    """Where the decisions of the script end, by Task: known from a run without a fault."""
    account = Acknowledgements()
    run_all(SessionProcess(MemoryDisk(), account))
    ends: dict[str, set[int]] = {"one": set(), "two": set()}
    for receipt in account.acknowledged.values():
        ends[receipt.task_id].add(receipt.seq)
    return ends


def check_quickly(disk: MemoryDisk, account: Acknowledgements, ends: dict[str, set[int]]) -> None:
    """Open each log, compare how far it goes, and append to it."""
    log = JsonlLog(SESSION, disk=disk)
    promised = {receipt.task_id: receipt.seq for receipt in account.acknowledged.values()}
    for name in ends:
        try:
            wal = log.open(name)
            wal.acquire(wait=True)
            task = restore(wal, None)
        except (StorageError, DamagedLogError):
            assert name not in promised, f"{name} was created, and is not there"
            continue
        assert task.seq >= promised.get(name, 0), "an acknowledged change is not there"
        assert task.seq in ends[name], "half a decision is there"
        lines, then = some_lines(wal.position)
        wal.append(lines, after=wal.position, then=then)
        wal.rewind()
        assert b"".join(wal.read_new()).endswith(lines)
        wal.close()


def check_fully(disk: MemoryDisk, account: Acknowledgements) -> None:
    """Open what is left as a session does, ask again for what is in doubt, and go on working."""
    mine = Acknowledgements(dict(account.acknowledged), set(account.denied), set(account.doubtful))
    process = SessionProcess(disk, mine)
    process.session.resume()
    for lines in logs(disk).values():
        ended = lines[-1].payload.type in TERMINAL_EVENTS
        assert (process.session.known(lines[0].task_id) is None) == ended
    check(disk, mine)
    for command, actor in (act for group in groups() for act in group):
        if command.command_id in mine.doubtful:
            assert process.send(command, actor) is not None
    check(disk, mine)
    process.session.close()


def count_states(tries: int, make: Callable[[], MemoryDisk] = MemoryDisk) -> int:
    total = 0
    ends = decision_ends()
    looked_at: set[object] = set()
    for disk, account in moments(make):
        moment = (tuple(sorted(disk.unsynced().items())), len(account.acknowledged))
        if moment in looked_at:
            continue  # The call just before changed nothing on the disk.
        looked_at.add(moment)
        for left in states(disk, tries):
            if total % 40 == 0:
                check_fully(left, account)
            else:
                check_quickly(left, account, ends)
            total += 1
    return total


@pytest.mark.slow
@pytest.mark.spec("TB-112", "TB-113", "TB-114")
def test_whatever_blocks_a_power_cut_takes_nothing_acknowledged_is_lost(
    figure: Callable[[str], None],
) -> None:
    total = count_states(TRIES)
    figure(f"{total:,} states")
    assert total >= STATES_MIN


@pytest.mark.deep
@pytest.mark.spec("TB-112", "TB-113", "TB-114")
def test_whatever_blocks_a_power_cut_takes_of_a_million_states(
    figure: Callable[[str], None],
) -> None:
    figure(f"{count_states(TRIES * 20):,} states")


@pytest.mark.parametrize("make", [NeverSyncs, NeverSyncsNames])
def test_without_syncs_a_power_cut_takes_what_was_acknowledged(
    make: Callable[[], MemoryDisk],
) -> None:
    with pytest.raises((AssertionError, DamagedLogError, TaskloomError)):
        count_states(10, make)


def test_the_session_directory_is_where_the_script_runs() -> None:
    disk, account = MemoryDisk(), Acknowledgements()
    run_all(SessionProcess(disk, account))
    assert {path.parent for path in disk.files()} == {SESSION}
    assert len(account.acknowledged) == sum(map(len, groups()))
    check_fully(disk, account)


@pytest.mark.spec("TB-114", "TB-117")
def test_a_task_whose_end_is_torn_is_still_active_at_resume() -> None:
    """Its last line is whole and says that it ended; but a sector before it is missing."""
    disk, account = MemoryDisk(), Acknowledgements()
    run_all(SessionProcess(disk, account))
    data = disk.content(wal_path("one"))
    written = data.rindex(b'"op":"update_task"')
    at = -(-written // 512) * 512
    left = MemoryDisk()
    left.put(wal_path("one"), data[:at] + bytes(512) + data[at + 512 :])
    process = SessionProcess(left, Acknowledgements())
    process.session.resume()
    assert process.session.known("one") is not None
    assert process.board.get("one", BOSS).status == "running"
    process.session.close()
