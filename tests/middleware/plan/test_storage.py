"""The files of a list: their format, damaged files, and failed writes."""

import json
from pathlib import Path

import pytest

from taskloom.files import LocalFiles, MemoryFiles
from taskloom.middleware import PlanTasks
from taskloom.middleware.plan.store import store_for
from tests.middleware.plan.plan_calls import (
    BASE,
    FaultyFiles,
    add_tasks,
    call,
    call_error,
    call_ok,
    check_edges,
    stored_tasks,
)

# The format of the Go program: one line, keys in this order, no newline at the end.
GO_FULL = (
    '{"id":"1","subject":"Parse \\u003cinput\\u003e","description":"d","status":"in_progress",'
    '"blocks":["2"],"blockedBy":[],"activeForm":"Parsing","owner":"ann","metadata":{"k":1.5}}'
)
GO_PLAIN = (
    '{"id":"2","subject":"Test","description":"d","status":"pending","blocks":[],"blockedBy":["1"]}'
)


@pytest.fixture
def files() -> MemoryFiles:
    return MemoryFiles()


@pytest.fixture
def plan(files: MemoryFiles) -> PlanTasks:
    return PlanTasks(files, BASE)


def go(id_: str, status: str = "pending", blocks: str = "[]", blocked_by: str = "[]") -> str:
    return (
        f'{{"id":"{id_}","subject":"s{id_}","description":"d","status":"{status}",'
        f'"blocks":{blocks},"blockedBy":{blocked_by}}}'
    )


@pytest.mark.spec("PT-201")
async def test_files_of_the_go_program_are_read_and_ours_have_its_form(tmp_path: Path) -> None:
    folder = tmp_path / "s1"
    folder.mkdir()
    (folder / "1.json").write_text(GO_FULL)
    (folder / "2.json").write_text(GO_PLAIN)
    (folder / ".highwatermark").write_text("2")
    plan = PlanTasks(LocalFiles(tmp_path), "s1")
    one, two = await plan.tasks()
    assert (one.subject, one.active_form, one.owner) == ("Parse <input>", "Parsing", "ann")
    assert (one.metadata, two.blocked_by) == ({"k": 1.5}, ("1",))
    # Rewritten with the same values, a file is the same except for Go's escapes.
    await call_ok(plan, "TaskUpdate", taskId="1", owner="bob")
    assert (folder / "1.json").read_bytes().decode() == GO_FULL.replace("ann", "bob").replace(
        "\\u003cinput\\u003e", "<input>"
    )
    await call_ok(plan, "TaskCreate", subject="x", description="y")
    assert (folder / "3.json").read_bytes() == (
        b'{"id":"3","subject":"x","description":"y","status":"pending","blocks":[],"blockedBy":[]}'
    )
    assert (folder / ".highwatermark").read_bytes() == b"3"
    assert (folder / "2.json").read_text() == GO_PLAIN
    others = {path.name for path in folder.iterdir()} - {"1.json", "2.json", "3.json"}
    assert all(name.startswith(".") for name in others), "the Go program skips dot files alone"


@pytest.mark.spec("PT-201")
async def test_unknown_fields_of_a_file_are_kept(files: MemoryFiles, plan: PlanTasks) -> None:
    text = '{"id":"1","subject":"s","description":"d","blocks":null,"x-other":{"deep":[1,null]}}'
    await files.write(f"{BASE}/1.json", text)
    await call_ok(plan, "TaskUpdate", taskId="1", owner="ann")
    task = (await stored_tasks(files))["1"]
    assert task["x-other"] == {"deep": [1, None]}
    assert (task["status"], task["blocks"], task["owner"]) == ("pending", [], "ann")


