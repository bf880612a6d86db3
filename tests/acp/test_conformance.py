"""The official conformance list, asked of the program from outside: one fresh process for each.

The ids are those of the protocol's own test kit. What it leaves to capabilities is asked for each
capability that is announced here.
"""

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.acp.options import choosing
from tests.acp.wire_client import LONG_S, AgentProcess, RawClient, WireError, process_of

pytestmark = [pytest.mark.slow, pytest.mark.spec("AP-309")]


@asynccontextmanager
async def agent(folder: Path, **capabilities: Any) -> AsyncGenerator[AgentProcess]:
    """The program, initialized."""
    command = (sys.executable, "-m", "tests.acp.scripted_agent", str(folder / "index"))
    async with process_of(*command) as started:
        started.client.on["session/request_permission"] = choosing("allow_once")
        await started.client.initialize(**capabilities)
        yield started


async def ask_raw(client: RawClient, message: dict[str, Any]) -> dict[str, Any]:
    client.send(message)
    with anyio.fail_after(LONG_S):
        return await client.strays.get()


async def test_transport_and_json_rpc(tmp_path: Path) -> None:
    """TRANSPORT-001, -002; JSONRPC-001 to -005; EXT-001; SCHEMA-002; META-001; ERROR-001."""
    async with agent(tmp_path) as started:
        client = started.client
        for id_ in (7, "seven", -1, 2**53, ""):
            message: dict[str, Any] = {
                "jsonrpc": "2.0",
                "id": id_,
                "method": "session/list",
                "params": {},
            }
            answer = await ask_raw(client, message)
            assert answer["id"] == id_
            assert type(answer["id"]) is type(id_)
            assert ("result" in answer) != ("error" in answer)
        for method in ("no/such/method", "_mine/thing"):
            message = {"jsonrpc": "2.0", "id": method, "method": method}
            answer = await ask_raw(client, message)
            assert answer["error"]["code"] == -32601
            assert isinstance(answer["error"]["message"], str)
        for method in ("no/such/notification", "_mine/notification", "$/cancel_request"):
            client.notify(method, requestId=1)
        meta = {"traceparent": "00-1-1-01", "tracestate": "a=b", "baggage": "c=d", "x": [1]}
        session = await client.new(tmp_path, _meta=meta)
        assert await client.prompt(session, "say fine") == "end_turn"
        assert client.strays.empty()


@pytest.mark.spec("AP-301")
@pytest.mark.parametrize("version", [1, 2, 0, 65535])
async def test_initialize(tmp_path: Path, version: int) -> None:
    """INIT-001 to -004; AUTH-001, -002, -005."""
    async with agent(tmp_path) as started:
        answer = await started.client.request("initialize", protocolVersion=version)
        assert answer["protocolVersion"] == 1
        assert answer["agentInfo"]["name"]
        assert answer["agentInfo"]["version"]
        assert answer["authMethods"] == []
        await started.client.new(tmp_path)


@pytest.mark.spec("AP-302")
async def test_sessions(tmp_path: Path) -> None:
    """SESSION-001, -002; LIST-001, -002; CLOSE-001, -002; DELETE-001, -002; ADDDIRS-001."""
    async with agent(tmp_path) as started:
        client = started.client
        other = tmp_path / "other"
        other.mkdir()
        ids = [await client.new(tmp_path, additionalDirectories=[str(other)]) for _ in range(3)]
        assert len(set(ids)) == 3
        assert all(ids)
        listed = await client.request("session/list", cwd=str(tmp_path))
        assert {one["sessionId"] for one in listed["sessions"]} == set(ids)
        assert (await client.request("session/list", cwd=str(other)))["sessions"] == []
        answer = client.begin_prompt(ids[0], "wait")
        await client.until(lambda: client.of(ids[0], "session_info_update"))
        await client.request("session/close", sessionId=ids[0])
        assert await answer == {"stopReason": "cancelled"}
        await client.request("session/delete", sessionId=ids[1])
        await client.request("session/delete", sessionId="unknown")
        left = (await client.request("session/list", cwd=str(tmp_path)))["sessions"]
        assert ids[1] not in {one["sessionId"] for one in left}


