"""Every log keeps the contract: in memory, on the real disk, and on a disk in memory."""

from pathlib import Path
from typing import Final

import pytest

from taskloom.log import READ_WRITE, Durability, JsonlLog, Log, MemoryLog
from taskloom.testing import LogContract, MemoryDisk

SESSION: Final = Path("/project/.taskloom/tasks/s1")


class TestMemoryLog(LogContract):
    def make_log(self) -> Log:
        return MemoryLog()


@pytest.mark.spec("TB-106", "TB-108", "TB-109", "TB-114")
class TestJsonlLogOnTheRealDisk(LogContract):
    @pytest.fixture(autouse=True, params=list(Durability))
    def _somewhere(self, tmp_path: Path, request: pytest.FixtureRequest) -> None:
        self.directory = tmp_path / ".taskloom" / "tasks" / "s1"
        self.durability: Durability = request.param

    def make_log(self) -> Log:
        return JsonlLog(self.directory, durability=self.durability)

    def same_log(self, log: Log) -> Log:
        return self.make_log()

    def tear(self, log: Log, name: str, torn: bytes) -> bool:
        with (self.directory / f"{name}.wal.jsonl").open("ab") as file:
            file.write(torn)
        return True


class TestJsonlLogOnADiskInMemory(LogContract):
    @pytest.fixture(autouse=True)
    def _disk(self) -> None:
        self.disk = MemoryDisk()

    def make_log(self) -> Log:
        return JsonlLog(SESSION, disk=self.disk)

    def same_log(self, log: Log) -> Log:
        return JsonlLog(SESSION, disk=self.disk.another_process())

    def tear(self, log: Log, name: str, torn: bytes) -> bool:
        fd = self.disk.open(SESSION / f"{name}.wal.jsonl", READ_WRITE)
        self.disk.write(fd, torn)
        self.disk.close(fd)
        return True