@pytest.mark.spec("PT-202")
@pytest.mark.parametrize("text", ["", "abc", "-5", "1e3", "9" * 30, None, " 2", "\ud800"])
async def test_a_lost_or_garbled_highwatermark_is_repaired(
    files: MemoryFiles, plan: PlanTasks, text: str | None
) -> None:
    await add_tasks(plan, 3)
    await call_ok(plan, "TaskUpdate", taskId="3", status="deleted")
    if text is None:
        await files.delete(f"{BASE}/.highwatermark")
    else:
        await files.write(f"{BASE}/.highwatermark", text)
    # In the same process, and in one without a cache.
    assert "Task #4 " in await call_ok(plan, "TaskCreate", subject="x", description="y")
    assert await files.read(f"{BASE}/.highwatermark") == "4"
    await files.write(f"{BASE}/.highwatermark", text or "")
    await call_ok(plan, "TaskUpdate", taskId="4", status="deleted")
    elsewhere = FaultyFiles(files, ())
    other = PlanTasks(elsewhere, BASE)
    assert "Task #5 " in await call_ok(other, "TaskCreate", subject="x", description="y")


@pytest.mark.spec("PT-202")
@pytest.mark.parametrize(("text", "next_id"), [("12abc", "13"), ("7\n", "8"), ("0x10", "6")])
async def test_ids_continue_after_the_highest_known_one(
    files: MemoryFiles, plan: PlanTasks, text: str, next_id: str
) -> None:
    await files.write(f"{BASE}/.highwatermark", text)
    await files.write(f"{BASE}/5.json", "broken")
    assert f"Task #{next_id} " in await call_ok(plan, "TaskCreate", subject="x", description="y")


@pytest.mark.spec("PT-203", "PT-204")
async def test_files_of_other_names_are_left_alone(files: MemoryFiles, plan: PlanTasks) -> None:
    names = (
        "notes.json",
        "1.txt",
        "٣.json",
        "1.json.bak",
        "-4.json",
        "1 .json",
        "x1.json",
        ".7.json",
    )
    for name in names:
        await files.write(f"{BASE}/{name}", "not a task")
    await files.write(f"{BASE}/9.json/inner", "a directory")
    await add_tasks(plan, 1)
    assert await call_ok(plan, "TaskList") == "#1 [pending] task 1"
    await call_ok(plan, "TaskUpdate", taskId="1", status="completed")
    left = {info.path.rpartition("/")[2] for info in await files.ls_info(BASE)}
    assert left >= {*names, "9.json"}


BROKEN = [
    "",
    "{",
    "[]",
    '"x"',
    "nul",
    '{"id":"2","blocks":"1"}',
    '{"subject":7}',
    "[" * 5000,
    "9" * 6000,
]


@pytest.mark.spec("PT-204")
@pytest.mark.parametrize("broken", BROKEN)
async def test_a_broken_file_is_reported_and_does_not_stop_the_rest(
    files: MemoryFiles, plan: PlanTasks, broken: str
) -> None:
    await add_tasks(plan, 3)
    await call_ok(plan, "TaskUpdate", taskId="2", addBlocks=["3"])
    await files.write(f"{BASE}/2.json", broken)
    text = await call_ok(plan, "TaskList")
    assert text.startswith("#1 [pending] task 1\n#3 [pending] task 3 [blocked by #2]\n")
    assert "cannot be read: #2" in text
    assert "file of task #2 cannot be read" in await call_error(plan, "TaskGet", taskId="2")
    assert await files.read(f"{BASE}/2.json") == broken
    await call_ok(plan, "TaskUpdate", taskId="1", status="completed")
    assert "blocked by #2" in await call_error(plan, "TaskUpdate", taskId="3", status="completed")
    assert (
        await call_ok(plan, "TaskUpdate", taskId="2", status="deleted") == "Updated task #2 deleted"
    )
    await call_ok(plan, "TaskUpdate", taskId="3", status="completed")
    assert await stored_tasks(files) == {}


