"""Reminders of open tasks."""

from itertools import pairwise

import pytest

from taskloom.agent import (
    Agent,
    Message,
    ScriptedModel,
    State,
    before_model,
    call_tool,
)
from taskloom.files import MemoryFiles
from taskloom.middleware import PlanTasks
from tests.middleware.plan.plan_calls import (
    BASE,
    add_tasks,
    call_ok,
)


def talk(turns: int) -> list[Message]:
    """A conversation with this many replies that do not use the list."""
    return [call_tool("TaskGet", taskId="1")] + [call_tool("nothing")] * turns


async def requests(plan: PlanTasks, *script: Message, **options: object) -> list[list[Message]]:
    model = ScriptedModel([*script, "done"])
    agent = Agent(model, middleware=[plan], max_iterations=1000, **options)  # type: ignore[arg-type]  # test options
    await agent.invoke("go")
    return [list(request.messages) for request in model.requests]


def reminders(messages: list[Message]) -> list[int]:
    return [n for n, one in enumerate(messages) if one.text.startswith("<task-reminder>")]


@pytest.mark.spec("PT-402")
async def test_a_model_that_does_not_use_its_list_is_reminded() -> None:
    plan = PlanTasks(MemoryFiles(), BASE)
    await add_tasks(plan, 2)
    await call_ok(plan, "TaskUpdate", taskId="1", status="completed")
    asked = await requests(plan, *talk(25))
    due = [n for n, messages in enumerate(asked) if reminders(messages[-1:])]
    assert due == [11, 21]
    text = asked[11][-1].text
    assert "#2 [pending] task 2" in text
    assert "#1" not in text
    # Earlier messages never change, so that the provider's cache stays valid.
    for before, after in pairwise(asked):
        assert after[: len(before)] == before
    assert len(reminders(asked[-1])) == 2


@pytest.mark.spec("PT-402")
async def test_no_reminder_without_open_tasks_or_when_switched_off_or_without_the_tools() -> None:
    files = MemoryFiles()
    plan, never = PlanTasks(files, BASE), PlanTasks(files, BASE, reminder_turns=None)
    assert not reminders((await requests(plan, *talk(15)))[-1])
    await add_tasks(plan, 1)
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
    await add_tasks(plan, 1)

    @before_model
    async def forget(state: State) -> None:
        if len(state.messages) > 4:
            state.messages[:] = [Message.user("In short: continue.")]

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
