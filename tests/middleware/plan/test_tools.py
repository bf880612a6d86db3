"""The four tools, as a model meets them."""

import pytest

from taskloom.agent import RunSetup, call_tool, call_tools
from taskloom.files import MemoryFiles
from taskloom.middleware import PlanTasks
from tests.agent.scene import add
from tests.middleware.plan.scene import BASE, by_id, done, planned, play, refused, stored


@pytest.fixture
def files() -> MemoryFiles:
    return MemoryFiles()


@pytest.fixture
def plan(files: MemoryFiles) -> PlanTasks:
    return PlanTasks(files, BASE)


@pytest.mark.spec("PT-101")
async def test_a_run_gets_the_four_tools_after_its_own_and_nothing_else_changes(
    plan: PlanTasks,
) -> None:
    setup = RunSetup("r1", "Be brief.", [add], {"add"})
    await plan.before_agent(setup)
    names = [getattr(tool, "name", "") for tool in setup.tools[1:]]
    assert names == ["TaskCreate", "TaskGet", "TaskUpdate", "TaskList"]
    assert setup.tools[0] is add
    assert (setup.instruction, setup.return_directly) == ("Be brief.", {"add"})


@pytest.mark.spec("PT-102")
def test_a_missing_backend_or_directory_is_a_clear_error() -> None:
    with pytest.raises(ValueError, match="needs a backend"):
        PlanTasks(None, BASE)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(ValueError, match="is no backend: it has no method ls_info"):
        PlanTasks(object(), BASE)  # type: ignore[arg-type]  # that is the point
    for empty in ("", "  ", None):
        with pytest.raises(ValueError, match="needs a base_dir"):
            PlanTasks(MemoryFiles(), empty)  # type: ignore[arg-type]  # that is the point
    for outside in ("../plans", "a/../../b", "a\0b"):
        with pytest.raises(ValueError, match="leads out"):
            PlanTasks(MemoryFiles(), outside)
    with pytest.raises(ValueError, match="language 'fr' has no texts; there are en, zh"):
        PlanTasks(MemoryFiles(), "a", language="fr")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(ValueError, match="reminder_turns"):
        PlanTasks(MemoryFiles(), BASE, reminder_turns=0)


@pytest.mark.spec("PT-102")
async def test_lists_in_other_directories_are_other_lists(files: MemoryFiles) -> None:
    one, two = PlanTasks(files, "a"), PlanTasks(files, "b")
    await planned(one, 2)
    assert await done(two, "TaskList") == "No tasks found."
    await planned(two, 1)
    assert [item.id for item in await two.tasks()] == ["1"]
    assert [item.id for item in await one.tasks()] == ["1", "2"]


@pytest.mark.spec("PT-301", "PT-302", "PT-310")
async def test_a_task_is_created_and_read(plan: PlanTasks) -> None:
    text = await done(
        plan,
        "TaskCreate",
        subject="Run the tests",
        description="all of them",
        activeForm="Running the tests",
        metadata={"a": 1, "gone": None},
    )
    assert text == "Task #1 created successfully: Run the tests"
    (item,) = await plan.tasks()
    assert (item.status, item.blocks, item.blocked_by) == ("pending", (), ())
    assert (item.active_form, item.metadata) == ("Running the tests", {"a": 1})
    assert await done(plan, "TaskGet", taskId="1") == (
        "Task #1: Run the tests\nStatus: pending\nDescription: all of them"
    )
    assert await done(plan, "TaskList") == "#1 [pending] Run the tests"


@pytest.mark.spec("PT-301", "PT-311")
@pytest.mark.parametrize("field", ["subject", "description"])
async def test_a_task_needs_subject_and_description(plan: PlanTasks, field: str) -> None:
    given = {"subject": "x", "description": "y"}
    assert f"`{field}` must not be empty" in await refused(
        plan, "TaskCreate", **{**given, field: " \n"}
    )
    del given[field]
    assert f"missing argument `{field}`" in await refused(plan, "TaskCreate", **given)
    assert await plan.tasks() == []


