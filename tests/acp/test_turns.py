"""Prompt turns: what streams, what tools show, and how a turn ends."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from taskloom.agent import Message, ModelError, Say, Usage, call_tool, call_tools
from taskloom.session import PermissionPolicy, SessionDirectory
from tests.acp.options import choosing, options_of
from tests.acp.wire_client import WireError, client_of


def allowing(session: SessionDirectory) -> PermissionPolicy:
    """A policy that allows everything it may."""
    return PermissionPolicy(allows=lambda _: True, state_dir=session.project / session.state_dir)


@pytest.mark.spec("AP-303")
async def test_a_turn_streams_its_thoughts_and_its_answer(tmp_path: Path) -> None:
    script = [Say(thinking="Let me see.", text="Hello, this is a long answer.")]
    async with client_of(options_of(script, tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        assert await client.prompt(session, "hi") == "end_turn"

    assert client.text("agent_thought_chunk") == "Let me see."
    assert client.text() == "Hello, this is a long answer."
    chunks = client.of(kind="agent_message_chunk")
    assert len(chunks) > 1
    assert len({chunk["messageId"] for chunk in chunks}) == 1


@pytest.mark.spec("AP-303")
async def test_a_tool_call_has_kind_status_location_and_result(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    script = [call_tool("read_file", path="a.txt", offset=2), "done"]
    async with client_of(options_of(script, tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        assert await client.prompt(session, "read it") == "end_turn"

    (call,) = client.of(kind="tool_call")
    assert (call["title"], call["kind"], call["status"]) == ("Read a.txt", "read", "pending")
    assert call["locations"] == [{"path": str(tmp_path / "a.txt"), "line": 2}]
    assert call["rawInput"] == {"path": "a.txt", "offset": 2}
    updates = client.of(kind="tool_call_update")
    assert [update["status"] for update in updates] == ["in_progress", "completed"]
    assert {update["toolCallId"] for update in updates} == {call["toolCallId"]}
    assert updates[-1]["content"] == [
        {"type": "content", "content": {"type": "text", "text": "2\ttwo"}}
    ]
    assert updates[-1]["rawOutput"] == {"text": "2\ttwo"}


@pytest.mark.spec("AP-303", "AP-305")
async def test_an_edit_asks_with_its_diff_and_shows_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    script = [call_tool("edit_file", path="a.txt", old="one", new="two"), "done"]
    async with client_of(options_of(script, tmp_path)) as client:
        client.on["session/request_permission"] = choosing("allow_once")
        await client.initialize()
        await client.prompt(await client.new(tmp_path), "edit it")

    assert (tmp_path / "a.txt").read_text() == "two\n"
    diff = {
        "type": "diff",
        "path": str(tmp_path / "a.txt"),
        "oldText": "one\n",
        "newText": "two\n",
    }
    (asked,) = client.asked
    call = asked["params"]["toolCall"]
    assert call["content"] == [diff]
    assert call["kind"] == "edit"
    assert call["toolCallId"] == client.of(kind="tool_call")[0]["toolCallId"]
    assert client.of(kind="tool_call_update")[-1]["content"] == [diff]


@pytest.mark.spec("AP-305")
async def test_a_new_file_is_a_diff_without_an_old_text(tmp_path: Path) -> None:
    script = [call_tool("write_file", path="new.txt", content="x"), "done"]
    async with client_of(options_of(script, tmp_path)) as client:
        client.on["session/request_permission"] = choosing("allow_once")
        await client.initialize()
        await client.prompt(await client.new(tmp_path), "write it")

    (diff,) = client.of(kind="tool_call_update")[-1]["content"]
    assert diff == {"type": "diff", "path": str(tmp_path / "new.txt"), "newText": "x"}


@pytest.mark.spec("AP-305")
@pytest.mark.parametrize("option", ["reject_once", None, "something else", "reject_always"])
async def test_anything_but_an_explicit_allow_is_a_no(tmp_path: Path, option: str | None) -> None:
    script = [
        call_tool("write_file", path="a.txt", content="x"),
        call_tool("run_command", argv=["touch", "b.txt"]),
        "done",
    ]
    async with client_of(options_of(script, tmp_path)) as client:
        client.on["session/request_permission"] = choosing(option)
        await client.initialize()
        assert await client.prompt(await client.new(tmp_path), "go") == "end_turn"

    assert not (tmp_path / "a.txt").exists()
    assert not (tmp_path / "b.txt").exists()
    assert [update["status"] for update in client.of(kind="tool_call_update")][1::2] == [
        "failed",
        "failed",
    ]
    assert "No permission" in client.of(kind="tool_call_update")[-1]["rawOutput"]["text"]


@pytest.mark.spec("AP-305")
async def test_a_client_that_cannot_ask_says_no(tmp_path: Path) -> None:
    script = [call_tool("write_file", path="a.txt", content="x"), "done"]
    async with client_of(options_of(script, tmp_path)) as client:
        await client.initialize()
        assert await client.prompt(await client.new(tmp_path), "go") == "end_turn"

    assert not (tmp_path / "a.txt").exists()


@pytest.mark.spec("AP-305")
async def test_always_holds_for_the_session_and_for_nothing_else(tmp_path: Path) -> None:
    write = [call_tool("write_file", path=f"{n}.txt", content="x") for n in range(3)]
    script = [
        *write[:2], call_tool("run_command", argv=["true"]), "done", write[2], "done",
        call_tool("write_file", path="other.txt", content="x"), "done",
    ]  # fmt: skip  # two turns of one session, one of another
    async with client_of(options_of(script, tmp_path)) as client:
        client.on["session/request_permission"] = choosing("allow_always")
        await client.initialize()
        session = await client.new(tmp_path)
        await client.prompt(session, "go")
        await client.prompt(session, "go")
        assert [one["params"]["toolCall"]["kind"] for one in client.asked] == ["edit", "execute"]
        await client.prompt(await client.new(tmp_path), "go")

    assert len(client.asked) == 3
    kinds = [option["kind"] for option in client.asked[0]["params"]["options"]]
    assert kinds == ["allow_once", "allow_always", "reject_once"]


@pytest.mark.spec("AP-305")
async def test_leave_for_one_command_of_a_shell_is_for_no_other(tmp_path: Path) -> None:
    script = [
        call_tool("run_command", argv=["sh", "-c", "true"]),
        call_tool("run_command", argv=["sh", "-c", "true"]),
        call_tool("run_command", argv=["sh", "-c", "touch bad"]),
        "done",
    ]
    async with client_of(options_of(script, tmp_path)) as client:
        client.on["session/request_permission"] = choosing("allow_always")
        await client.initialize()
        await client.prompt(await client.new(tmp_path), "go")

    assert len(client.asked) == 2


@pytest.mark.spec("AP-305")
async def test_always_is_not_offered_for_a_secret(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("hunter2")
    script = [call_tool("read_file", path=".env"), "done"]
    async with client_of(options_of(script, tmp_path)) as client:
        client.on["session/request_permission"] = choosing("allow_always")
        await client.initialize()
        await client.prompt(await client.new(tmp_path), "go")

    kinds = [option["kind"] for option in client.asked[0]["params"]["options"]]
    assert kinds == ["allow_once", "reject_once"]
    assert "hunter2" not in str(client.log)


@pytest.mark.spec("AP-303")
@pytest.mark.parametrize(
    ("reply", "stop"),
    [
        (Message("assistant", "cut", finish_reason="length"), "max_tokens"),
        (Message("assistant", "no", finish_reason="content_filter"), "refusal"),
        (Message("assistant", "yes", finish_reason="stop"), "end_turn"),
    ],
)
async def test_the_stop_reason_is_the_right_one(tmp_path: Path, reply: Message, stop: str) -> None:
    async with client_of(options_of([reply], tmp_path)) as client:
        await client.initialize()
        assert await client.prompt(await client.new(tmp_path), "go") == stop


@pytest.mark.spec("AP-303")
async def test_too_many_model_calls_end_the_turn_as_such(tmp_path: Path) -> None:
    setup = options_of(lambda _: call_tool("list_dir"), tmp_path, max_iterations=3)
    async with client_of(setup) as client:
        await client.initialize()
        assert await client.prompt(await client.new(tmp_path), "go") == "max_turn_requests"

    statuses = [update["status"] for update in client.of(kind="tool_call_update")]
    assert statuses.count("completed") == 3


async def test_a_model_that_fails_is_an_error_in_words_and_the_session_goes_on(
    tmp_path: Path,
) -> None:
    wrong = ModelError("The key is not valid: set OPENAI_API_KEY.", retryable=False)
    script = [wrong, "better"]
    async with client_of(options_of(script, tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        with pytest.raises(WireError, match="set OPENAI_API_KEY"):
            await client.prompt(session, "go")
        assert await client.prompt(session, "again") == "end_turn"


async def test_the_model_knows_the_turns_before(tmp_path: Path) -> None:
    def script(messages: Sequence[Message]) -> str:
        return " | ".join(message.text for message in messages)

    async with client_of(options_of(script, tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        await client.prompt(session, "one")
        await client.prompt(session, "two")

    assert client.text() == "one" + "one | one | two"


async def test_calls_side_by_side_each_have_their_result(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A")
    (tmp_path / "b.txt").write_text("B")
    script = [
        call_tools(("read_file", {"path": "a.txt"}), ("read_file", {"path": "b.txt"})),
        "done",
    ]
    async with client_of(options_of(script, tmp_path)) as client:
        await client.initialize()
        await client.prompt(await client.new(tmp_path), "go")

    calls = {call["toolCallId"]: call["title"] for call in client.of(kind="tool_call")}
    results = {
        calls[update["toolCallId"]]: update["rawOutput"]["text"]
        for update in client.of(kind="tool_call_update")
        if "rawOutput" in update
    }
    assert results == {"Read a.txt": "1\tA", "Read b.txt": "1\tB"}


async def test_usage_is_told_when_the_model_tells_it(tmp_path: Path) -> None:
    reply = Say(text="x", usage=Usage(input_tokens=900, output_tokens=100))
    async with client_of(options_of([reply], tmp_path, context_tokens=10_000)) as client:
        await client.initialize()
        await client.prompt(await client.new(tmp_path), "go")

    (usage,) = client.of(kind="usage_update")
    assert (usage["used"], usage["size"]) == (1000, 10_000)


async def test_a_second_prompt_during_a_turn_is_refused(tmp_path: Path) -> None:
    async with client_of(options_of([Say(text="x", delay_s=60)], tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        first = client.begin_prompt(session, "go")
        with pytest.raises(WireError, match="in progress"):
            await client.prompt(session, "and this")
        client.notify("session/cancel", sessionId=session)
        assert (await first)["stopReason"] == "cancelled"


async def test_half_a_character_from_a_model_breaks_no_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe half")
    script = [
        Message("assistant", "bad \ud800 text", finish_reason="stop"),
        call_tool("read_file", path="a.txt"),
        "ok",
    ]
    async with client_of(options_of(script, tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        await client.prompt(session, "go")
        assert await client.prompt(session, "and on") == "end_turn"


@pytest.mark.spec("AP-305")
@pytest.mark.parametrize("path", [".taskloom/x.json", "link/x.json", ".taskloom/sessions/y"])
async def test_no_tool_writes_to_the_state_directory(tmp_path: Path, path: str) -> None:
    (tmp_path / ".taskloom").mkdir()
    (tmp_path / "link").symlink_to(".taskloom")
    script = [call_tool("write_file", path=path, content="{}"), "done"]
    async with client_of(options_of(script, tmp_path, make_permissions=allowing)) as client:
        client.on["session/request_permission"] = choosing("allow_always")
        await client.initialize()
        await client.prompt(await client.new(tmp_path), "go")

    assert client.asked == []
    assert "No permission" in client.of(kind="tool_call_update")[-1]["rawOutput"]["text"]
    assert not (tmp_path / path).exists()


@pytest.mark.spec("AP-305")
async def test_what_the_configuration_allows_needs_no_question_but_a_secret_does(
    tmp_path: Path,
) -> None:
    script = [
        call_tool("write_file", path="a.txt", content="x"),
        call_tool("write_file", path=".env", content="x"),
        "done",
    ]
    async with client_of(options_of(script, tmp_path, make_permissions=allowing)) as client:
        client.on["session/request_permission"] = choosing("reject_once")
        await client.initialize()
        await client.prompt(await client.new(tmp_path), "go")

    assert (tmp_path / "a.txt").exists()
    assert not (tmp_path / ".env").exists()
    assert [asked["params"]["toolCall"]["title"] for asked in client.asked] == ["Write .env"]
