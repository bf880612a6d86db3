"""Boards on real files for the tests of this directory, and a disk that counts."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any, Final, TypeVar

import msgspec

from taskloom import StepStatus, SyncBoard
from taskloom.board import Actor, ClaimStep, CreateTask, Receipt, Task, UpdateStep
from taskloom.log import Disk, Durability, Entry, JsonlLog, OsDisk
from taskloom.runtime import TaskWriters, session_dir
from taskloom.testing import FakeClock
from tests.board.task_driver import facts
from tests.crash.known_logs import BOSS, new_task, step, worker

_T = TypeVar("_T")

LONG_S: Final = 30.0
"""After this long, whoever waits is taken to hang."""
ANN: Final = worker("ann-1")
BOB: Final = worker("bob-1")


class CountingDisk(OsDisk):
    """The real disk, with a count of what is asked of it."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.calls: Counter[str] = Counter()
        self.bytes_read: Counter[str] = Counter()
        self._names: dict[int, str] = {}

    def open(self, path: Path, flags: int) -> int:
        fd = super().open(path, flags)
        self.opened.append(path.name)
        self._names[fd] = path.name
        return fd

    def read(self, fd: int, size_bytes: int, offset: int) -> bytes:
        data = super().read(fd, size_bytes, offset)
        self.bytes_read[self._names[fd]] += len(data)
        return data

    def sync(self, fd: int) -> None:
        self.calls["sync"] += 1
        super().sync(fd)

    def sync_data(self, fd: int) -> None:
        self.calls["sync_data"] += 1
        super().sync_data(fd)

    def sync_directory(self, path: Path) -> None:
        self.calls["sync_directory"] += 1
        super().sync_directory(path)

    def entries(self, path: Path) -> Iterator[Entry]:
        self.calls["entries"] += 1
        return super().entries(path)


def board_on(
    project: Path,
    *,
    clock: FakeClock | None = None,
    disk: Disk | None = None,
    durability: Durability = Durability.FSYNC,
) -> SyncBoard:
    """A session as another process would open it."""
    torn = project / ".taskloom" / "torn" / "s1"
    log = JsonlLog(session_dir(project, "s1"), torn_dir=torn, disk=disk, durability=durability)
    return SyncBoard(TaskWriters(log, "s1", clock=clock or FakeClock()))


def create(board: SyncBoard, task_id: str = "plan", **more: object) -> Receipt:
    """A Task of three steps: b after a, and c."""
    given = {"task_id": task_id, "wal_name": task_id, **more}
    return board.send(new_task(step("a"), step("b", "a"), step("c"), **given), BOSS)


def command(task_id: str) -> CreateTask:
    return new_task(step("a"), task_id=task_id, wal_name=task_id)


def claim(
    board: SyncBoard, step_id: str, actor: Actor = ANN, command_id: str | None = None
) -> Receipt:
    return board.send(ClaimStep(task_id="plan", step_id=step_id, command_id=command_id), actor)


def put(
    board: SyncBoard, step_id: str, status: str | None, actor: Actor, **more: object
) -> Receipt:
    given: dict[str, Any] = more
    wanted = StepStatus(status) if status is not None else None
    update = UpdateStep(task_id="plan", step_id=step_id, status=wanted, **given)
    return board.send(update, actor)


def wal(project: Path, name: str = "plan") -> Path:
    return project / ".taskloom" / "tasks" / "s1" / f"{name}.wal.jsonl"


def raw_lines(path: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


def state(task: Task, _wal_path: str) -> dict[str, object]:
    """Everything a Task is made of, for comparing what two writers say."""
    return facts(task)


def soon(call: Callable[[], _T]) -> _T:
    """What a call returns, or a failure of the test if it hangs."""
    got: list[_T] = []
    thread = Thread(target=lambda: got.append(call()), daemon=True)
    thread.start()
    thread.join(LONG_S)
    assert not thread.is_alive(), "it hangs"
    return got[0]