@pytest.mark.spec("PT-302", "PT-303", "PT-305", "PT-310")
async def test_edges_are_written_on_both_sides_and_shown(
    plan: PlanTasks, files: MemoryFiles
) -> None:
    await planned(plan, 4)
    text = await done(plan, "TaskUpdate", taskId="2", addBlocks=["3", "3"], addBlockedBy=["1"])
    assert text == "Updated task #2 blocks, blockedBy"
    await done(plan, "TaskUpdate", taskId="2", addBlocks=["3", "4"], owner="ann")
    tasks = await stored(files)
    assert {id_: (task["blockedBy"], task["blocks"]) for id_, task in tasks.items()} == {
        "1": ([], ["2"]),
        "2": (["1"], ["3", "4"]),
        "3": (["2"], []),
        "4": (["2"], []),
    }
    assert await done(plan, "TaskGet", taskId="2") == (
        "Task #2: task 2\nStatus: pending\nDescription: do it\n"
        "Blocked by: #1\nBlocks: #3, #4\nOwner: ann"
    )
    await done(plan, "TaskUpdate", taskId="1", status="completed")
    await done(plan, "TaskUpdate", taskId="3", addBlockedBy=["1"])
    assert await done(plan, "TaskList") == (
        "#1 [completed] task 1\n"
        "#2 [pending] task 2 [owner: ann]\n"
        "#3 [pending] task 3 [blocked by #2]\n"
        "#4 [pending] task 4 [blocked by #2]"
    )


@pytest.mark.spec("PT-303", "PT-307", "PT-312")
async def test_an_update_names_its_fields_in_order_and_can_clear_them(plan: PlanTasks) -> None:
    await planned(plan, 2)
    text = await done(
        plan,
        "TaskUpdate",
        metadata={"a": 1, "b": {"x": 1}},
        owner="ann",
        addBlockedBy=["2"],
        addBlocks=[],
        status="pending",
        activeForm="Doing",
        description="new",
        subject="New",
        taskId="1",
    )
    assert text == (
        "Updated task #1 subject, description, activeForm, status, blockedBy, owner, metadata"
    )
    text = await done(
        plan,
        "TaskUpdate",
        taskId="1",
        metadata={"a": None, "b": {"y": 2}, "c": None},
        owner="",
        activeForm="",
        removeBlockedBy=["2"],
        subject=None,
    )
    assert text == "Updated task #1 activeForm, blockedBy, owner, metadata"
    one, two = await plan.tasks()
    assert (one.subject, one.description, one.owner, one.active_form) == ("New", "new", "", "")
    assert one.metadata == {"b": {"y": 2}}
    assert one.blocked_by == two.blocks == ()
    assert "unchanged" in await done(plan, "TaskUpdate", taskId="1")
    assert "`subject` must not be empty" in await refused(
        plan, "TaskUpdate", taskId="1", subject=" "
    )


@pytest.mark.spec("PT-304", "PT-311")
async def test_a_status_that_is_none_is_refused(plan: PlanTasks) -> None:
    await planned(plan, 1)
    text = await refused(plan, "TaskUpdate", taskId="1", status="banana", owner="ann")
    assert "pending, in_progress, completed, deleted" in text
    assert [(item.status, item.owner) for item in await plan.tasks()] == [("pending", "")]


@pytest.mark.spec("PT-305", "PT-311")
async def test_wrong_dependencies_are_refused_before_anything_is_written(
    plan: PlanTasks, files: MemoryFiles
) -> None:
    await planned(plan, 3)
    await done(plan, "TaskUpdate", taskId="1", addBlocks=["2"])
    await done(plan, "TaskUpdate", taskId="2", addBlocks=["3"])
    before = await stored(files)
    for given, told in (
        ({"addBlocks": ["2", "999"], "owner": "x"}, "no task #999; the tasks are #1, #2, #3"),
        ({"addBlockedBy": ["1"]}, "#1 cannot block itself"),
        ({"addBlocks": ["1"]}, "#1 cannot block itself"),
        ({"addBlockedBy": ["3"]}, "#3 → #1 → #2 → #3"),
        ({"addBlocks": ["3"], "addBlockedBy": ["3"]}, "circle"),
        ({"addBlocks": ["#2"]}, "`#2` is not a task id"),
        ({"addBlocks": ["2"], "removeBlocks": ["2"]}, "#2 cannot be added and removed"),
        ({"removeBlocks": ["x"]}, "`x` is not a task id"),
    ):
        assert told in await refused(plan, "TaskUpdate", taskId="1", **given)
    assert await stored(files) == before