@pytest.mark.spec("PT-204")
async def test_a_file_that_is_not_text_is_reported(tmp_path: Path) -> None:
    plan = PlanTasks(LocalFiles(tmp_path), "s1")
    await add_tasks(plan, 2)
    (tmp_path / "s1" / "1.json").write_bytes(b"\xff\xfe")
    assert "cannot be read: #1" in await call_ok(plan, "TaskList")
    await call_ok(plan, "TaskUpdate", taskId="1", status="deleted")
    assert await call_ok(plan, "TaskList") == "#2 [pending] task 2"


@pytest.mark.spec("PT-311")
async def test_a_storage_error_is_part_of_one_correct_sentence(tmp_path: Path) -> None:
    plan = PlanTasks(LocalFiles(tmp_path), "s1")
    await add_tasks(plan, 1)
    (tmp_path / "s1" / "2.json").mkdir()
    (tmp_path / "s1" / "3.json").symlink_to("/etc/hosts")
    for id_, reason in (("2", "is not a file; other"), ("3", "through a link. Nothing")):
        assert reason in await call_error(plan, "TaskGet", taskId=id_)


@pytest.mark.spec("PT-205")
async def test_edges_written_on_one_side_are_completed(files: MemoryFiles, plan: PlanTasks) -> None:
    await files.write(f"{BASE}/1.json", go("1", blocks='["2","999","1","x"]'))
    await files.write(f"{BASE}/2.json", go("2"))
    await files.write(f"{BASE}/3.json", go("3", blocked_by='["2"]'))
    assert "blocked by #1" in await call_error(plan, "TaskUpdate", taskId="2", status="in_progress")
    assert "cycle" in await call_error(plan, "TaskUpdate", taskId="3", addBlocks=["1"])
    tasks = await stored_tasks(files)
    check_edges(tasks)
    assert (tasks["1"]["blocks"], tasks["2"]["blocks"]) == (["2"], ["3"])


async def test_invalid_tasks_of_the_go_program_can_be_corrected(
    files: MemoryFiles, plan: PlanTasks
) -> None:
    await files.write(f"{BASE}/1.json", go("1", "banana", '["2"]', '["2"]'))
    await files.write(f"{BASE}/2.json", go("2", blocks='["1"]', blocked_by='["1"]'))
    assert "#1 [banana] s1 [blocked by #2]" in await call_ok(plan, "TaskList")
    assert "removeBlockedBy" in await call_error(plan, "TaskUpdate", taskId="1", status="completed")
    await call_ok(plan, "TaskUpdate", taskId="1", status="completed", removeBlockedBy=["2"])
    text = await call_ok(plan, "TaskUpdate", taskId="2", status="completed")
    assert "finished" in text


# Failed writes.

CHANGES = {
    "create": ("TaskCreate", {"subject": "new", "description": "d"}),
    "field": ("TaskUpdate", {"taskId": "2", "owner": "ann"}),
    "edges": ("TaskUpdate", {"taskId": "2", "addBlocks": ["3", "4"], "addBlockedBy": ["1"]}),
    "delete": ("TaskUpdate", {"taskId": "5", "status": "deleted"}),
    "finish": ("TaskUpdate", {"taskId": "5", "status": "completed"}),
}


async def prepare(change: str) -> MemoryFiles:
    files = MemoryFiles()
    plan = PlanTasks(files, BASE)
    await add_tasks(plan, 5)
    await call_ok(plan, "TaskUpdate", taskId="5", addBlockedBy=["1", "2"])
    if change == "finish":
        for id_ in "1234":
            await call_ok(plan, "TaskUpdate", taskId=id_, status="completed")
    return files


@pytest.mark.spec("PT-205")
@pytest.mark.parametrize("lands", [False, True])
@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_whose_write_fails_is_rolled_back(change: str, lands: bool) -> None:
    name, arguments = CHANGES[change]
    for number in range(1, 100):
        files = await prepare(change)
        before = await stored_tasks(files)
        failing = FaultyFiles(files, (number,), lands=lands)
        plan = PlanTasks(failing, BASE)
        answer = await call(plan, name, **arguments)
        if not answer.is_error:
            assert failing.writes < number
            assert number > 2
            return
        assert "Nothing was changed; try again" in answer.text
        assert await stored_tasks(files) == before, f"write {number}"
        # The same call succeeds afterwards, and other stores see it.
        await call_ok(plan, name, **arguments)
        after = await stored_tasks(files)
        assert after != before
        check_edges(after)
        assert [item.id for item in await PlanTasks(files, BASE).tasks()] == sorted(after, key=int)
    pytest.fail("it never succeeded")


