"""Sessions on disk: created, listed, loaded, resumed, closed, deleted, by any process."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from taskloom.acp import AcpOptions
from taskloom.agent import Message, Middleware, Say, State, call_tool
from taskloom.errors import Code, RefusedError
from tests.acp.options import choosing, options_of
from tests.acp.wire_client import WireError, client_of


def echo(messages: Any) -> str:
    """Answer with all that is known."""
    return " | ".join(message.text for message in messages)


async def begun(setup: AcpOptions, folder: Path, *prompts: str) -> str:
    """A session of an earlier process."""
    async with client_of(setup) as client:
        client.on["session/request_permission"] = choosing("allow_once")
        await client.initialize()
        session = await client.new(folder)
        for prompt in prompts:
            await client.prompt(session, prompt)
    return session


@pytest.mark.spec("AP-301")
@pytest.mark.parametrize("version", [0, 1, 2, 99, -1])
async def test_the_version_is_ours_and_never_an_echo(tmp_path: Path, version: int) -> None:
    async with client_of(options_of([], tmp_path)) as client:
        answer = await client.request("initialize", protocolVersion=version)

    assert answer["protocolVersion"] == 1
    assert answer["agentInfo"]["name"] == "taskloom"
    assert answer["agentInfo"]["version"]
    assert answer["authMethods"] == []


@pytest.mark.spec("AP-301")
async def test_only_what_works_is_announced(tmp_path: Path) -> None:
    async with client_of(options_of([], tmp_path)) as client:
        capabilities = (await client.initialize())["agentCapabilities"]

    assert capabilities == {
        "loadSession": True,
        "promptCapabilities": {"image": True, "embeddedContext": True},
        "mcpCapabilities": {"http": True, "sse": False},
        "sessionCapabilities": {
            "list": {},
            "resume": {},
            "close": {},
            "delete": {},
            "additionalDirectories": {},
        },
    }


@pytest.mark.spec("AP-302")
async def test_a_loaded_session_is_shown_whole_before_the_answer_and_goes_on(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    script = [
        Say(thinking="Hm.", text="I edit.", calls=call_tool(
            "edit_file", path="a.txt", old="one", new="two").tool_calls),
        "Done.",
    ]  # fmt: skip  # one reply with everything in it
    session = await begun(options_of(script, tmp_path), tmp_path, "please edit")
    async with client_of(options_of(echo, tmp_path)) as client:
        await client.initialize()
        answer = await client.request(
            "session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[]
        )
        shown = client.told_before_answer("session/load")
        assert answer["modes"]["currentModeId"] == "code"
        assert await client.prompt(session, "and now?") == "end_turn"

    kinds = [update["sessionUpdate"] for update in shown]
    assert kinds == [
        "user_message_chunk",
        "agent_thought_chunk",
        "agent_message_chunk",
        "tool_call",
        "tool_call_update",
        "agent_message_chunk",
    ]
    assert shown[0]["content"] == {"type": "text", "text": "please edit"}
    assert shown[4]["status"] == "completed"
    assert shown[4]["content"][0]["type"] == "diff"
    assert client.text().endswith(
        "please edit | I edit. | Edited a.txt: 1 replaced. | Done. | and now?"
    )


@pytest.mark.spec("AP-302", "AP-110")
async def test_a_resumed_session_is_not_shown_again_and_goes_on(tmp_path: Path) -> None:
    session = await begun(options_of(["first answer"], tmp_path), tmp_path, "first")
    async with client_of(options_of(echo, tmp_path)) as client:
        await client.initialize()
        await client.request("session/resume", sessionId=session, cwd=str(tmp_path))
        before = client.told_before_answer("session/resume")
        assert await client.prompt(session, "second") == "end_turn"

    assert before == []
    assert client.text() == "first | first answer | second"


@pytest.mark.spec("AP-302")
async def test_sessions_are_listed_newest_first_by_project_or_all(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    setup = options_of(lambda _: "x", tmp_path)
    first = await begun(setup, here, "Fix the bug\nin main")
    second = await begun(setup, there, "Write docs")
    third = await begun(setup, here)
    async with client_of(setup) as client:
        await client.initialize()
        mine = (await client.request("session/list", cwd=str(here)))["sessions"]
        every = (await client.request("session/list"))["sessions"]
        none = await client.request("session/list", cwd=str(tmp_path))

    assert [one["sessionId"] for one in mine] == [third, first]
    assert [one["sessionId"] for one in every] == [third, second, first]
    assert mine[1]["title"] == "Fix the bug"
    assert {one["cwd"] for one in mine} == {str(here)}
    assert none == {"sessions": []}


@pytest.mark.spec("AP-302")
async def test_a_long_list_comes_in_pages(tmp_path: Path) -> None:
    async with client_of(options_of([], tmp_path)) as client:
        await client.initialize()
        made = {await client.new(tmp_path) for _ in range(60)}
        first = await client.request("session/list", cwd=str(tmp_path))
        rest = await client.request("session/list", cwd=str(tmp_path), cursor=first["nextCursor"])

    found = [one["sessionId"] for one in first["sessions"] + rest["sessions"]]
    assert len(found) == 60
    assert set(found) == made
    assert "nextCursor" not in rest


@pytest.mark.spec("AP-302")
async def test_a_closed_session_can_be_loaded_again(tmp_path: Path) -> None:
    async with client_of(options_of(echo, tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        await client.prompt(session, "one")
        assert await client.request("session/close", sessionId=session) == {}
        await client.request("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])
        assert await client.prompt(session, "two") == "end_turn"

    assert client.text().endswith("one | one | two")


@pytest.mark.spec("AP-302")
async def test_a_deleted_session_is_gone_and_deleting_it_again_is_no_error(tmp_path: Path) -> None:
    setup = options_of(["x"], tmp_path)
    session = await begun(setup, tmp_path, "hi")
    async with client_of(setup) as client:
        await client.initialize()
        assert await client.request("session/delete", sessionId=session) == {}
        assert await client.request("session/delete", sessionId=session) == {}
        assert await client.request("session/delete", sessionId="../../x") == {}
        assert await client.request("session/list") == {"sessions": []}
        with pytest.raises(WireError):
            await client.request(
                "session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[]
            )

    assert not (tmp_path / ".taskloom" / "sessions" / session).exists()


@pytest.mark.spec("AP-302")
async def test_a_project_that_was_moved_keeps_its_sessions(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    session = await begun(options_of(["hello"], tmp_path), old, "hi")
    old.rename(new)
    async with client_of(options_of(echo, tmp_path)) as client:
        await client.initialize()
        await client.request("session/load", sessionId=session, cwd=str(new), mcpServers=[])
        assert await client.prompt(session, "on") == "end_turn"

    assert client.text() == "hello" + "hi | hello | on"


@pytest.mark.spec("AP-302")
async def test_two_processes_take_turns_in_one_session_and_never_at_once(tmp_path: Path) -> None:
    setup = options_of(echo, tmp_path)
    asked = anyio.Event()

    def think(_: object) -> Say:
        asked.set()
        return Say(text="slow", delay_s=600)

    async with client_of(setup) as one, client_of(options_of(think, tmp_path)) as two:
        await one.initialize()
        await two.initialize()
        session = await one.new(tmp_path)
        await one.prompt(session, "a")
        await two.request("session/resume", sessionId=session, cwd=str(tmp_path))
        answer = two.begin_prompt(session, "b")
        with anyio.fail_after(30):
            await asked.wait()
        with pytest.raises(WireError, match="in another process"):
            await one.prompt(session, "c")
        two.notify("session/cancel", sessionId=session)
        assert await answer == {"stopReason": "cancelled"}
        assert await one.prompt(session, "c") == "end_turn"

    assert one.text() == "a" + "a | a | b | c"


@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b"\xff", b'{"cwd": 5}', b'{"version":1}'])
async def test_a_session_file_that_cannot_be_read_hides_no_other(
    tmp_path: Path, garbage: bytes
) -> None:
    setup = options_of(["x"], tmp_path)
    good, bad = await begun(setup, tmp_path, "hi"), await begun(setup, tmp_path)
    (tmp_path / ".taskloom/sessions" / bad / "session.json").write_bytes(garbage)
    (tmp_path / "index" / "junk.json").write_bytes(garbage)
    async with client_of(setup) as client:
        await client.initialize()
        for query in ({}, {"cwd": str(tmp_path)}):
            listed = (await client.request("session/list", **query))["sessions"]
            assert [one["sessionId"] for one in listed] == [good]
        with pytest.raises(WireError, match="no session"):
            await client.request("session/load", sessionId=bad, cwd=str(tmp_path), mcpServers=[])


async def test_a_damaged_transcript_is_told_and_left_as_it_is(tmp_path: Path) -> None:
    setup = options_of(lambda _: "x", tmp_path)
    session = await begun(setup, tmp_path, "one", "two")
    file = tmp_path / ".taskloom/sessions" / session / "transcript.jsonl"
    damaged = file.read_bytes().replace(b'"one"', b'"eno"', 1)
    file.write_bytes(damaged)
    async with client_of(setup) as client:
        await client.initialize()
        with pytest.raises(WireError, match="is damaged"):
            await client.request(
                "session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[]
            )
        assert await client.prompt(await client.new(tmp_path), "hi") == "end_turn"

    assert file.read_bytes() == damaged


async def test_what_was_cut_short_by_a_crash_is_set_aside_and_calls_are_answered(
    tmp_path: Path,
) -> None:
    script = [call_tool("list_dir"), "done"]
    session = await begun(options_of(script, tmp_path), tmp_path, "go")
    file = tmp_path / ".taskloom/sessions" / session / "transcript.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    call = next(n for n, line in enumerate(lines) if b"tool_calls" in line)
    # As if killed while the tool ran, in the middle of writing its result.
    file.write_bytes(b"".join(lines[: call + 1]) + lines[call + 1][:40])
    async with client_of(options_of(echo, tmp_path)) as client:
        await client.initialize()
        await client.request("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])
        assert client.of(kind="tool_call_update")[-1]["status"] == "failed"
        assert await client.prompt(session, "on") == "end_turn"

    first, call_, unknown, last = client.text().split(" | ")
    assert (first, call_, last) == ("go", "", "on")
    assert "outcome is unknown" in unknown


class Shortener(Middleware):
    """Rewrites what the model was told before, as a reduction does."""

    async def before_model(self, state: State) -> None:
        for place, message in enumerate(state.messages[:-1]):
            if message.role == "assistant" and len(message.text) > 20:
                state.messages[place] = Message.assistant("(short)")


def shortening(_: Path) -> list[Middleware]:
    return [Shortener()]


async def test_what_hooks_rewrote_stays_rewritten_for_the_model_and_whole_for_the_person(
    tmp_path: Path,
) -> None:
    long = "a very long answer " * 20
    setup = options_of([long, "two"], tmp_path, middleware=shortening)
    session = await begun(setup, tmp_path, "one", "next")
    async with client_of(options_of(echo, tmp_path)) as client:
        await client.initialize()
        await client.request("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])
        assert long in client.text()
        shown = len(client.text())
        await client.prompt(session, "three")

    assert client.text()[shown:] == "one | (short) | next | two | three"


async def test_history_that_no_longer_fits_is_left_out_in_whole_turns(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def script(messages: Any) -> str:
        seen.append([message.text[:2] for message in messages])
        return "ok " + "y" * 60

    async with client_of(options_of(script, tmp_path, context_tokens=200)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        for number in range(8):
            await client.prompt(session, f"{number} " + "x" * 60)

    assert seen[1] == ["0 ", "ok", "1 "]
    assert seen[7] == ["5 ", "ok", "6 ", "ok", "7 "]


@pytest.mark.spec("AP-302")
async def test_a_project_that_cannot_be_written_to_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / ".taskloom").write_text("a file where a directory should be")
    async with client_of(options_of([], tmp_path / "elsewhere")) as client:
        await client.initialize()
        with pytest.raises(WireError, match="Cannot write session"):
            await client.new(tmp_path)


@pytest.mark.spec("AP-302")
async def test_additional_directories_are_kept_and_used(tmp_path: Path) -> None:
    main, other = tmp_path / "main", tmp_path / "other"
    main.mkdir()
    other.mkdir()
    (other / "x.txt").write_text("from the other")
    script = [call_tool("read_file", path=str(other / "x.txt")), "ok"]
    async with client_of(options_of(script, tmp_path)) as client:
        await client.initialize()
        session = await client.new(main, additionalDirectories=[str(other)])
        await client.prompt(session, "go")
        listed = (await client.request("session/list"))["sessions"]

    assert listed[0]["additionalDirectories"] == [str(other)]
    assert "from the other" in client.of(kind="tool_call_update")[-1]["rawOutput"]["text"]
    card = json.loads((main / ".taskloom/sessions" / session / "session.json").read_text())
    assert card["additional_directories"] == [str(other)]


@pytest.mark.spec("AP-306", "AP-302")
async def test_a_session_file_that_came_with_a_project_opens_no_other_directory(
    tmp_path: Path,
) -> None:
    project, private = tmp_path / "project", tmp_path / "private"
    project.mkdir()
    private.mkdir()
    (private / "diary.txt").write_text("dear diary")
    session = await begun(options_of([], tmp_path), project)
    file = project / ".taskloom/sessions" / session / "session.json"
    card = json.loads(file.read_text())
    file.write_text(json.dumps({**card, "additional_directories": ["/"], "cwd": "/"}))
    script = [call_tool("read_file", path=str(private / "diary.txt")), "ok"]
    async with client_of(options_of(script, tmp_path)) as client:
        await client.initialize()
        await client.request("session/resume", sessionId=session, cwd=str(project))
        await client.prompt(session, "go")

    assert "outside the workspace" in client.of(kind="tool_call_update")[-1]["rawOutput"]["text"]
    assert "dear diary" not in str(client.log)


@pytest.mark.spec("AP-302")
async def test_a_session_is_loaded_in_its_own_project_only(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    session = await begun(options_of(["x"], tmp_path), here, "hi")
    linked = there / ".taskloom" / "sessions"
    linked.mkdir(parents=True)
    (linked / "s_linked").symlink_to(here / ".taskloom" / "sessions" / session)
    async with client_of(options_of([], tmp_path)) as client:
        await client.initialize()
        for id_ in (session, "s_linked"):
            with pytest.raises(WireError, match="no session"):
                await client.request("session/load", sessionId=id_, cwd=str(there), mcpServers=[])


async def test_a_configuration_that_cannot_be_used_is_told_and_leaves_no_session(
    tmp_path: Path,
) -> None:
    def broken(_: Path) -> AcpOptions:
        raise RefusedError(Code.VALIDATION_ERROR, "taskloom.toml: line 3 is wrong.")

    setup = AcpOptions(make_model=options_of([], tmp_path).make_model, for_project=broken)
    async with client_of(setup) as client:
        await client.initialize()
        with pytest.raises(WireError, match="line 3 is wrong"):
            await client.new(tmp_path)
        assert await client.request("session/list", cwd=str(tmp_path)) == {"sessions": []}
        assert await client.request("session/list", cwd="/no/such/place") == {"sessions": []}

    assert not (tmp_path / ".taskloom").exists()


async def test_a_turn_that_cannot_be_kept_is_told_and_the_session_stays_free(
    tmp_path: Path,
) -> None:
    def script(messages: Any) -> str:
        if len(messages) == 1:
            (folder,) = (tmp_path / ".taskloom" / "sessions").iterdir()
            (folder / "session.json").unlink()
            (folder / "session.json").mkdir()  # From now on it cannot be replaced.
        return "answer"

    async with client_of(options_of(script, tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        with pytest.raises(WireError, match="Cannot write session"):
            await client.prompt(session, "one")
        (tmp_path / ".taskloom" / "sessions" / session / "session.json").rmdir()
        assert await client.prompt(session, "two") == "end_turn"


@pytest.mark.spec("AP-302")
@pytest.mark.parametrize("way", ["session/load", "session/resume"])
async def test_a_session_that_is_being_opened_is_left_alone_until_it_is_open(
    tmp_path: Path, way: str
) -> None:
    setup = options_of(echo, tmp_path)
    session = await begun(setup, tmp_path, "one")
    where: dict[str, Any] = {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []}
    async with client_of(setup) as client:
        await client.initialize()
        opened = client.begin(way, **where)
        others = [
            client.begin(way, **where),
            client.begin_prompt(session, "too early"),
            client.begin("session/close", sessionId=session),
            client.begin("session/delete", sessionId=session),
        ]
        for other in others:
            with pytest.raises(WireError, match="being opened"):
                await other
        assert "modes" in await opened
        assert await client.prompt(session, "two") == "end_turn"

    assert client.text().endswith("one | one | two")


@pytest.mark.spec("AP-302")
async def test_a_project_that_vanished_is_told_and_not_made_anew(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    async with client_of(options_of(echo, tmp_path)) as client:
        await client.initialize()
        session = await client.new(project)
        project.rename(tmp_path / "moved")
        with pytest.raises(WireError, match="there is no directory"):
            await client.prompt(session, "one")
        with pytest.raises(WireError, match="there is no directory"):
            await client.request("session/set_mode", sessionId=session, modeId="ask")
        assert await client.request("session/close", sessionId=session) == {}

    assert not project.exists()
