"""The cache: the cost of a call in a long list, and changes by other writers."""

import os
from pathlib import Path

import pytest

from taskloom.files import LocalFiles, MemoryFiles
from taskloom.middleware import PlanTasks
from tests.middleware.plan.plan_calls import (
    BASE,
    FaultyFiles,
    add_tasks,
    call_error,
    call_ok,
)


@pytest.mark.spec("PT-401")
async def test_a_call_reads_no_more_files_in_a_long_list() -> None:
    costs: list[tuple[int, int, int]] = []
    for size in (10, 300):
        files = MemoryFiles()
        for number in range(1, size + 1):
            await files.write(
                f"{BASE}/{number}.json", f'{{"id":"{number}","subject":"s","description":"d"}}'
            )
        counting = FaultyFiles(files, ())
        plan = PlanTasks(counting, BASE)
        await call_ok(plan, "TaskGet", taskId="1")
        assert counting.reads >= size
        counting.reads = counting.writes = counting.listings = 0
        await call_ok(plan, "TaskUpdate", taskId="2", addBlocks=["3"], addBlockedBy=["1"])
        await call_ok(plan, "TaskUpdate", taskId="4", status="completed")
        await call_ok(plan, "TaskUpdate", taskId="5", status="deleted")
        await call_ok(plan, "TaskCreate", subject="x", description="y")
        await call_ok(plan, "TaskGet", taskId="2")
        costs.append((counting.reads, counting.writes, counting.listings))
        counting.reads = 0
        await call_ok(plan, "TaskList")
        assert counting.reads == 2, "the marker, and the highest id"
    assert costs[0] == costs[1]
    assert costs[0][0] == 5, "the marker, once a call"
    assert costs[0][2] == 0


@pytest.mark.spec("PT-401", "PT-104")
async def test_changes_by_other_processes_are_seen(tmp_path: Path) -> None:
    one, two = (PlanTasks(LocalFiles(tmp_path), "s1") for _ in range(2))
    await add_tasks(one, 3)
    assert len(await two.tasks()) == 3
    for number in range(40):
        await call_ok(one, "TaskUpdate", taskId="1", metadata={"n": number})
        await call_ok(two, "TaskUpdate", taskId="2", owner=f"owner {number}")
    assert "Owner: owner 39" in await call_ok(one, "TaskGet", taskId="2")
    for number in range(40):  # More than the marker lists.
        await call_ok(one, "TaskUpdate", taskId="3", owner=f"owner {number}")
    assert "Owner: owner 39" in await call_ok(two, "TaskGet", taskId="3")
    # A call also sees edges that it does not touch: here they close a cycle.
    await add_tasks(one, 4)
    for blocker, blocked in (("4", "5"), ("6", "7")):
        await call_ok(one, "TaskUpdate", taskId=blocker, addBlocks=[blocked])
    assert len(await two.tasks()) == 7
    await call_ok(one, "TaskUpdate", taskId="5", addBlocks=["6"])
    text = await call_error(two, "TaskUpdate", taskId="7", addBlocks=["4"])
    assert "#7 → #4 → #5 → #6 → #7" in text
    await call_ok(two, "TaskUpdate", taskId="3", addBlockedBy=["1", "2"])
    await call_ok(one, "TaskUpdate", taskId="1", status="completed")
    await call_ok(one, "TaskUpdate", taskId="2", removeBlocks=["3"])
    await call_ok(two, "TaskUpdate", taskId="3", status="in_progress")


@pytest.mark.spec("PT-401", "PT-201")
async def test_changes_by_other_programs_are_seen(tmp_path: Path) -> None:
    plan = PlanTasks(LocalFiles(tmp_path), "s1")
    await add_tasks(plan, 2)
    folder = tmp_path / "s1"
    text = (folder / "1.json").read_text()
    # In place, as the Go program writes; seen by calls that touch the task or list all.
    (folder / "1.json").write_text(text.replace("pending", "in_progress"))
    assert "Status: in_progress" in await call_ok(plan, "TaskGet", taskId="1")
    (folder / "2.json").write_text(text.replace('"1"', '"2"').replace("task 1", "another task"))
    assert "another task" in await call_ok(plan, "TaskList")
    await call_ok(plan, "TaskUpdate", taskId="2", addBlockedBy=["1"])
    text = (folder / "1.json").read_text()
    (folder / "1.json").write_text(text.replace("in_progress", "completed"))
    await call_ok(plan, "TaskUpdate", taskId="2", status="in_progress")
    # A new file, and a removed one.
    text = text.replace('["2"]', "[]")
    (folder / "7.json").write_text(text.replace('"1"', '"7"'))
    os.utime(folder, ns=(0, 1))  # The clock may be too coarse to show it.
    assert "Task #8 " in await call_ok(plan, "TaskCreate", subject="x", description="y")
    (folder / "7.json").unlink()
    os.utime(folder, ns=(0, 2))
    assert [item.id for item in await plan.tasks()] == ["1", "2", "8"]


async def test_a_list_is_not_finished_while_another_program_has_opened_a_task(
    tmp_path: Path,
) -> None:
    plan = PlanTasks(LocalFiles(tmp_path), "s1")
    await add_tasks(plan, 2)
    await call_ok(plan, "TaskUpdate", taskId="1", status="completed")
    file = tmp_path / "s1" / "1.json"
    file.write_text(file.read_text().replace("completed", "in_progress"))
    text = await call_ok(plan, "TaskUpdate", taskId="2", status="completed")
    assert text == "Updated task #2 status"
    assert [item.status for item in await plan.tasks()] == ["in_progress", "completed"]
