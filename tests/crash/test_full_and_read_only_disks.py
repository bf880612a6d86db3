"""Real limits: a full disk, a directory one may only read, and what a second crash may take."""

import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Final

import pytest

from taskloom import StorageError
from taskloom.codec import find_committed_prefix
from taskloom.errors import Code, DamagedLogError
from taskloom.log import JsonlWal, OsDisk, Position
from taskloom.testing import Crashed, Fault, FaultyDisk, MemoryDisk
from taskloom.testing.log_contract import some_lines
from tests.crash.acknowledgements import Acknowledgements, SessionProcess, check, commands
from tests.crash.known_logs import BOSS
from tests.runtime.boards import board_on, claim, create, raw_lines, wal

FULL: Final = """
import resource, signal, sys
from pathlib import Path
from tests.crash.known_logs import BOSS, updating
from tests.runtime.boards import board_on, claim, create, ANN
from taskloom import StorageError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
project = Path(sys.argv[1])
board = board_on(project)
create(board)
size = (project / ".taskloom/tasks/s1/plan.wal.jsonl").stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 200, resource.RLIM_INFINITY))
for way in (lambda: claim(board, "a"), lambda: create(board, "other", summary="x" * 9000)):
    try:
        way()
    except StorageError as failure:
        print(failure.details["errno"], failure.details["outcome"])
print(board.get("plan", BOSS).step("a").status.value)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(claim(board, "a").seq, create(board, "other").seq)
"""


@pytest.mark.spec("TB-111", "TB-125")
def test_a_full_disk_refuses_changes_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    """The limit on a file's size stands in for it: first a short write, then an error."""
    said = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    ).stdout.splitlines()
    assert said == ["27 not_written", "27 not_written", "ready", "5 4"]
    assert [line["wal_seq"] for line in raw_lines(wal(tmp_path))] == [1, 2, 3, 4, 5]
    again = board_on(tmp_path)
    assert again.get("plan", BOSS).step("a").claimed_by_run_id == "ann-1"
    assert again.get("other", BOSS).seq == 4
    again.writers.close()


class ReadOnlyDisk(OsDisk):
    """A disk on which nothing may be written; tests may run as root, whom no mode bits stop."""

    def open(self, path: Path, flags: int) -> int:
        if flags & 3:
            raise PermissionError(13, "Permission denied")
        return super().open(path, flags)

    def make_directory(self, path: Path) -> None:
        if not path.is_dir():
            raise OSError(30, "Read-only file system")


@pytest.mark.spec("TB-111")
def test_a_board_one_may_only_read_is_read_and_says_storage_error_to_changes(
    tmp_path: Path,
) -> None:
    create(board_on(tmp_path))
    whole = wal(tmp_path).read_bytes()
    wal(tmp_path).write_bytes(whole + b'{"wal_seq":5,"ses')
    board = board_on(tmp_path, disk=ReadOnlyDisk())
    board.writers.resume()
    assert board.get("plan", BOSS).step("a").status == "ready"
    for change in (lambda: claim(board, "a"), lambda: create(board, "other")):
        with pytest.raises(StorageError) as caught:
            change()
        assert caught.value.code is Code.STORAGE_ERROR
        assert caught.value.details["outcome"] == "not_written"
    assert board.get("plan", BOSS).step("a").status == "ready"
    board.writers.close()
    assert wal(tmp_path).read_bytes() == whole + b'{"wal_seq":5,"ses'
    with pytest.raises(StorageError):
        create(board_on(tmp_path / "new", disk=ReadOnlyDisk()))


@pytest.mark.spec("TB-113", "TB-128")
def test_what_is_answered_again_after_a_kill_survives_a_power_cut_too() -> None:
    """The first process died between write and sync; the second must not promise for it."""
    storage, account = MemoryDisk(), Acknowledgements()
    SessionProcess(storage.another_process(), account).send(*commands()[0])
    killed = storage.another_process()
    dying = SessionProcess(
        FaultyDisk(killed, Fault.CRASH_BEFORE, at=2, calls=("sync_data",)), account
    )
    with pytest.raises(Crashed):
        dying.send(*commands()[1])
    killed.kill()
    assert storage.unsynced()
    assert SessionProcess(storage.another_process(), account).send(*commands()[1]) is not None
    for seed in range(20):
        check(storage.power_cut(Random(seed)), account)


class Unfenced(JsonlWal):
    """A log that appends wherever its end is by now: the fence taken out."""

    def append(self, lines: bytes | bytearray, *, after: Position, then: Position) -> None:
        list(self.read_new())
        super().append(lines, after=self.position, then=then)


def test_without_the_fence_two_writers_spoil_the_log(tmp_path: Path) -> None:
    board = board_on(tmp_path)
    create(board)
    wals = [Unfenced(OsDisk(), wal(tmp_path), tmp_path / "torn", durable=False) for _ in range(2)]
    begin = [list(each.read_new()) for each in wals]
    assert begin[0] == begin[1]
    after = wals[0].position
    lines, then = some_lines(after)
    for each in wals:
        each.acquire(wait=True)
        each.append(lines, after=after, then=then)
        each.release()
        each.close()
    board.writers.close()
    with pytest.raises(DamagedLogError):
        find_committed_prefix(wal(tmp_path).read_bytes(), after=0, crc=0, offset=0)
