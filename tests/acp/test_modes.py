"""Modes and slash commands: announced, and worth what they say."""

from pathlib import Path
from typing import Any

import pytest

from taskloom.agent import ScriptedModel, call_tool
from tests.acp.options import choosing, options_of
from tests.acp.wire_client import RawClient, WireError, client_of

WRITING = {"write_file", "edit_file", "run_command"}
PLANNING = {"TaskCreate", "TaskUpdate", "TaskGet", "TaskList", "publish_plan", "dismiss_plan"}


@pytest.mark.spec("AP-310")
async def test_modes_and_options_are_announced_and_kept_in_step(tmp_path: Path) -> None:
    async with client_of(options_of([], tmp_path)) as client:
        await client.initialize()
        answer = await client.request("session/new", cwd=str(tmp_path), mcpServers=[])
        session = answer["sessionId"]
        modes = [mode["id"] for mode in answer["modes"]["availableModes"]]
        assert modes == ["code", "ask", "plan"]  # Nothing can orchestrate here: no workers.
        assert answer["modes"]["currentModeId"] == "code"
        (option,) = answer["configOptions"]
        assert [one["value"] for one in option["options"]] == modes
        await client.request("session/set_mode", sessionId=session, modeId="ask")
        changed = client.of(kind="config_option_update")[-1]["configOptions"]
        assert changed[0]["currentValue"] == "ask"
        answer = await client.request(
            "session/set_config_option", sessionId=session, configId="mode", value="plan"
        )
        assert answer["configOptions"][0]["currentValue"] == "plan"
        assert client.of(kind="current_mode_update")[-1]["currentModeId"] == "plan"


@pytest.mark.spec("AP-310")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/set_mode", {"modeId": "orchestrate"}),
        ("session/set_mode", {"modeId": ""}),
        ("session/set_config_option", {"configId": "mode", "value": "yolo"}),
        ("session/set_config_option", {"configId": "model", "value": "ask"}),
    ],
)
async def test_a_mode_or_option_that_is_not_there_is_refused(
    tmp_path: Path, method: str, params: dict[str, Any]
) -> None:
    async with client_of(options_of([], tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        with pytest.raises(WireError, match="There is no") as error:
            await client.request(method, sessionId=session, **params)
        assert error.value.code == -32602


async def offered(client: RawClient, model: ScriptedModel, session: str) -> set[str]:
    await client.prompt(session, "hi")
    return {tool.name for tool in model.requests[-1].tools}


@pytest.mark.spec("AP-310")
async def test_each_mode_has_the_tools_it_says(tmp_path: Path) -> None:
    setup = options_of(lambda _: "hello", tmp_path)
    model = setup.make_model(tmp_path)
    assert isinstance(model, ScriptedModel)
    async with client_of(setup) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        assert await offered(client, model, session) >= WRITING | PLANNING
        await client.request("session/set_mode", sessionId=session, modeId="ask")
        assert await offered(client, model, session) == {"read_file", "list_dir", "search"}
        await client.request("session/set_mode", sessionId=session, modeId="plan")
        plan = await offered(client, model, session)
        assert plan & WRITING == set()
        assert plan >= PLANNING


@pytest.mark.spec("AP-310")
async def test_in_ask_mode_a_model_that_tries_to_write_cannot(tmp_path: Path) -> None:
    script = [call_tool("write_file", path="a.txt", content="x"), "oh"]
    async with client_of(options_of(script, tmp_path)) as client:
        client.on["session/request_permission"] = choosing("allow_once")
        await client.initialize()
        session = await client.new(tmp_path)
        await client.request("session/set_mode", sessionId=session, modeId="ask")
        await client.prompt(session, "go")

    assert not (tmp_path / "a.txt").exists()
    assert client.asked == []


@pytest.mark.spec("AP-310", "AP-302")
async def test_a_mode_outlives_the_process(tmp_path: Path) -> None:
    async with client_of(options_of([], tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        await client.request("session/set_mode", sessionId=session, modeId="plan")
    async with client_of(options_of([], tmp_path)) as client:
        await client.initialize()
        answer = await client.request("session/resume", sessionId=session, cwd=str(tmp_path))

    assert answer["modes"]["currentModeId"] == "plan"


@pytest.mark.spec("AP-310")
async def test_commands_are_announced_after_the_session_is_there(tmp_path: Path) -> None:
    async with client_of(options_of([], tmp_path)) as client:
        await client.initialize()
        await client.new(tmp_path)
        await client.until(lambda: client.of(kind="available_commands_update"))
        assert client.told_before_answer("session/new") == []

    (update,) = client.of(kind="available_commands_update")
    names = [command["name"] for command in update["availableCommands"]]
    assert names == ["plan", "board", "tasks"]


@pytest.mark.spec("AP-310")
async def test_plan_with_a_goal_plans_and_cannot_write(tmp_path: Path) -> None:
    setup = options_of([call_tool("TaskCreate", subject="One", description="d"), "ok"], tmp_path)
    model = setup.make_model(tmp_path)
    assert isinstance(model, ScriptedModel)
    async with client_of(setup) as client:
        await client.initialize()
        await client.prompt(await client.new(tmp_path), "/plan build a boat")

    assert model.requests[0].messages[-1].text == "build a boat"
    assert {tool.name for tool in model.requests[0].tools} & WRITING == set()
    assert client.plans()[-1] == [("One", "pending")]


@pytest.mark.spec("AP-310")
async def test_plan_tasks_and_board_are_answered_without_the_model(tmp_path: Path) -> None:
    script = [
        call_tool("TaskCreate", subject="One", description="d"),
        call_tool("publish_plan", id="d", kind="markdown", content="# Design"),
        "planned",
    ]
    async with client_of(options_of(script, tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        said: list[str] = []
        for prompt in ("/plan", "/tasks", "/board", "make a plan", "/plan", "/tasks"):
            before = len(client.text())
            assert await client.prompt(session, prompt) == "end_turn"
            said.append(client.text()[before:])

    assert "no plan yet" in said[0]
    assert said[1] == "There are no tasks."
    assert "no board" in said[2]
    assert "- [ ] One" in said[4]
    assert "# Design" in said[4]
    assert said[5] == "- [ ] #1 One"


@pytest.mark.spec("AP-310")
@pytest.mark.parametrize("text", ["/nonsense", "/planet", "/ plan", "plan", "a /plan", "/boards x"])
async def test_what_only_looks_like_a_command_goes_to_the_model(tmp_path: Path, text: str) -> None:
    setup = options_of(["heard"], tmp_path)
    model = setup.make_model(tmp_path)
    assert isinstance(model, ScriptedModel)
    async with client_of(setup) as client:
        await client.initialize()
        await client.prompt(await client.new(tmp_path), text)

    assert model.requests[0].messages[-1].text == text


async def test_what_a_command_said_is_shown_again_on_load(tmp_path: Path) -> None:
    async with client_of(options_of([], tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        await client.prompt(session, "/tasks")
    async with client_of(options_of([], tmp_path)) as client:
        await client.initialize()
        await client.request("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])

    assert client.text("user_message_chunk") == "/tasks"
    assert client.text() == "There are no tasks."
