"""Cost, languages, reminders and events of planning."""

import os
import string
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from taskloom.agent import (
    Agent,
    Message,
    RunSetup,
    ScriptedModel,
    State,
    Tool,
    before_model,
    call_tool,
    set_language,
)
from taskloom.files import LocalFiles, MemoryFiles
from taskloom.middleware import PlanTasks
from taskloom.middleware.plan.plan_texts import EN, ZH
from tests.middleware.plan.scene import BASE, Faulty, done, planned, play, refused


async def tools_of(plan: PlanTasks) -> list[Tool]:
    setup = RunSetup("r1", "", [], set())
    await plan.before_agent(setup)
    return [tool for tool in setup.tools if isinstance(tool, Tool)]


@pytest.fixture
def restored() -> Iterator[None]:
    yield
    set_language("en")


def fields(text: str) -> set[str]:
    # Examples in a description have braces of JSON, and nothing is filled in there.
    if '{"' in text:
        return set()
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.spec("PT-105")
def test_each_text_fills_in_the_same_in_both_languages() -> None:
    for name in EN.__struct_fields__:
        english, chinese = getattr(EN, name), getattr(ZH, name)
        assert fields(english) == fields(chinese), name
        assert any("一" <= char <= "鿿" for char in chinese), name


@pytest.mark.spec("PT-105")
async def test_the_language_is_read_when_the_tools_are_built(restored: None) -> None:
    plan, chinese = PlanTasks(MemoryFiles(), BASE), PlanTasks(MemoryFiles(), BASE, language="zh")
    for one, there in ((plan, False), (chinese, True)):
        for tool in await tools_of(one):
            assert ("任务" in tool.info.description) is there
            for name, schema in tool.info.parameters["properties"].items():
                assert any("一" <= char <= "鿿" for char in schema["description"]) is there, name
    set_language("zh")
    assert "任务" in (await tools_of(plan))[0].info.description
    text = await done(plan, "TaskCreate", subject="甲", description="乙")
    assert text == ZH.created.format(id="1", subject="甲")
    assert await done(plan, "TaskList") == "#1 [pending] 甲"


@pytest.mark.spec("PT-105")
async def test_an_agent_of_another_language_takes_its_planning_along() -> None:
    plan = PlanTasks(MemoryFiles(), BASE, reminder_turns=1)
    one = call_tool("TaskCreate", subject="甲", description="乙")
    model = ScriptedModel([one, call_tool("TaskNone"), "done"])
    run = await Agent(model, middleware=[plan], language="zh").invoke("go")
    assert all("任务" in info.description for info in model.requests[0].tools)
    assert run.messages[2].text == ZH.created.format(id="1", subject="甲")
    assert ZH.reminder in model.requests[-1].messages[-1].text
    english = ScriptedModel(["done"])
    await Agent(english, middleware=[plan]).invoke("go")
    assert english.requests[0].tools[0].description == EN.create


@pytest.mark.spec("PT-404")
async def test_planning_costs_few_tokens_and_leaves_the_prompt_alone() -> None:
    plan = PlanTasks(MemoryFiles(), BASE)
    infos = [tool.info for tool in await tools_of(plan)]
    assert len(msgspec.json.encode(infos)) / 4 <= 1500
    model = ScriptedModel([call_tool("TaskCreate", subject="x", description="y"), "a", "b"])
    agent = Agent(model, instruction="Be brief.", middleware=[plan])
    await agent.invoke("go")
    first, second = model.requests
    assert first.instruction == second.instruction == "Be brief."
    assert first.tools == second.tools
    assert list(second.messages[: len(first.messages)]) == list(first.messages)


# Cost.


@pytest.mark.spec("PT-401")
async def test_a_call_reads_no_more_because_the_list_is_long() -> None:
    costs: list[tuple[int, int, int]] = []
    for size in (10, 300):
        files = MemoryFiles()
        for number in range(1, size + 1):
            await files.write(
                f"{BASE}/{number}.json", f'{{"id":"{number}","subject":"s","description":"d"}}'
            )
        counting = Faulty(files, ())
        plan = PlanTasks(counting, BASE)
        await done(plan, "TaskGet", taskId="1")
        assert counting.reads >= size
        counting.reads = counting.writes = counting.listings = 0
        await done(plan, "TaskUpdate", taskId="2", addBlocks=["3"], addBlockedBy=["1"])
        await done(plan, "TaskUpdate", taskId="4", status="completed")
        await done(plan, "TaskUpdate", taskId="5", status="deleted")
        await done(plan, "TaskCreate", subject="x", description="y")
        await done(plan, "TaskGet", taskId="2")
        costs.append((counting.reads, counting.writes, counting.listings))
        counting.reads = 0
        await done(plan, "TaskList")
        assert counting.reads == 2, "the marker, and the highest id"
    assert costs[0] == costs[1]
    assert costs[0][0] == 5, "the marker, once a call"
    assert costs[0][2] == 0


