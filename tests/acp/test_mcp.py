"""MCP servers that the client names: connected, asked about, and ended with the session."""

import sys
from pathlib import Path
from typing import Any

import pytest

from taskloom.acp.protocol.tool_calls import BUILT_IN_TOOLS
from taskloom.agent import ScriptedModel, call_tool
from tests.acp.options import choosing, options_of
from tests.acp.wire_client import client_of

SERVER = str(Path(__file__).with_name("mcp_server.py"))
WORDS: dict[str, Any] = {
    "name": "words",
    "command": sys.executable,
    "args": [SERVER],
    "env": [{"name": "GREETING", "value": "hello"}],
}


@pytest.mark.slow
@pytest.mark.spec("AP-307", "AP-305")
async def test_tools_of_a_server_are_offered_and_those_that_write_are_asked_about(
    tmp_path: Path,
) -> None:
    script = [
        call_tool("words_look_up", word="tree"),
        call_tool("words_store", word="leaf"),
        call_tool("words_look_up", word="bad"),
        call_tool("words_look_up", word="die"),
        "done",
    ]
    async with client_of(options_of(script, tmp_path)) as client:
        client.on["session/request_permission"] = choosing("allow_once")
        await client.initialize()
        await client.prompt(await client.new(tmp_path, mcpServers=[WORDS]), "go")

    results = [one for one in client.of(kind="tool_call_update") if "rawOutput" in one]
    assert [one["status"] for one in results] == ["completed", "completed", "failed", "failed"]
    texts = [one["rawOutput"]["text"] for one in results]
    assert texts[:2] == ["look-up tree hello", "store leaf hello"]
    assert "that word is bad" in texts[2]
    assert "Do without this tool" in texts[3]  # Its server has died.
    assert [call["kind"] for call in client.of(kind="tool_call")] == [
        "read",
        "other",
        "read",
        "read",
    ]
    (asked,) = client.asked
    assert asked["params"]["toolCall"]["title"] == "words_store"


@pytest.mark.slow
@pytest.mark.spec("AP-307", "AP-305")
async def test_a_no_keeps_a_tool_of_a_server_from_being_called(tmp_path: Path) -> None:
    script = [call_tool("words_store", word="leaf"), "done"]
    async with client_of(options_of(script, tmp_path)) as client:
        client.on["session/request_permission"] = choosing("reject_once")
        await client.initialize()
        await client.prompt(await client.new(tmp_path, mcpServers=[WORDS]), "go")

    result = client.of(kind="tool_call_update")[-1]
    assert result["status"] == "failed"
    assert "no permission" in result["rawOutput"]["text"]


@pytest.mark.slow
@pytest.mark.spec("AP-307", "AP-310")
async def test_in_ask_mode_only_tools_that_read_are_offered(tmp_path: Path) -> None:
    setup = options_of(["hi"], tmp_path)
    model = setup.make_model(tmp_path)
    assert isinstance(model, ScriptedModel)
    async with client_of(setup) as client:
        await client.initialize()
        session = await client.new(tmp_path, mcpServers=[WORDS])
        await client.request("session/set_mode", sessionId=session, modeId="ask")
        await client.prompt(session, "go")

    names = {tool.name for tool in model.requests[0].tools}
    assert "words_look_up" in names
    assert "words_store" not in names


@pytest.mark.slow
@pytest.mark.spec("AP-307")
async def test_a_tool_of_a_server_takes_no_name_of_ours(tmp_path: Path) -> None:
    server = {**WORDS, "name": "read", "args": [SERVER, "file", "file!", "file?"]}
    (tmp_path / "tree").write_text("oak")
    setup = options_of(
        [call_tool("read_file", path="tree"), call_tool("read_file_2", word="leaf"), "done"],
        tmp_path,
    )
    model = setup.make_model(tmp_path)
    assert isinstance(model, ScriptedModel)
    async with client_of(setup) as client:
        client.on["session/request_permission"] = choosing("allow_once")
        await client.initialize()
        session = await client.new(tmp_path, mcpServers=[server])
        assert await client.prompt(session, "go") == "end_turn"

    names = [tool.name for tool in model.requests[0].tools]
    assert len(names) == len(set(names))
    assert {"read_file", "read_file_2", "read_file_", "read_file__2"} <= {*names}
    results = [one for one in client.of(kind="tool_call_update") if "rawOutput" in one]
    texts = [one["rawOutput"]["text"] for one in results]
    assert "oak" in texts[0]
    assert texts[1] == "file leaf hello"


@pytest.mark.spec("AP-307")
async def test_every_tool_of_ours_has_a_name_that_servers_cannot_have(tmp_path: Path) -> None:
    setup = options_of(["hi"], tmp_path)
    model = setup.make_model(tmp_path)
    assert isinstance(model, ScriptedModel)
    async with client_of(setup) as client:
        await client.initialize()
        await client.prompt(await client.new(tmp_path), "go")

    assert {tool.name for tool in model.requests[0].tools} <= BUILT_IN_TOOLS


@pytest.mark.slow
@pytest.mark.spec("AP-307")
async def test_a_server_that_cannot_be_started_is_told_and_takes_no_other_along(
    tmp_path: Path,
) -> None:
    servers: list[dict[str, Any]] = [
        {"name": "gone", "command": "/no/such/program", "args": [], "env": []},
        {"name": "dies", "command": "false", "args": [], "env": []},
        WORDS,
        {"type": "http", "name": "nobody", "url": "http://127.0.0.1:9/mcp", "headers": []},
    ]
    script = [call_tool("words_look_up", word="tree"), "done"]
    async with client_of(options_of(script, tmp_path)) as client:
        await client.initialize()
        assert await client.prompt(await client.new(tmp_path, mcpServers=servers), "go") == (
            "end_turn"
        )

    for name in ("gone", "dies", "nobody"):
        assert f"Cannot connect the MCP server `{name}`" in client.text()
    assert client.of(kind="tool_call_update")[-1]["rawOutput"]["text"] == "look-up tree hello"