@pytest.mark.spec("PT-305")
async def test_a_circle_made_by_both_lists_of_one_call_is_refused(plan: PlanTasks) -> None:
    await planned(plan, 3)
    text = await refused(plan, "TaskUpdate", taskId="1", addBlocks=["2"], addBlockedBy=["2"])
    assert "#1 → #2 → #1" in text
    await done(plan, "TaskUpdate", taskId="2", addBlocks=["3"])
    text = await refused(plan, "TaskUpdate", taskId="1", addBlocks=["2"], addBlockedBy=["3"])
    assert "circle" in text
    assert (await by_id(plan))["1"].blocks == ()


@pytest.mark.spec("PT-305", "PT-312")
async def test_an_edge_can_be_turned_round_in_one_call(plan: PlanTasks) -> None:
    await planned(plan, 2)
    await done(plan, "TaskUpdate", taskId="1", addBlocks=["2"])
    await done(plan, "TaskUpdate", taskId="1", removeBlocks=["2"], addBlockedBy=["2"])
    one, two = await plan.tasks()
    assert (one.blocks, one.blocked_by, two.blocks, two.blocked_by) == ((), ("2",), ("1",), ())


@pytest.mark.spec("PT-306", "PT-311")
async def test_a_deleted_task_is_gone_from_everywhere(plan: PlanTasks, files: MemoryFiles) -> None:
    await planned(plan, 3)
    await done(plan, "TaskUpdate", taskId="2", addBlocks=["3"], addBlockedBy=["1"])
    assert await done(plan, "TaskUpdate", taskId="2", status="deleted") == "Updated task #2 deleted"
    tasks = await stored(files)
    assert list(tasks) == ["1", "3"]
    assert tasks["1"]["blocks"] == tasks["3"]["blockedBy"] == []
    assert "no task #2" in await refused(plan, "TaskUpdate", taskId="2", status="deleted")
    assert "no task #2" in await refused(plan, "TaskGet", taskId="2")


@pytest.mark.spec("PT-308")
async def test_a_blocked_task_neither_starts_nor_ends(files: MemoryFiles, plan: PlanTasks) -> None:
    await planned(plan, 4)
    await done(plan, "TaskUpdate", taskId="3", addBlockedBy=["1", "2"])
    for status in ("in_progress", "completed"):
        text = await refused(plan, "TaskUpdate", taskId="3", status=status)
        assert "blocked by #1, #2" in text
    text = await refused(plan, "TaskUpdate", taskId="4", status="in_progress", addBlockedBy=["1"])
    assert "blocked by #1" in text
    assert (await by_id(plan))["4"].blocked_by == ()
    await done(plan, "TaskUpdate", taskId="1", status="completed")
    assert "blocked by #2;" in await refused(plan, "TaskUpdate", taskId="3", status="in_progress")
    await done(plan, "TaskUpdate", taskId="3", status="in_progress", removeBlockedBy=["2"])
    free = PlanTasks(files, BASE, enforce_order=False)
    await done(free, "TaskUpdate", taskId="4", status="completed", addBlockedBy=["2"])


@pytest.mark.spec("PT-309", "PT-202")
async def test_a_finished_list_is_cleared_and_that_is_said(
    plan: PlanTasks, files: MemoryFiles
) -> None:
    await planned(plan, 2)
    await done(plan, "TaskUpdate", taskId="1", status="completed")
    text = await done(plan, "TaskUpdate", taskId="2", status="completed")
    assert text.startswith("Updated task #2 status\n")
    assert "finished and has been cleared" in text
    assert await stored(files) == {}
    assert await files.read(f"{BASE}/.highwatermark") == "2"
    assert (await done(plan, "TaskCreate", subject="x", description="y")).startswith("Task #3 ")


