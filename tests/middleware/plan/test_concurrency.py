"""Runs, middlewares, threads and processes that share one list, and processes that are killed."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from taskloom.agent import call_tool, call_tools
from taskloom.files import Backend, FileInfo, LocalFiles, MemoryFiles
from taskloom.files.object_store import ObjectFiles
from taskloom.middleware import PlanTasks
from tests.middleware.plan.plan_calls import (
    BASE,
    add_tasks,
    call,
    call_ok,
    check_edges,
    run_script,
    stored_tasks,
)

PROGRAM = Path(__file__).with_name("plan_process.py")
LONG_S = 30


class PlainFiles:
    """A backend with the four methods only, which yields to other tasks at every call."""

    def __init__(self) -> None:
        self.inner = MemoryFiles()

    async def ls_info(self, path: str) -> list[FileInfo]:
        await anyio.lowlevel.checkpoint()
        return await self.inner.ls_info(path)

    async def read(self, path: str, offset: int = 0, limit: int | None = None) -> str:
        await anyio.lowlevel.checkpoint()
        return await self.inner.read(path, offset, limit)

    async def write(self, path: str, content: str) -> None:
        await anyio.lowlevel.checkpoint()
        await self.inner.write(path, content)

    async def delete(self, path: str) -> None:
        await anyio.lowlevel.checkpoint()
        await self.inner.delete(path)


def a_backend(kind: str, tmp_path: Path) -> Backend:
    if kind == "plain":
        return PlainFiles()
    if kind == "objects":
        store = pytest.importorskip("obstore.store", reason="the extra `objects`")
        return ObjectFiles(store.MemoryStore())
    return LocalFiles(tmp_path) if kind == "local" else MemoryFiles()


@pytest.mark.spec("PT-104")
@pytest.mark.parametrize("kind", ["plain", "memory", "local", "objects"])
@pytest.mark.parametrize("shared", [True, False])
async def test_runs_that_share_a_list_never_collide(
    kind: str, shared: bool, tmp_path: Path
) -> None:
    backend = a_backend(kind, tmp_path)
    one = PlanTasks(backend, BASE)
    created: list[str] = []

    async def work(number: int) -> None:
        plan = one if shared else PlanTasks(backend, BASE)
        calls = [("TaskCreate", {"subject": f"{number}", "description": "d"})] * 4
        ran = await run_script(plan, call_tools(*calls), call_tools(*calls))
        created.extend(answer.text.split()[1] for answer in ran.answers)

    with anyio.fail_after(LONG_S):
        async with anyio.create_task_group() as group:
            for number in range(5):
                group.start_soon(work, number)
    assert sorted(created) == sorted(f"#{number}" for number in range(1, 41))
    assert len(await one.tasks()) == 40


@pytest.mark.spec("PT-104")
@pytest.mark.parametrize("kind", ["plain", "memory", "local"])
def test_threads_with_loops_of_their_own_never_collide(kind: str, tmp_path: Path) -> None:
    backend = a_backend(kind, tmp_path)
    plan = PlanTasks(backend, BASE)
    anyio.run(add_tasks, plan, 1)

    async def work(number: int) -> None:
        with anyio.fail_after(LONG_S):
            calls = [
                call_tool("TaskUpdate", taskId="1", metadata={f"{number}-{time}": True})
                for time in range(10)
            ]
            await run_script(plan, *calls)

    threads = [threading.Thread(target=anyio.run, args=(work, number)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG_S)
    (item,) = anyio.run(plan.tasks)
    assert len(item.metadata) == 40


class CancellingFiles(MemoryFiles):
    """Files in memory whose n-th write cancels the run."""

    scope: anyio.CancelScope | None = None
    left = 0

    async def write(self, path: str, content: str) -> None:
        await self._pause()
        await super().write(path, content)
        await anyio.lowlevel.checkpoint()

    async def delete(self, path: str) -> None:
        await self._pause()
        await super().delete(path)
        await anyio.lowlevel.checkpoint()

    async def _pause(self) -> None:
        self.left -= 1
        if self.left == 0 and self.scope is not None:
            self.scope.cancel()
        await anyio.lowlevel.checkpoint()


@pytest.mark.spec("PT-205")
@pytest.mark.parametrize("status", ["pending", "deleted"])
async def test_a_cancelled_call_leaves_the_list_whole_and_free(status: str) -> None:
    cancelled = 0
    for number in range(1, 10):
        files = CancellingFiles()
        plan = PlanTasks(files, BASE, enforce_order=False)
        await add_tasks(plan, 4)
        await call_ok(plan, "TaskUpdate", taskId="1", addBlocks=["2"])
        old = await stored_tasks(files)
        files.left = number
        with anyio.CancelScope() as files.scope:
            await call_ok(plan, "TaskUpdate", taskId="1", status=status, addBlockedBy=["3", "4"])
        cancelled += files.scope.cancelled_caught
        # A change that was begun is complete when the call ends.
        found = await stored_tasks(files)
        check_edges(found)
        assert found != old
        with anyio.fail_after(LONG_S):
            assert len((await call_ok(plan, "TaskList")).splitlines()) == len(found)
    assert cancelled >= 4


async def test_a_cancelled_creation_is_whole() -> None:
    for number in range(1, 4):
        files = CancellingFiles()
        plan = PlanTasks(files, BASE)
        files.left = number
        with anyio.CancelScope() as files.scope:
            await add_tasks(plan, 1)
        assert files.scope.cancelled_caught
        assert list(await stored_tasks(files)) == ["1"]
        assert await files.read(f"{BASE}/.highwatermark") == "1"


# Processes.


def start(*arguments: str | Path) -> "subprocess.Popen[str]":
    command = [sys.executable, str(PROGRAM), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def on_disk(root: Path) -> dict[str, dict[str, Any]]:
    found = (root / "s1").glob("[0-9]*.json")
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in found}


async def finished(child: "subprocess.Popen[str]") -> list[str]:
    output, _ = await anyio.to_thread.run_sync(lambda: child.communicate(timeout=LONG_S))
    assert child.returncode == 0
    return output.splitlines()


@pytest.mark.slow
@pytest.mark.spec("PT-104", "PT-202")
async def test_processes_on_one_directory_give_no_id_twice(tmp_path: Path) -> None:
    children = [start("create", tmp_path, name, "40") for name in ("a", "b")]
    lines = [line for child in children for line in await finished(child)]
    created = sorted(int(line.split("#")[1].split()[0]) for line in lines)
    assert created == list(range(1, 81))
    assert len(on_disk(tmp_path)) == 80


@pytest.mark.slow
@pytest.mark.spec("PT-104")
async def test_processes_on_one_directory_lose_no_update(tmp_path: Path) -> None:
    plan = PlanTasks(LocalFiles(tmp_path), "s1")
    await add_tasks(plan, 1)
    children = [start("own", tmp_path, name, "30") for name in ("a", "b")]
    for number in range(30):
        await call_ok(plan, "TaskUpdate", taskId="1", metadata={f"here-{number}": True})
    for child in children:
        assert all(line.startswith("done") for line in await finished(child))
    assert len(on_disk(tmp_path)["1"]["metadata"]) == 90
    (item,) = await plan.tasks()
    assert len(item.metadata) == 90


def wait_for_the_middle(root: Path, child: "subprocess.Popen[str]") -> None:
    """Wait until the process is between the files of one change."""
    marker, end = root / "s1" / ".plan", time.monotonic() + LONG_S
    while b'"undo"' not in marker.read_bytes():
        assert child.poll() is None
        assert time.monotonic() < end, "no change was seen"


@pytest.mark.slow
@pytest.mark.spec("PT-205", "PT-202", "PT-104")
async def test_a_list_survives_processes_killed_in_the_middle_of_changes(
    tmp_path: Path, deep: bool, figure: Callable[[str], None]
) -> None:
    plan = PlanTasks(LocalFiles(tmp_path), "s1", keep_completed=True)
    await add_tasks(plan, 8)
    given = list(range(1, 9))
    kills, halves = 300 if deep else 25, 0
    for number in range(kills):
        child = start("churn", tmp_path, str(number))
        assert child.stdout is not None
        lines = [
            await anyio.to_thread.run_sync(child.stdout.readline) for _ in range(number % 7 + 1)
        ]
        if number % 2:
            await anyio.to_thread.run_sync(wait_for_the_middle, tmp_path, child)
        child.kill()
        rest, _ = await anyio.to_thread.run_sync(child.communicate)
        created = [line for line in (*lines, *rest.splitlines()) if line.startswith("done Task #")]
        given += [int(line.split("#")[1].split()[0]) for line in created]
        marker = tmp_path / "s1" / ".plan"
        halves += marker.exists() and '"undo"' in marker.read_text(encoding="utf-8")
        with anyio.fail_after(LONG_S):
            tasks = await plan.tasks()
        found = on_disk(tmp_path)
        check_edges(found)
        assert [item.id for item in tasks] == sorted(found, key=int)
        assert {item.id: list(item.blocks) for item in tasks} == {
            id_: task["blocks"] for id_, task in found.items()
        }
    assert len(set(given)) == len(given)
    assert not (await call(plan, "TaskCreate", subject="x", description="y")).is_error
    assert halves > 0
    figure(f"{kills} kills, {halves} of them between the files of one change, {len(given)} ids")