@pytest.mark.spec("PT-401", "PT-104")
async def test_changes_of_others_are_seen(tmp_path: Path) -> None:
    one, two = (PlanTasks(LocalFiles(tmp_path), "s1") for _ in range(2))
    await planned(one, 3)
    assert len(await two.tasks()) == 3
    for number in range(40):
        await done(one, "TaskUpdate", taskId="1", metadata={"n": number})
        await done(two, "TaskUpdate", taskId="2", owner=f"owner {number}")
    assert "Owner: owner 39" in await done(one, "TaskGet", taskId="2")
    for number in range(40):  # More than the marker remembers.
        await done(one, "TaskUpdate", taskId="3", owner=f"owner {number}")
    assert "Owner: owner 39" in await done(two, "TaskGet", taskId="3")
    # What a call depends on, without touching it: a circle over others' edges.
    await planned(one, 4)
    for blocker, blocked in (("4", "5"), ("6", "7")):
        await done(one, "TaskUpdate", taskId=blocker, addBlocks=[blocked])
    assert len(await two.tasks()) == 7
    await done(one, "TaskUpdate", taskId="5", addBlocks=["6"])
    text = await refused(two, "TaskUpdate", taskId="7", addBlocks=["4"])
    assert "#7 → #4 → #5 → #6 → #7" in text
    await done(two, "TaskUpdate", taskId="3", addBlockedBy=["1", "2"])
    await done(one, "TaskUpdate", taskId="1", status="completed")
    await done(one, "TaskUpdate", taskId="2", removeBlocks=["3"])
    await done(two, "TaskUpdate", taskId="3", status="in_progress")


@pytest.mark.spec("PT-401", "PT-201")
async def test_what_other_programs_write_is_seen(tmp_path: Path) -> None:
    plan = PlanTasks(LocalFiles(tmp_path), "s1")
    await planned(plan, 2)
    folder = tmp_path / "s1"
    text = (folder / "1.json").read_text()
    # In place, as the Go program does; seen by whoever touches the task, or shows all.
    (folder / "1.json").write_text(text.replace("pending", "in_progress"))
    assert "Status: in_progress" in await done(plan, "TaskGet", taskId="1")
    (folder / "2.json").write_text(text.replace('"1"', '"2"').replace("task 1", "another task"))
    assert "another task" in await done(plan, "TaskList")
    await done(plan, "TaskUpdate", taskId="2", addBlockedBy=["1"])
    text = (folder / "1.json").read_text()
    (folder / "1.json").write_text(text.replace("in_progress", "completed"))
    await done(plan, "TaskUpdate", taskId="2", status="in_progress")
    # A new file, and one that goes.
    text = text.replace('["2"]', "[]")
    (folder / "7.json").write_text(text.replace('"1"', '"7"'))
    os.utime(folder, ns=(0, 1))  # A clock may tick too slowly to tell.
    assert "Task #8 " in await done(plan, "TaskCreate", subject="x", description="y")
    (folder / "7.json").unlink()
    os.utime(folder, ns=(0, 2))
    assert [item.id for item in await plan.tasks()] == ["1", "2", "8"]


async def test_a_list_is_not_finished_while_another_program_has_opened_a_task(
    tmp_path: Path,
) -> None:
    plan = PlanTasks(LocalFiles(tmp_path), "s1")
    await planned(plan, 2)
    await done(plan, "TaskUpdate", taskId="1", status="completed")
    file = tmp_path / "s1" / "1.json"
    file.write_text(file.read_text().replace("completed", "in_progress"))
    text = await done(plan, "TaskUpdate", taskId="2", status="completed")
    assert text == "Updated task #2 status"
    assert [item.status for item in await plan.tasks()] == ["in_progress", "completed"]


# Reminders.


