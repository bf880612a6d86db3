"""The texts for the model in both languages, and their cost in tokens."""

import string
from collections.abc import Iterator

import msgspec
import pytest

from taskloom.agent import (
    Agent,
    RunSetup,
    ScriptedModel,
    Tool,
    call_tool,
    set_language,
)
from taskloom.files import MemoryFiles
from taskloom.middleware import PlanTasks
from taskloom.middleware.plan.plan_texts import EN, ZH
from tests.middleware.plan.plan_calls import (
    BASE,
    call_ok,
)


async def tools_of(plan: PlanTasks) -> list[Tool]:
    setup = RunSetup("r1", "", [], set())
    await plan.before_agent(setup)
    return [tool for tool in setup.tools if isinstance(tool, Tool)]


@pytest.fixture
def restored() -> Iterator[None]:
    yield
    set_language("en")


def fields(text: str) -> set[str]:
    # Examples in a description have JSON braces and no placeholders.
    if '{"' in text:
        return set()
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.spec("PT-105")
def test_each_text_has_the_same_placeholders_in_both_languages() -> None:
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
    text = await call_ok(plan, "TaskCreate", subject="甲", description="乙")
    assert text == ZH.created.format(id="1", subject="甲")
    assert await call_ok(plan, "TaskList") == "#1 [pending] 甲"


@pytest.mark.spec("PT-105")
async def test_planning_uses_the_language_of_the_agent() -> None:
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
