"""LocalFiles: links, special files, other processes, and killed processes."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from taskloom.files import LocalFiles, MemoryFiles, SupportsLock

PROGRAM = Path(__file__).with_name("lock_holder.py")
LONG_S = 30


def start(*arguments: str | Path) -> "subprocess.Popen[str]":
    command = [sys.executable, str(PROGRAM), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def read_line(child: "subprocess.Popen[str]") -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def kill(child: "subprocess.Popen[str]") -> None:
    child.kill()
    child.communicate(timeout=LONG_S)


async def test_links_never_lead_outside(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    files = LocalFiles(root)
    await files.write("inside.txt", "x")
    (root / "file").symlink_to(outside / "secret")
    (root / "directory").symlink_to(outside)
    (root / "fine").symlink_to(root / "inside.txt")
    for path in ("file", "directory/secret"):
        with pytest.raises(PermissionError):
            await files.read(path)
    for path in ("directory/new", "directory/secret"):
        with pytest.raises(PermissionError):
            await files.write(path, "mine")
        with pytest.raises(PermissionError):
            await files.create(path, "mine")
        with pytest.raises(PermissionError):
            await files.delete(path)
    with pytest.raises(PermissionError):
        await files.ls_info("directory")
    with pytest.raises(PermissionError):
        async with files.lock("directory"):
            pass
    assert [info.path for info in await files.ls_info("")] == ["fine", "inside.txt"]
    assert await files.read("fine") == "x"
    # A write replaces the link itself and leaves its target alone.
    await files.write("file", "mine")
    assert await files.read("file") == "mine"
    assert (outside / "secret").read_text() == "secret"
    assert os.listdir(outside) == ["secret"]


async def test_absolute_paths_must_be_inside(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "named").symlink_to(tmp_path / "real")
    files = LocalFiles(tmp_path / "named")
    await files.write(str(tmp_path / "named" / "d" / "a"), "x")
    assert await files.read(str(tmp_path / "real" / "d" / "a")) == "x"
    assert await files.read("d/a") == "x"
    for path in ("/etc/passwd", str(tmp_path / "real-not"), str(tmp_path)):
        with pytest.raises(PermissionError):
            await files.read(path)


async def test_reserved_names_are_neither_listed_nor_accepted(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    async with files.lock("d"):
        await files.write("d/a", "x")
    assert [info.path for info in await files.ls_info("d")] == ["d/a"]
    assert sorted(os.listdir(tmp_path / "d")) == [".taskloom-lock", "a"]
    for path in ("d/.taskloom-lock", "d/.taskloom-new-1"):
        with pytest.raises(PermissionError):
            await files.write(path, "x")
        with pytest.raises(PermissionError):
            await files.delete(path)


async def test_special_files_are_neither_listed_nor_waited_for(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    assert [info.path for info in await files.ls_info("")] == ["bytes"]
    with anyio.fail_after(LONG_S):
        for path in ("pipe", "bytes"):
            with pytest.raises(OSError, match=path):
                await files.read(path)


async def test_a_failed_write_changes_nothing_and_leaves_no_file(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    await files.write("d/a", "x")
    (tmp_path / "d" / "full").mkdir()
    for path, kind in (("d/full", IsADirectoryError), ("d/a/b", NotADirectoryError)):
        with pytest.raises(kind):
            await files.write(path, "y")
    with pytest.raises(FileExistsError):
        await files.create("d/a", "y")
    assert await files.read("d/a") == "x"
    assert sorted(os.listdir(tmp_path / "d")) == ["a", "full"]


async def test_temporary_files_of_killed_writers_are_removed(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    old, young = tmp_path / ".taskloom-new-old", tmp_path / ".taskloom-new-young"
    old.write_text("half")
    young.write_text("half")
    long_ago = time.time() - 7200
    os.utime(old, (long_ago, long_ago))
    await files.write("a", "x")
    assert sorted(os.listdir(tmp_path)) == [".taskloom-new-young", "a"]


@pytest.mark.spec("PT-104")
async def test_a_killed_process_releases_its_lock(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    child = start("hold", tmp_path)
    try:
        assert read_line(child) == "held"
        with anyio.move_on_after(0.05) as timeout:
            async with files.lock("d"):
                pass
        assert timeout.cancelled_caught
    finally:
        kill(child)
    with anyio.fail_after(LONG_S):
        async with files.lock("d"):
            pass


@pytest.mark.slow
@pytest.mark.spec("PT-104")
async def test_processes_that_count_under_a_lock_lose_no_update(tmp_path: Path) -> None:
    children = [start("count", tmp_path, "60") for _ in range(3)]
    for child in children:
        assert await anyio.to_thread.run_sync(lambda: child.wait(LONG_S)) == 0  # noqa: B023 - awaited at once
        kill(child)
    assert await LocalFiles(tmp_path).read("d/count") == "180"


@pytest.mark.slow
async def test_a_file_is_whole_whenever_its_writer_is_killed(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    for number in range(10):
        child = start("write", tmp_path)
        assert read_line(child) == "begun"
        for _ in range(number):
            await files.read("d/a.txt")
        kill(child)
        text = await files.read("d/a.txt")
        assert text == text[:9] * 5000
        assert [info.path for info in await files.ls_info("d")] == ["d/a.txt"]


@pytest.mark.spec("PT-104")
@pytest.mark.parametrize("kind", ["local", "memory"])
def test_a_lock_holds_between_threads_with_their_own_loops(kind: str, tmp_path: Path) -> None:
    shared: SupportsLock = MemoryFiles() if kind == "memory" else LocalFiles(tmp_path)
    inside: list[int] = []
    most: list[int] = []

    async def enter(number: int) -> None:
        with anyio.fail_after(LONG_S):
            for _ in range(20):
                async with shared.lock("d"):
                    inside.append(number)
                    await anyio.lowlevel.checkpoint()
                    most.append(len(inside))
                    inside.remove(number)

    threads = [threading.Thread(target=anyio.run, args=(enter, number)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG_S)
    assert most == [1] * 80


async def test_tasks_get_the_lock_in_the_order_in_which_they_asked(tmp_path: Path) -> None:
    for round_ in range(20):
        files, order = LocalFiles(tmp_path), list[int]()

        async def enter(number: int, files: LocalFiles, order: list[int], path: str) -> None:
            async with files.lock(path):
                order.append(number)

        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(enter, number, files, order, f"new/{round_}")
        assert order == [0, 1, 2, 3, 4]


# Newer Pythons warn of forks in programs with threads; this test is about such programs.
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
async def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    ours, theirs = os.pipe()
    async with files.lock("d"):
        child = os.fork()
        if child == 0:
            os.close(theirs)
            os.read(ours, 1)  # Until the parent closes the pipe.
            os._exit(0)
    try:
        with anyio.fail_after(LONG_S):
            async with files.lock("d"):
                pass
    finally:
        os.close(theirs)
        await anyio.to_thread.run_sync(os.waitpid, child, 0)
        os.close(ours)