@pytest.mark.spec("AP-302", "AP-110")
async def test_load_and_resume_in_a_new_process(tmp_path: Path) -> None:
    """LOAD-001 to -003; RESUME-001, -002."""
    async with agent(tmp_path) as started:
        session = await started.client.new(tmp_path)
        arguments = json.dumps({"subject": "One", "description": "d"})
        await started.client.prompt(session, f"call TaskCreate {arguments}")
    async with agent(tmp_path) as started:
        client = started.client
        answer = await client.request(
            "session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[]
        )
        assert isinstance(answer, dict)
        told = [one["sessionUpdate"] for one in client.told_before_answer("session/load")]
        assert told == [
            "user_message_chunk",
            "tool_call",
            "tool_call_update",
            "agent_message_chunk",
            "plan",
        ]
    async with agent(tmp_path) as started:
        client = started.client
        await client.request("session/resume", sessionId=session, cwd=str(tmp_path))
        assert client.told_before_answer("session/resume") == []
        assert await client.prompt(session, "say on") == "end_turn"


@pytest.mark.spec("AP-310")
async def test_modes_and_options(tmp_path: Path) -> None:
    """MODES-001, -002; CONFIG-001 to -003."""
    async with agent(tmp_path) as started:
        client = started.client
        answer = await client.request("session/new", cwd=str(tmp_path), mcpServers=[])
        modes = answer["modes"]
        assert modes["currentModeId"] in {mode["id"] for mode in modes["availableModes"]}
        session = answer["sessionId"]
        for mode in modes["availableModes"]:
            await client.request("session/set_mode", sessionId=session, modeId=mode["id"])
        for option in answer["configOptions"]:
            assert option["type"] == "select"
            for value in option["options"]:
                changed = await client.request(
                    "session/set_config_option",
                    sessionId=session,
                    configId=option["id"],
                    value=value["value"],
                )
                assert len(changed["configOptions"]) == len(answer["configOptions"])
                assert client.of(kind="current_mode_update")[-1]["currentModeId"] == value["value"]


@pytest.mark.spec("AP-303")
async def test_prompts(tmp_path: Path) -> None:
    """PROMPT-001 to -003; PROMPTCAP-image, -embeddedContext; prompts of what is not announced."""
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # noqa: E501 - one picture
    blocks: list[list[dict[str, Any]]] = [
        [{"type": "text", "text": "say hello"}],
        [
            {"type": "text", "text": "say"},
            {"type": "resource_link", "name": "a", "uri": "file:///a"},
        ],
        [{"type": "image", "mimeType": "image/png", "data": png}],
        [
            {
                "type": "resource",
                "resource": {"uri": "file:///b", "text": "content", "mimeType": "text/plain"},
            }
        ],
    ]
    async with agent(tmp_path) as started:
        client = started.client
        session = await client.new(tmp_path)
        for prompt in blocks:
            answer = await client.request("session/prompt", sessionId=session, prompt=prompt)
            assert answer == {"stopReason": "end_turn"}
        assert {name for name, _ in client.updates} == {session}
        audio = [{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}]
        with pytest.raises(WireError) as error:
            await client.request("session/prompt", sessionId=session, prompt=audio)
        assert error.value.code == -32602


@pytest.mark.spec("AP-304")
async def test_cancel(tmp_path: Path) -> None:
    """CANCEL-001, -002."""
    async with agent(tmp_path) as started:
        client = started.client
        session = await client.new(tmp_path)
        answer = client.begin_prompt(session, "wait")
        await client.until(lambda: client.of(kind="session_info_update"))
        client.notify("session/cancel", sessionId=session)
        assert await answer == {"stopReason": "cancelled"}
        count = len(client.updates)
        await client.request("session/list")
        assert len(client.updates) == count
        assert await client.prompt(session, "say more") == "end_turn"


@pytest.mark.spec("AP-306")
async def test_client_methods_are_left_alone_unless_announced(tmp_path: Path) -> None:
    """CLIENTCAP-001 to -003."""
    (tmp_path / "a.txt").write_text("text")
    async with agent(tmp_path) as started:
        client = started.client
        session = await client.new(tmp_path)
        await client.prompt(session, 'call read_file {"path": "a.txt"}')
        await client.prompt(session, 'call run_command {"argv": ["true"]}')
        asked = {message["method"] for message in client.asked}
        assert asked == {"session/request_permission"}


@pytest.mark.spec("AP-308")
async def test_the_process_ends_when_its_input_closes(tmp_path: Path) -> None:
    """SHUTDOWN-001."""
    async with agent(tmp_path) as started:
        session = await started.client.new(tmp_path)
        await started.client.prompt(session, "say hello")
        started.client.hang_up()
        assert await started.left() == 0
        assert started.stderr == b""
