"""The program as a program: killed, cut off, printed at, and driven by the SDK's own client."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import acp
import anyio
import pytest
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    Implementation,
    PlanCapabilities,
    RequestPermissionResponse,
    TextContentBlock,
)

from tests.acp.options import choosing
from tests.acp.wire_client import LONG_S, WireError, process_of, read_fifo

pytestmark = pytest.mark.slow
CREATE = '{"subject": "One", "description": "d"}'


def scripted(folder: Path) -> tuple[str, ...]:
    return (sys.executable, "-m", "tests.acp.scripted_agent", str(folder / "index"))


@pytest.mark.spec("AP-302")
async def test_a_process_that_is_killed_in_a_turn_loses_at_most_that_turn(tmp_path: Path) -> None:
    async with process_of(*scripted(tmp_path)) as one:
        await one.client.initialize()
        session = await one.client.new(tmp_path)
        await one.client.prompt(session, "say the first answer")
        one.client.begin_prompt(
            session, "calls list_dir; TaskCreate " + CREATE + "; run_command {}"
        )
        one.client.begin_prompt(await one.client.new(tmp_path), "wait")
        await one.client.until(lambda: one.client.of(kind="plan"))
        os.kill(one.process.pid, signal.SIGKILL)
        await one.left()
    async with process_of(*scripted(tmp_path)) as two:
        client = two.client
        await client.initialize()
        await client.request("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])
        assert client.text().startswith("the first answer")
        assert client.plans()[-1] == [("One", "pending")]
        assert await client.prompt(session, "say still here") == "end_turn"
        assert client.text().endswith("still here")


@pytest.mark.spec("AP-308")
async def test_whatever_is_printed_never_reaches_the_wire(tmp_path: Path) -> None:
    async with process_of(*scripted(tmp_path)) as agent:
        agent.client.on["session/request_permission"] = choosing("allow_once")
        await agent.client.initialize()
        session = await agent.client.new(tmp_path)
        assert await agent.client.prompt(session, "print {not json}") == "end_turn"
        await agent.client.prompt(session, 'call run_command {"argv": ["echo", "loud"]}')
        agent.client.hang_up()
        await agent.left()

    assert agent.stderr.count(b"{not json}") == 2


@pytest.mark.spec("AP-308", "AP-302")
async def test_a_client_that_hangs_up_in_a_turn_ends_the_process_and_loses_nothing(
    tmp_path: Path,
) -> None:
    async with process_of(*scripted(tmp_path)) as agent:
        await agent.client.initialize()
        session = await agent.client.new(tmp_path)
        waiting = agent.client.begin_prompt(session, "wait")
        await agent.client.until(lambda: agent.client.of(kind="session_info_update"))
        agent.client.hang_up()
        assert await agent.left() == 0
        assert await waiting == {"stopReason": "cancelled"}
    async with process_of(*scripted(tmp_path)) as agent:
        await agent.client.initialize()
        await agent.client.request(
            "session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[]
        )
        assert agent.client.text("user_message_chunk") == "wait"


@pytest.mark.spec("AP-308")
async def test_input_from_a_file_is_answered_whole(tmp_path: Path) -> None:
    lines = [
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}',
        "{garbage",
        '{"jsonrpc":"2.0","id":2,"method":"session/list"}',
    ]
    script, out = tmp_path / "in", tmp_path / "out"
    script.write_text("\n".join(lines))
    with script.open("rb") as given, out.open("wb") as taken:
        process = await asyncio.create_subprocess_exec(
            *scripted(tmp_path), stdin=given, stdout=taken, stderr=asyncio.subprocess.DEVNULL
        )
        with anyio.fail_after(LONG_S):
            assert await process.wait() == 0

    answers = out.read_text()
    assert '"protocolVersion":1' in answers
    assert "-32700" in answers
    assert '{"jsonrpc":"2.0","id":2,"result":{"sessions":[]}}' in answers


class SdkClient:
    """A client as the SDK wants it."""

    def __init__(self) -> None:
        self.updates: list[Any] = []

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)

    async def request_permission(self, options: Any, **_: Any) -> RequestPermissionResponse:
        outcome = AllowedOutcome(outcome="selected", option_id=options[0].option_id)
        return RequestPermissionResponse(outcome=outcome)


@pytest.mark.spec("AP-309", "AP-105", "AP-303")
@pytest.mark.parametrize("plans", [False, True])
async def test_the_sdks_own_client_drives_it_over_standard_streams(
    tmp_path: Path, plans: bool
) -> None:
    client: Any = SdkClient()
    command = scripted(tmp_path)
    with anyio.fail_after(LONG_S):
        async with acp.spawn_agent_process(
            client,
            *command,
            env=dict(os.environ),
            use_unstable_protocol=True,
            transport_kwargs={"stderr": None},
        ) as (connection, _):
            answer = await connection.initialize(
                protocol_version=acp.PROTOCOL_VERSION,
                client_info=Implementation(name="test", version="0"),
                client_capabilities=ClientCapabilities(plan=PlanCapabilities() if plans else None),
            )
            assert answer.agent_info is not None
            session = await connection.new_session(cwd=str(tmp_path), mcp_servers=[])
            for text in ("call TaskCreate " + CREATE, 'call write_file {"path":"a","content":"b"}'):
                done = await connection.prompt(
                    session_id=session.session_id,
                    prompt=[TextContentBlock(type="text", text=text)],
                )
                assert done.stop_reason == "end_turn"
            listed = await connection.list_sessions(cwd=str(tmp_path))
            assert [one.session_id for one in listed.sessions] == [session.session_id]

    kinds = {update.session_update for update in client.updates}
    assert ("plan_update" in kinds, "plan" in kinds) == (plans, not plans)
    assert {"agent_message_chunk", "tool_call", "tool_call_update"} <= kinds
    assert (tmp_path / "a").read_text() == "b"


@pytest.mark.spec("AP-203", "AP-105", "AP-108")
@pytest.mark.parametrize(
    ("capabilities", "kind", "key"),
    [({}, "plan", ""), ({"plan": {}}, "plan_update", "planId"),
     ({"planCapabilities": {}}, "plan_update", "id")],
)  # fmt: skip  # a table
async def test_the_publisher_serves_an_agent_of_ones_own_on_the_sdk(
    tmp_path: Path, capabilities: dict[str, Any], kind: str, key: str
) -> None:
    example = Path(__file__).parents[2] / "examples" / "acp_plan.py"
    async with process_of(sys.executable, str(example), plans="plan" in capabilities) as agent:
        await agent.client.initialize(**capabilities)
        session = await agent.client.new(tmp_path)
        assert await agent.client.prompt(session, "go") == "end_turn"
        if key == "id":
            agent.client.check.wrong.clear()  # The proposal's form is in no schema of today.

    assert set(agent.client.kinds()) == {kind}
    last = agent.client.updates[-1][1]
    plan = last["plan"] if key else last
    assert [entry["status"] for entry in plan["entries"]] == ["completed"] * 3
    assert not key or plan[key] == "steps"


@pytest.mark.spec("AP-301", "AP-308")
async def test_the_program_serves_with_the_model_that_is_configured(tmp_path: Path) -> None:
    program = str(Path(sys.executable).with_name("taskloom"))
    (tmp_path / "script.json").write_text('["Hello from the script."]')
    environment = {
        "TASKLOOM_MODEL": f"script:{tmp_path / 'script.json'}",
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    async with process_of(program, "acp", plans=False, **environment) as agent:
        answer = await agent.client.initialize()
        assert answer["agentInfo"]["name"] == "taskloom"
        new = await agent.client.request("session/new", cwd=str(tmp_path), mcpServers=[])
        modes = [mode["id"] for mode in new["modes"]["availableModes"]]
        assert modes == ["code", "ask", "plan", "orchestrate"]
        assert await agent.client.prompt(new["sessionId"], "hi") == "end_turn"
        listed = await agent.client.request("session/list")
        assert [one["sessionId"] for one in listed["sessions"]] == [new["sessionId"]]

    assert agent.client.text() == "Hello from the script."
    assert agent.stderr == b""


@pytest.mark.spec("AP-308")
async def test_without_a_model_the_prompt_is_answered_with_what_to_set(tmp_path: Path) -> None:
    program = str(Path(sys.executable).with_name("taskloom"))
    environment = {"TASKLOOM_MODEL": "", "XDG_STATE_HOME": str(tmp_path / "state")}
    async with process_of(program, "acp", plans=False, **environment) as agent:
        await agent.client.initialize()
        session = await agent.client.new(tmp_path)
        with pytest.raises(WireError, match="TASKLOOM_MODEL") as error:
            await agent.client.prompt(session, "hi")
        assert "\n" not in error.value.message
        (tmp_path / "taskloom.toml").write_text("[model\n")
        with pytest.raises(WireError, match=r"taskloom\.toml"):
            await agent.client.new(tmp_path)


@pytest.mark.spec("AP-308", "AP-302")
async def test_a_process_that_is_told_to_end_leaves_no_program_behind(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    command = '{"argv": ["sh", "-c", "echo $$ > fifo && exec sleep 600"]}'
    async with process_of(*scripted(tmp_path)) as agent:
        agent.client.on["session/request_permission"] = choosing("allow_once")
        await agent.client.initialize()
        session = await agent.client.new(tmp_path)
        waiting = agent.client.begin_prompt(session, f"call run_command {command}")
        child = int(await read_fifo(fifo))
        os.kill(child, 0)
        agent.process.terminate()
        assert await agent.left() == 0
        assert await waiting == {"stopReason": "cancelled"}

    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