@pytest.mark.spec("PT-205")
@pytest.mark.parametrize("lands", [False, True])
@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_cut_off_at_any_write_is_whole_or_not_there(
    change: str, lands: bool
) -> None:
    """All writes from one on fail (or succeed and report a failure), as when a process dies."""
    name, arguments = CHANGES[change]
    files = await prepare(change)
    old = await stored_tasks(files)
    await call_ok(PlanTasks(files, BASE), name, **arguments)
    new = await stored_tasks(files)
    for number in range(1, 100):
        files = await prepare(change)
        cut_off = FaultyFiles(files, range(number, 1000), lands=lands)
        answer = await call(PlanTasks(cut_off, BASE), name, **arguments)
        if not answer.is_error:
            assert await stored_tasks(files) == new
            return
        later = PlanTasks(files, BASE)
        ids = [item.id for item in await later.tasks()]
        found = await stored_tasks(files)
        assert found in (old, new), f"write {number}"
        check_edges(found)
        assert ids == sorted(found, key=int)
    pytest.fail("it never succeeded")


@pytest.mark.spec("PT-205")
async def test_a_forged_marker_is_ignored(files: MemoryFiles, plan: PlanTasks) -> None:
    await add_tasks(plan, 1)
    before = await stored_tasks(files)
    for undo in ({"../../x": "evil"}, {"notes": None}, {"1\n": None}):
        await files.write(f"{BASE}/.plan", json.dumps({"token": "t", "undo": undo}))
        await call_ok(plan, "TaskList")
        assert await stored_tasks(files) == before
    for garbage in ("", "{", "[]", "null", '{"undo": 7}', "\ud800", "9" * 6000):
        await files.write(f"{BASE}/.plan", garbage)
        assert await call_ok(plan, "TaskList") == "#1 [pending] task 1"
        assert "Task #" in await call_ok(plan, "TaskCreate", subject="x", description="y")
        await call_ok(plan, "TaskUpdate", taskId=(await plan.tasks())[-1].id, status="deleted")


async def test_an_unreadable_storage_is_reported(files: MemoryFiles) -> None:
    class Broken(MemoryFiles):
        async def read(self, path: str, offset: int = 0, limit: int | None = None) -> str:
            raise OSError("no connection")

    text = await call_error(PlanTasks(Broken(), BASE), "TaskList")
    assert "no connection" in text
    assert "continue without the list" in text


@pytest.mark.spec("PT-202")
async def test_an_id_that_another_program_takes_first_is_left_to_it(files: MemoryFiles) -> None:
    class Raced(MemoryFiles):
        others = 2

        async def create(self, path: str, content: str) -> None:
            if self.others:
                self.others -= 1
                await self.write(path, go(path.split("/")[-1].removesuffix(".json")))
            await super().create(path, content)

    raced = Raced()
    plan = PlanTasks(raced, BASE)
    assert "Task #3 " in await call_ok(plan, "TaskCreate", subject="x", description="y")
    assert [item.subject for item in await plan.tasks()] == ["s1", "s2", "x"]
    raced.others = 1000
    assert "took every new id" in await call_error(plan, "TaskCreate", subject="x", description="y")


def test_middlewares_on_one_list_share_one_store(files: MemoryFiles) -> None:
    for same in (f"{BASE}/", f"./{BASE}", BASE.replace("/", "//"), BASE.replace("/", "/./")):
        assert store_for(files, BASE) is store_for(files, same)
    assert store_for(files, BASE) is not store_for(files, f"/{BASE}")
