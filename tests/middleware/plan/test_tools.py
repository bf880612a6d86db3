"""The four tools, as a model uses them."""

import msgspec
import pytest

from taskloom.agent import RunSetup, call_tool, call_tools
from taskloom.files import MemoryFiles
from taskloom.middleware import PlanTasks
from tests.agent.samples import add
from tests.middleware.plan.plan_calls import (
    BASE,
    add_tasks,
    call_error,
    call_ok,
    run_script,
    stored_tasks,
    tasks_by_id,
)


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
        PlanTasks(None, BASE)  # type: ignore[arg-type]  # a wrong type on purpose
    with pytest.raises(ValueError, match="is not a backend: it has no method ls_info"):
        PlanTasks(object(), BASE)  # type: ignore[arg-type]  # a wrong type on purpose
    for empty in ("", "  ", None):
        with pytest.raises(ValueError, match="needs a base_dir"):
            PlanTasks(MemoryFiles(), empty)  # type: ignore[arg-type]  # a wrong type on purpose
    for outside in ("../plans", "a/../../b", "a\0b"):
        with pytest.raises(ValueError, match="is outside the backend"):
            PlanTasks(MemoryFiles(), outside)
    with pytest.raises(ValueError, match="language 'fr' is not supported; use one of en, zh"):
        PlanTasks(MemoryFiles(), "a", language="fr")  # type: ignore[arg-type]  # a wrong type on purpose
    with pytest.raises(ValueError, match="reminder_turns"):
        PlanTasks(MemoryFiles(), BASE, reminder_turns=0)


@pytest.mark.spec("PT-102")
async def test_lists_in_other_directories_are_other_lists(files: MemoryFiles) -> None:
    one, two = PlanTasks(files, "a"), PlanTasks(files, "b")
    await add_tasks(one, 2)
    assert await call_ok(two, "TaskList") == "No tasks found."
    await add_tasks(two, 1)
    assert [item.id for item in await two.tasks()] == ["1"]
    assert [item.id for item in await one.tasks()] == ["1", "2"]


