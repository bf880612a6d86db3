"""Cancel at every point: the turn ends as cancelled, never as an error, and nothing follows."""

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from taskloom.agent import ModelRequest, Say, ScriptedModel, call_tool, call_tools
from tests.acp.options import choosing, options_of
from tests.acp.wire_client import LONG_S, RawClient, WireError, client_of, read_fifo

SLOW = Say(text="never", delay_s=600)


async def cancelled(client: RawClient, session: str, answer: Any) -> None:
    """Cancel, and see that the answer is right and the last thing that is said."""
    client.notify("session/cancel", sessionId=session)
    with anyio.fail_after(5):
        assert await answer == {"stopReason": "cancelled"}
    last = client.log[-1]
    # A request and its answer behind the turn: whatever were still to come would come before it.
    await client.request("session/list")
    after = client.log[client.log.index(last) + 1 :]
    assert [message for message in after if message.get("method") == "session/update"] == []


@pytest.mark.spec("AP-304")
async def test_while_the_model_is_silent(tmp_path: Path) -> None:
    async with client_of(options_of([SLOW], tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        answer = client.begin_prompt(session, "go")
        await client.until(lambda: client.of(kind="session_info_update"))
        await cancelled(client, session, answer)


@pytest.mark.spec("AP-304")
async def test_before_anything_has_happened(tmp_path: Path) -> None:
    async with client_of(options_of([SLOW], tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        await cancelled(client, session, client.begin_prompt(session, "go"))


@pytest.mark.spec("AP-304")
async def test_while_a_permission_request_is_open(tmp_path: Path) -> None:
    async def never(_: dict[str, Any]) -> dict[str, Any]:
        await anyio.sleep_forever()
        return {}

    script = [call_tool("write_file", path="a.txt", content="x"), "done"]
    async with client_of(options_of(script, tmp_path)) as client:
        client.on["session/request_permission"] = never
        await client.initialize()
        session = await client.new(tmp_path)
        answer = client.begin_prompt(session, "go")
        await client.until(lambda: client.asked)
        await cancelled(client, session, answer)

    assert not (tmp_path / "a.txt").exists()
    assert client.of(kind="tool_call_update")[-1]["status"] == "failed"


@pytest.mark.spec("AP-304")
async def test_a_late_answer_to_a_permission_request_does_no_harm(tmp_path: Path) -> None:
    late = anyio.Event()

    async def after_all(_: dict[str, Any]) -> dict[str, Any]:
        await late.wait()
        return {"outcome": {"outcome": "selected", "optionId": "allow_once"}}

    script = [call_tool("write_file", path="a.txt", content="x"), "second turn"]
    async with client_of(options_of(script, tmp_path)) as client:
        client.on["session/request_permission"] = after_all
        await client.initialize()
        session = await client.new(tmp_path)
        answer = client.begin_prompt(session, "go")
        await client.until(lambda: client.asked)
        await cancelled(client, session, answer)
        late.set()
        assert await client.prompt(session, "and on") == "end_turn"

    assert not (tmp_path / "a.txt").exists()


@pytest.mark.spec("AP-304")
async def test_while_a_command_runs_which_ends_with_the_turn(tmp_path: Path) -> None:
    async def yes(_: dict[str, Any]) -> dict[str, Any]:
        return {"outcome": {"outcome": "selected", "optionId": "allow_once"}}

    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    command = ["sh", "-c", "echo $$ > fifo; exec sleep 600"]
    script = [call_tool("run_command", argv=command), "done"]
    async with client_of(options_of(script, tmp_path)) as client:
        client.on["session/request_permission"] = yes
        await client.initialize()
        session = await client.new(tmp_path)
        answer = client.begin_prompt(session, "go")
        pid = int(await read_fifo(fifo))
        os.kill(pid, 0)
        await cancelled(client, session, answer)

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


class Talker:
    """A model that talks for ever."""

    name = "talker"

    async def generate(self, request: ModelRequest) -> Any:
        while True:
            model = ScriptedModel(["word " * 50], chunk_chars=5)
            await model.generate(request)


@pytest.mark.spec("AP-304")
async def test_in_the_middle_of_a_stream(tmp_path: Path) -> None:
    setup = options_of([], tmp_path)
    talking = type(setup)(make_model=lambda _: Talker(), index_dir=setup.index_dir)
    async with client_of(talking) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        answer = client.begin_prompt(session, "go")
        await client.until(lambda: len(client.of(kind="agent_message_chunk")) > 20)
        await cancelled(client, session, answer)


@pytest.mark.spec("AP-304")
async def test_when_nothing_is_under_way_cancel_is_no_error(tmp_path: Path) -> None:
    async with client_of(options_of(["hello"], tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        client.notify("session/cancel", sessionId=session)
        client.notify("session/cancel", sessionId="no-such-session")
        assert await client.prompt(session, "go") == "end_turn"


@pytest.mark.spec("AP-304")
async def test_a_cancelled_turn_is_remembered_and_the_next_one_works(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def script(messages: Any) -> Any:
        seen.append([message.text for message in messages])
        return SLOW if len(seen) == 1 else "fine"

    async with client_of(options_of(script, tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        answer = client.begin_prompt(session, "first")
        await client.until(lambda: seen)
        await cancelled(client, session, answer)
        assert await client.prompt(session, "second") == "end_turn"

    assert seen[1] == ["first", "second"]


@pytest.mark.spec("AP-302", "AP-304")
async def test_closing_a_session_ends_its_turn_as_cancelled(tmp_path: Path) -> None:
    async with client_of(options_of([SLOW], tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        answer = client.begin_prompt(session, "go")
        await client.until(lambda: client.of(kind="session_info_update"))
        await client.request("session/close", sessionId=session)
        assert await answer == {"stopReason": "cancelled"}
        with pytest.raises(WireError, match="no session"):
            await client.prompt(session, "again")


BUSY = [
    Say(thinking="Hm, hm.", text="I begin.", calls=call_tool("list_dir").tool_calls),
    call_tool("TaskCreate", subject="One", description="d"),
    call_tools(("read_file", {"path": "a.txt"}), ("write_file", {"path": "b.txt", "content": "b"})),
    call_tool("publish_plan", id="design", kind="markdown", content="# Design"),
    call_tool("run_command", argv=["true"]),
    call_tool("TaskUpdate", taskId="1", status="in_progress"),
    "Everything is done.",
]


@pytest.mark.slow
@pytest.mark.spec("AP-304", "AP-109")
async def test_cancelled_after_any_message_the_turn_ends_in_order(tmp_path: Path) -> None:
    """The same busy turn again and again, cancelled after its first message, its second, …"""
    (tmp_path / "a.txt").write_text("a")
    after = 0
    stops: list[str] = []
    while not stops or stops[-1] != "end_turn":
        async with client_of(options_of(BUSY, tmp_path)) as client:
            client.on["session/request_permission"] = choosing("allow_once")
            await client.initialize()
            session = await client.new(tmp_path)
            await client.until(lambda: client.of(kind="available_commands_update"))
            begun = len(client.log)
            answer = client.begin_prompt(session, "go")
            await client.until(
                lambda n=begun + 1 + after, a=answer: len(client.log) >= n or a.done()
            )
            client.notify("session/cancel", sessionId=session)
            with anyio.fail_after(LONG_S):
                stops.append((await answer)["stopReason"])
            count = len(client.updates)
            await client.request("session/list")
            assert len(client.updates) == count, f"an update came after the answer ({after})"
            _check_end(client, tmp_path / ".taskloom" / "sessions" / session)
            assert await client.prompt(session, "/plan") == "end_turn"
        after += 3

    assert set(stops[:-1]) == {"cancelled"}
    assert len(stops) > 10


def _check_end(client: RawClient, folder: Path) -> None:
    """See that no call is left open, and that the plan shown is the one on disk."""
    states: dict[str, str] = {}
    for update in client.of():
        if update["sessionUpdate"] in ("tool_call", "tool_call_update") and "status" in update:
            states[update["toolCallId"]] = update["status"]
    assert set(states.values()) <= {"completed", "failed"}
    tasks = folder / "tasks" / "1.json"
    shown = client.plans()[-1] if client.plans() else []
    if tasks.exists():
        status = json.loads(tasks.read_text())["status"]
        assert shown == [("One", status)]
    else:
        assert shown == []