@pytest.mark.spec("PT-309")
async def test_a_finished_list_can_be_kept(files: MemoryFiles) -> None:
    plan = PlanTasks(files, BASE, keep_completed=True)
    await planned(plan, 1)
    text = await done(plan, "TaskUpdate", taskId="1", status="completed")
    assert text == "Updated task #1 status\nAll tasks are completed: the list is finished."
    assert await done(plan, "TaskList") == "#1 [completed] task 1"


@pytest.mark.spec("PT-310")
async def test_the_list_is_in_the_order_of_numbers(plan: PlanTasks) -> None:
    assert await done(plan, "TaskList") == "No tasks found."
    await planned(plan, 12)
    text = await done(plan, "TaskList", anything="made up")
    assert [line.split()[0] for line in text.splitlines()] == [f"#{n}" for n in range(1, 13)]


async def test_a_subject_cannot_pass_for_another_line_of_the_list(plan: PlanTasks) -> None:
    await done(
        plan, "TaskCreate", subject="x\n#2 [completed] y", description="z", metadata={"k": "\0"}
    )
    assert await done(plan, "TaskList") == "#1 [pending] x #2 [completed] y"


@pytest.mark.spec("PT-311", "PT-203")
@pytest.mark.parametrize("mode", ["report", "raise"])
async def test_mistakes_never_end_a_run(plan: PlanTasks, mode: str) -> None:
    await planned(plan, 1)
    mistakes = [
        call_tool("TaskGet", taskId=1),
        call_tool("TaskGet"),
        call_tool("TaskGet", taskId="٣"),
        call_tool("TaskGet", taskId="1\n"),
        call_tool("TaskGet", taskId="-1"),
        call_tool("TaskGet", taskId="../1"),
        call_tool("TaskGet", taskId="9" * 5000),
        call_tool("TaskGet", taskId="01"),
        call_tool("TaskUpdate", taskId="1", addBlocks="2"),
        call_tool("TaskUpdate", taskId="1", metadata=["x"]),
        call_tool("TaskUpdate", taskId="1", nonsense="x"),
        call_tool("TaskUpdate", taskId="7", owner="x"),
        call_tool("TaskCreate", subject={"a": 1}, description="x"),
    ]
    played = await play(plan, *mistakes, call_tool("TaskList"), on_tool_error=mode)
    assert [answer.is_error for answer in played.answers] == [True] * len(mistakes) + [False]
    assert all(len(answer.text) > 40 for answer in played.answers[:-1])
    assert played.answers[-1].text == "#1 [pending] task 1"
    assert played.changes == []


def nested(levels: int) -> dict[str, object]:
    found: object = 1
    for _ in range(levels - 1):
        found = [found]
    return {"deep": found}


@pytest.mark.spec("PT-311")
async def test_metadata_nested_without_end_is_refused_and_never_ends_the_run(
    plan: PlanTasks,
) -> None:
    await planned(plan, 1)
    calls = [
        call_tool("TaskCreate", subject="s", description="d", metadata=nested(levels))
        for levels in (101, 500, 800)
    ]
    calls.append(call_tool("TaskUpdate", taskId="1", metadata=nested(101)))
    played = await play(plan, *calls, call_tool("TaskList"), on_tool_error="raise")
    assert [answer.is_error for answer in played.answers] == [True] * 4 + [False]
    assert "more than 100 levels deep" in played.answers[0].text
    assert await done(plan, "TaskUpdate", taskId="1", metadata=nested(100))
    assert (await plan.tasks())[0].metadata == nested(100)


@pytest.mark.spec("PT-104")
async def test_calls_of_one_reply_do_not_collide(plan: PlanTasks) -> None:
    calls = [("TaskCreate", {"subject": f"s{n}", "description": "d"}) for n in range(20)]
    played = await play(plan, call_tools(*calls))
    assert len({answer.text.split()[1] for answer in played.answers}) == 20
    assert [item.id for item in await plan.tasks()] == [str(n) for n in range(1, 21)]
    # The last event shows the last state, in whatever order the calls ended.
    assert len(played.changes[-1].tasks) == 20
    revisions = [change.revision for change in played.changes]
    assert revisions == sorted(revisions)