def talk(turns: int) -> list[Message]:
    """A conversation of so many turns about something else."""
    return [call_tool("TaskGet", taskId="1")] + [call_tool("nothing")] * turns


async def requests(plan: PlanTasks, *script: Message, **options: object) -> list[list[Message]]:
    model = ScriptedModel([*script, "done"])
    agent = Agent(model, middleware=[plan], max_iterations=1000, **options)  # type: ignore[arg-type]  # test options
    await agent.invoke("go")
    return [list(request.messages) for request in model.requests]


def reminders(messages: list[Message]) -> list[int]:
    return [n for n, one in enumerate(messages) if one.text.startswith("<task-reminder>")]


@pytest.mark.spec("PT-402")
async def test_a_model_that_forgets_its_tasks_is_reminded_in_time() -> None:
    plan = PlanTasks(MemoryFiles(), BASE)
    await planned(plan, 2)
    await done(plan, "TaskUpdate", taskId="1", status="completed")
    asked = await requests(plan, *talk(25))
    due = [n for n, messages in enumerate(asked) if reminders(messages[-1:])]
    assert due == [11, 21]
    text = asked[11][-1].text
    assert "#2 [pending] task 2" in text
    assert "#1" not in text
    # What was sent before is never changed: the provider's cache goes on working.
    for before, after in pairwise(asked):
        assert after[: len(before)] == before
    assert len(reminders(asked[-1])) == 2


@pytest.mark.spec("PT-402")
async def test_no_reminder_without_open_tasks_or_when_switched_off_or_without_the_tools() -> None:
    files = MemoryFiles()
    plan, never = PlanTasks(files, BASE), PlanTasks(files, BASE, reminder_turns=None)
    assert not reminders((await requests(plan, *talk(15)))[-1])
    await planned(plan, 1)
    assert not reminders((await requests(never, *talk(15)))[-1])
    assert reminders((await requests(PlanTasks(files, BASE, reminder_turns=3), *talk(4)))[-1])

    @before_model
    async def hide(state: State) -> None:
        state.tools = []

    model = ScriptedModel([*talk(15), "done"])
    await Agent(model, middleware=[hide, plan], max_iterations=99).invoke("go")
    assert not reminders(list(model.requests[-1].messages))


@pytest.mark.spec("PT-402")
async def test_a_model_whose_tasks_were_cut_from_the_conversation_is_reminded_at_once() -> None:
    plan = PlanTasks(MemoryFiles(), BASE)
    await planned(plan, 1)

    @before_model
    async def forget(state: State) -> None:
        if len(state.messages) > 4:
            state.messages[:] = [Message.user("In short: go on.")]

    model = ScriptedModel([*talk(2), "done"])
    await Agent(model, middleware=[forget, plan], max_iterations=99).invoke("go")
    found = [bool(reminders(list(request.messages))) for request in model.requests]
    assert found == [False, False, True, True]


@pytest.mark.spec("PT-402")
async def test_a_reminder_is_short_and_its_failure_ends_no_run() -> None:
    files = MemoryFiles()
    plan = PlanTasks(files, BASE)
    for number in range(1, 101):
        await files.write(
            f"{BASE}/{number}.json", f'{{"id":"{number}","subject":"s","description":"d"}}'
        )
    text = (await requests(plan, *talk(10)))[-1][-1].text
    assert "and 80 more" in text
    assert len(text) < 1000

    class Broken(MemoryFiles):
        async def read(self, path: str, offset: int = 0, limit: int | None = None) -> str:
            raise OSError("no connection")

    assert not reminders((await requests(PlanTasks(Broken(), BASE), *talk(12)))[-1])


# Events.


@pytest.mark.spec("PT-403")
async def test_every_change_is_an_event_with_the_whole_plan() -> None:
    plan = PlanTasks(MemoryFiles(), BASE)
    played = await play(
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
    states = [[(item.id, item.status) for item in change.tasks] for change in played.changes]
    assert states == [
        [("1", "pending")],
        [("1", "pending"), ("2", "pending")],
        [("1", "in_progress"), ("2", "pending")],
        [("1", "in_progress")],
        [("1", "completed")],
    ]
    assert played.changes[2].tasks[0].active_form == "Running"
    assert [change.finished for change in played.changes] == [False] * 4 + [True]
    assert await plan.tasks() == []
    assert b'"activeForm":"Running"' in msgspec.json.encode(played.changes[2])
