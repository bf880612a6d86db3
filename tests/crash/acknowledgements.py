"""A session played on a disk, with an account of what it was told; and the check of that account.

Everything sent carries a command id, and lines of the log name it, so the account can be held
against the log: what was acknowledged is there once and whole, what was said not to be written
is not there, and the log itself is dense and makes sense.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from taskloom.board import (
    Actor,
    ClaimStep,
    Command,
    CompleteTask,
    CreateTask,
    NewStep,
    Receipt,
    StepStatus,
    UpdateStep,
)
from taskloom.codec import Line, Replay, decode, find_committed_prefix
from taskloom.errors import StorageError
from taskloom.log import READ_WRITE, Disk, JsonlLog
from taskloom.runtime import SyncBoard, TaskWriters
from taskloom.testing import Crashed, FakeClock, MemoryDisk
from tests.crash.known_logs import BOSS, updating, worker

SESSION: Final = Path("/project/.taskloom/tasks/s1")


def wal_path(name: str) -> Path:
    return SESSION / f"{name}.wal.jsonl"


@dataclass
class Acknowledgements:
    """What a caller was told about each command id."""

    acknowledged: dict[str, Receipt] = field(default_factory=dict[str, Receipt])
    denied: set[str] = field(default_factory=set[str])
    """Told that nothing was written."""
    doubtful: set[str] = field(default_factory=set[str])
    """Told that nobody knows, or not told at all."""

    def note(self, command_id: str, receipt: Receipt) -> None:
        self.acknowledged[command_id] = receipt
        self.denied.discard(command_id)
        self.doubtful.discard(command_id)

    def note_failure(self, command_id: str, outcome: object) -> None:
        assert outcome in ("not_written", "unknown")
        if outcome == "unknown" or command_id in self.doubtful:
            self.doubtful.add(command_id)
        else:
            self.denied.add(command_id)


class SessionProcess:
    """One process with one session."""

    def __init__(
        self, disk: Disk, account: Acknowledgements, clock: FakeClock | None = None
    ) -> None:
        self.account = account
        self.clock = clock or FakeClock()
        self.session = TaskWriters(JsonlLog(SESSION, disk=disk), "s1", clock=self.clock)
        self.board = SyncBoard(self.session)

    def send(self, command: CreateTask | Command, actor: Actor) -> Receipt | None:
        """Send once; None if storage failed. Anything else that goes wrong is a failed test."""
        command_id = command.command_id
        assert command_id is not None
        self.account.denied.discard(command_id)
        try:
            receipt = self.board.send(command, actor)
        except StorageError as failure:
            self.account.note_failure(command_id, failure.details["outcome"])
            return None
        except Crashed:
            self.account.doubtful.add(command_id)
            raise
        self.account.note(command_id, receipt)
        return receipt


Sent = tuple[CreateTask | Command, Actor]

PLAN: Final = tuple(NewStep(step_id=f"s{n}", title=f"Step {n}") for n in range(4))


def commands() -> list[Sent]:
    """A short life of two Tasks; each command may only be sent after the ones before it."""
    one, two = worker("ann-1", "one"), worker("bob-1", "two")
    found: list[Sent] = [
        (CreateTask(task_id="one", wal_name="one", title="One", steps=PLAN), BOSS),
        (ClaimStep(task_id="one", step_id="s0"), one),
        (UpdateStep(task_id="one", step_id="s0", status=StepStatus.RUNNING), one),
        (CreateTask(task_id="two", wal_name="two", title="Two", steps=PLAN[:1]), BOSS),
        (ClaimStep(task_id="two", step_id="s0"), two),
        (UpdateStep(task_id="one", step_id="s0", status=StepStatus.COMPLETED), one),
        (updating({"op": "cancel_step", "step_id": "s3"}, task_id="one"), BOSS),
        (UpdateStep(task_id="two", step_id="s0", status=StepStatus.COMPLETED), two),
        (CompleteTask(task_id="two"), BOSS),
        (updating({"op": "update_task", "summary": "the end"}, task_id="one"), BOSS),
    ]
    return [
        (replace(command, command_id=f"c{number}"), actor)
        for number, (command, actor) in enumerate(found)
    ]


def tear(disk: MemoryDisk, name: str) -> None:
    """Leave half a line at the end of a log, as a killed process does."""
    process = disk.another_process()
    fd = process.open(wal_path(name), READ_WRITE)
    lines = process.read(fd, process.size(fd), 0).splitlines()
    now, following = (b'{"wal_seq":%d,' % number for number in (len(lines), len(lines) + 1))
    process.write(fd, lines[-1].replace(now, following)[: len(lines[-1]) // 2])
    process.kill()


def logs(disk: MemoryDisk) -> dict[str, list[Line]]:
    """Read every log to its last whole decision; raises `DamagedLogError` for a damaged one."""
    found: dict[str, list[Line]] = {}
    for path in disk.files():
        if path.parent != SESSION:
            continue
        data = disk.content(path)
        whole = find_committed_prefix(data, after=0, crc=0, offset=0)
        if whole.size_bytes:
            Replay().add(data[: whole.size_bytes])
            found[path.name] = decode(data[: whole.size_bytes], after=0)
    return found


def check(disk: MemoryDisk, account: Acknowledgements) -> None:
    """Hold the account against the logs."""
    by_command: defaultdict[str | None, list[str]] = defaultdict(list)
    ids: list[str] = []
    for lines in logs(disk).values():
        assert [line.wal_seq for line in lines] == list(range(1, len(lines) + 1))
        for line in lines:
            ids.append(line.event_id)
            by_command[line.command_id].append(line.event_id)
    assert len(ids) == len(set(ids))
    for command_id, receipt in account.acknowledged.items():
        assert by_command[command_id] == list(receipt.event_ids), f"{command_id} is not as promised"
    for command_id in account.denied:
        assert by_command[command_id] == [], f"{command_id} is there, though it was denied"


def resend(
    process: SessionProcess, again: Sequence[Sent], repair: Callable[[], None] = lambda: None
) -> None:
    """Send what is not acknowledged yet; where storage fails, repair it and ask again."""
    for command, actor in again:
        if command.command_id in process.account.acknowledged:
            continue
        for _ in range(3):
            if process.send(command, actor) is not None:
                break
            repair()
        else:
            raise AssertionError(f"{command.command_id} fails for ever")


def attempt(call: Callable[[], object]) -> bool:
    """Tell whether a call went through; only storage may fail it."""
    try:
        call()
    except StorageError:
        return False
    return True