@pytest.mark.spec("PT-301", "PT-302", "PT-310")
async def test_a_task_is_created_and_read(plan: PlanTasks) -> None:
    text = await call_ok(
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
    assert await call_ok(plan, "TaskGet", taskId="1") == (
        "Task #1: Run the tests\nStatus: pending\nDescription: all of them"
    )
    assert await call_ok(plan, "TaskList") == "#1 [pending] Run the tests"


@pytest.mark.spec("PT-301", "PT-311")
@pytest.mark.parametrize("field", ["subject", "description"])
async def test_a_task_needs_subject_and_description(plan: PlanTasks, field: str) -> None:
    given = {"subject": "x", "description": "y"}
    assert f"`{field}` must not be empty" in await call_error(
        plan, "TaskCreate", **{**given, field: " \n"}
    )
    del given[field]
    assert f"missing argument `{field}`" in await call_error(plan, "TaskCreate", **given)
    assert await plan.tasks() == []


@pytest.mark.spec("PT-302", "PT-303", "PT-305", "PT-310")
async def test_edges_are_written_on_both_sides_and_shown(
    plan: PlanTasks, files: MemoryFiles
) -> None:
    await add_tasks(plan, 4)
    text = await call_ok(plan, "TaskUpdate", taskId="2", addBlocks=["3", "3"], addBlockedBy=["1"])
    assert text == "Updated task #2 blocks, blockedBy"
    await call_ok(plan, "TaskUpdate", taskId="2", addBlocks=["3", "4"], owner="ann")
    tasks = await stored_tasks(files)
    assert {id_: (task["blockedBy"], task["blocks"]) for id_, task in tasks.items()} == {
        "1": ([], ["2"]),
        "2": (["1"], ["3", "4"]),
        "3": (["2"], []),
        "4": (["2"], []),
    }
    assert await call_ok(plan, "TaskGet", taskId="2") == (
        "Task #2: task 2\nStatus: pending\nDescription: do it\n"
        "Blocked by: #1\nBlocks: #3, #4\nOwner: ann"
    )
    await call_ok(plan, "TaskUpdate", taskId="1", status="completed")
    await call_ok(plan, "TaskUpdate", taskId="3", addBlockedBy=["1"])
    assert await call_ok(plan, "TaskList") == (
        "#1 [completed] task 1\n"
        "#2 [pending] task 2 [owner: ann]\n"
        "#3 [pending] task 3 [blocked by #2]\n"
        "#4 [pending] task 4 [blocked by #2]"
    )


@pytest.mark.spec("PT-303", "PT-307", "PT-312")
async def test_an_update_names_its_fields_in_order_and_can_clear_them(plan: PlanTasks) -> None:
    await add_tasks(plan, 2)
    text = await call_ok(
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
    text = await call_ok(
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
    assert "unchanged" in await call_ok(plan, "TaskUpdate", taskId="1")
    assert "`subject` must not be empty" in await call_error(
        plan, "TaskUpdate", taskId="1", subject=" "
    )


@pytest.mark.spec("PT-304", "PT-311")
async def test_an_unknown_status_is_refused(plan: PlanTasks) -> None:
    await add_tasks(plan, 1)
    text = await call_error(plan, "TaskUpdate", taskId="1", status="banana", owner="ann")
    assert "pending, in_progress, completed, deleted" in text
    assert [(item.status, item.owner) for item in await plan.tasks()] == [("pending", "")]


@pytest.mark.spec("PT-305", "PT-311")
async def test_wrong_dependencies_are_refused_before_anything_is_written(
    plan: PlanTasks, files: MemoryFiles
) -> None:
    await add_tasks(plan, 3)
    await call_ok(plan, "TaskUpdate", taskId="1", addBlocks=["2"])
    await call_ok(plan, "TaskUpdate", taskId="2", addBlocks=["3"])
    before = await stored_tasks(files)
    for given, reason in (
        ({"addBlocks": ["2", "999"], "owner": "x"}, "no task #999; the tasks are #1, #2, #3"),
        ({"addBlockedBy": ["1"]}, "#1 cannot block itself"),
        ({"addBlocks": ["1"]}, "#1 cannot block itself"),
        ({"addBlockedBy": ["3"]}, "#3 → #1 → #2 → #3"),
        ({"addBlocks": ["3"], "addBlockedBy": ["3"]}, "cycle"),
        ({"addBlocks": ["#2"]}, "`#2` is not a task id"),
        ({"addBlocks": ["2"], "removeBlocks": ["2"]}, "#2: one call cannot both add and remove"),
        ({"removeBlocks": ["x"]}, "`x` is not a task id"),
    ):
        assert reason in await call_error(plan, "TaskUpdate", taskId="1", **given)
    assert await stored_tasks(files) == before


@pytest.mark.spec("PT-305")
async def test_a_cycle_made_by_both_lists_of_one_call_is_refused(plan: PlanTasks) -> None:
    await add_tasks(plan, 3)
    text = await call_error(plan, "TaskUpdate", taskId="1", addBlocks=["2"], addBlockedBy=["2"])
    assert "#1 → #2 → #1" in text
    await call_ok(plan, "TaskUpdate", taskId="2", addBlocks=["3"])
    text = await call_error(plan, "TaskUpdate", taskId="1", addBlocks=["2"], addBlockedBy=["3"])
    assert "cycle" in text
    assert (await tasks_by_id(plan))["1"].blocks == ()


@pytest.mark.spec("PT-305", "PT-312")
async def test_an_edge_can_be_reversed_in_one_call(plan: PlanTasks) -> None:
    await add_tasks(plan, 2)
    await call_ok(plan, "TaskUpdate", taskId="1", addBlocks=["2"])
    await call_ok(plan, "TaskUpdate", taskId="1", removeBlocks=["2"], addBlockedBy=["2"])
    one, two = await plan.tasks()
    assert (one.blocks, one.blocked_by, two.blocks, two.blocked_by) == ((), ("2",), ("1",), ())


@pytest.mark.spec("PT-306", "PT-311")
async def test_a_deleted_task_is_removed_from_all_edges(
    plan: PlanTasks, files: MemoryFiles
) -> None:
    await add_tasks(plan, 3)
    await call_ok(plan, "TaskUpdate", taskId="2", addBlocks=["3"], addBlockedBy=["1"])
    assert (
        await call_ok(plan, "TaskUpdate", taskId="2", status="deleted") == "Updated task #2 deleted"
    )
    tasks = await stored_tasks(files)
    assert list(tasks) == ["1", "3"]
    assert tasks["1"]["blocks"] == tasks["3"]["blockedBy"] == []
    assert "no task #2" in await call_error(plan, "TaskUpdate", taskId="2", status="deleted")
    assert "no task #2" in await call_error(plan, "TaskGet", taskId="2")


@pytest.mark.spec("PT-308")
async def test_a_blocked_task_can_neither_start_nor_complete(
    files: MemoryFiles, plan: PlanTasks
) -> None:
    await add_tasks(plan, 4)
    await call_ok(plan, "TaskUpdate", taskId="3", addBlockedBy=["1", "2"])
    for status in ("in_progress", "completed"):
        text = await call_error(plan, "TaskUpdate", taskId="3", status=status)
        assert "blocked by #1, #2" in text
    text = await call_error(
        plan, "TaskUpdate", taskId="4", status="in_progress", addBlockedBy=["1"]
    )
    assert "blocked by #1" in text
    assert (await tasks_by_id(plan))["4"].blocked_by == ()
    await call_ok(plan, "TaskUpdate", taskId="1", status="completed")
    assert "blocked by #2;" in await call_error(
        plan, "TaskUpdate", taskId="3", status="in_progress"
    )
    await call_ok(plan, "TaskUpdate", taskId="3", status="in_progress", removeBlockedBy=["2"])
    free = PlanTasks(files, BASE, enforce_order=False)
    await call_ok(free, "TaskUpdate", taskId="4", status="completed", addBlockedBy=["2"])


@pytest.mark.spec("PT-309", "PT-202")
async def test_a_finished_list_is_cleared_and_the_answer_says_so(
    plan: PlanTasks, files: MemoryFiles
) -> None:
    await add_tasks(plan, 2)
    await call_ok(plan, "TaskUpdate", taskId="1", status="completed")
    text = await call_ok(plan, "TaskUpdate", taskId="2", status="completed")
    assert text.startswith("Updated task #2 status\n")
    assert "finished and has been cleared" in text
    assert await stored_tasks(files) == {}
    assert await files.read(f"{BASE}/.highwatermark") == "2"
    assert (await call_ok(plan, "TaskCreate", subject="x", description="y")).startswith("Task #3 ")


@pytest.mark.spec("PT-309")
async def test_a_finished_list_can_be_kept(files: MemoryFiles) -> None:
    plan = PlanTasks(files, BASE, keep_completed=True)
    await add_tasks(plan, 1)
    text = await call_ok(plan, "TaskUpdate", taskId="1", status="completed")
    assert text == "Updated task #1 status\nAll tasks are completed: the list is finished."
    assert await call_ok(plan, "TaskList") == "#1 [completed] task 1"


@pytest.mark.spec("PT-310")
async def test_the_list_is_in_the_order_of_numbers(plan: PlanTasks) -> None:
    assert await call_ok(plan, "TaskList") == "No tasks found."
    await add_tasks(plan, 12)
    text = await call_ok(plan, "TaskList", anything="made up")
    assert [line.split()[0] for line in text.splitlines()] == [f"#{n}" for n in range(1, 13)]


async def test_a_subject_cannot_imitate_another_line_of_the_list(plan: PlanTasks) -> None:
    await call_ok(
        plan, "TaskCreate", subject="x\n#2 [completed] y", description="z", metadata={"k": "\0"}
    )
    assert await call_ok(plan, "TaskList") == "#1 [pending] x #2 [completed] y"


@pytest.mark.spec("PT-311", "PT-203")
@pytest.mark.parametrize("mode", ["report", "raise"])
async def test_mistakes_never_end_a_run(plan: PlanTasks, mode: str) -> None:
    await add_tasks(plan, 1)
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
    ran = await run_script(plan, *mistakes, call_tool("TaskList"), on_tool_error=mode)
    assert [answer.is_error for answer in ran.answers] == [True] * len(mistakes) + [False]
    assert all(len(answer.text) > 40 for answer in ran.answers[:-1])
    assert ran.answers[-1].text == "#1 [pending] task 1"
    assert ran.changes == []


def nested(levels: int) -> dict[str, object]:
    found: object = 1
    for _ in range(levels - 1):
        found = [found]
    return {"deep": found}


@pytest.mark.spec("PT-311")
async def test_metadata_nested_too_deeply_is_refused_and_never_ends_the_run(
    plan: PlanTasks,
) -> None:
    await add_tasks(plan, 1)
    calls = [
        call_tool("TaskCreate", subject="s", description="d", metadata=nested(levels))
        for levels in (101, 500, 800)
    ]
    calls.append(call_tool("TaskUpdate", taskId="1", metadata=nested(101)))
    ran = await run_script(plan, *calls, call_tool("TaskList"), on_tool_error="raise")
    assert [answer.is_error for answer in ran.answers] == [True] * 4 + [False]
    assert "more than 100 levels deep" in ran.answers[0].text
    assert await call_ok(plan, "TaskUpdate", taskId="1", metadata=nested(100))
    assert (await plan.tasks())[0].metadata == nested(100)


@pytest.mark.spec("PT-104")
async def test_calls_of_one_reply_do_not_collide(plan: PlanTasks) -> None:
    calls = [("TaskCreate", {"subject": f"s{n}", "description": "d"}) for n in range(20)]
    ran = await run_script(plan, call_tools(*calls))
    assert len({answer.text.split()[1] for answer in ran.answers}) == 20
    assert [item.id for item in await plan.tasks()] == [str(n) for n in range(1, 21)]
    # The last event shows the last state, in whatever order the calls ended.
    assert len(ran.changes[-1].tasks) == 20
    revisions = [change.revision for change in ran.changes]
    assert revisions == sorted(revisions)


@pytest.mark.spec("PT-403")
async def test_every_change_is_an_event_with_the_whole_plan() -> None:
    plan = PlanTasks(MemoryFiles(), BASE)
    ran = await run_script(
        plan,
        call_tool("TaskCreate", subject="Run", description="d", activeForm="Running"),
        call_tool("TaskCreate", subject="Look", description="d"),
        call_tool("TaskList"),
        call_tool("TaskUpdate", taskId="1", status="in_progress"),
        call_tool("TaskUpdate", taskId="1", addBlocks=["1"]),
        call_tool("TaskUpdate", taskId="1"),
        call_tool("TaskUpdate", taskId="2", status="deleted"),
        call_tool("TaskUpdate", taskId="1", status="completed"),
    )
    states = [[(item.id, item.status) for item in change.tasks] for change in ran.changes]
    assert states == [
        [("1", "pending")],
        [("1", "pending"), ("2", "pending")],
        [("1", "in_progress"), ("2", "pending")],
        [("1", "in_progress")],
        [("1", "completed")],
    ]
    assert ran.changes[2].tasks[0].active_form == "Running"
    assert [change.finished for change in ran.changes] == [False] * 4 + [True]
    assert await plan.tasks() == []
    assert b'"activeForm":"Running"' in msgspec.json.encode(ran.changes[2])
