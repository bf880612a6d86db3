"""The client's own files and terminals: used when announced, and never otherwise."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from taskloom.agent import call_tool
from tests.acp.options import choosing, options_of
from tests.acp.wire_client import RawClient, WireError, client_of

Handler = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class Buffers:
    """An editor's open files, not saved."""

    def __init__(self, **texts: str) -> None:
        self.texts = texts

    async def read(self, params: dict[str, Any]) -> dict[str, Any]:
        name = Path(params["path"]).name
        if name not in self.texts:
            raise WireError({"code": -32002, "message": "that file is private"})
        return {"content": self.texts[name]}

    async def write(self, params: dict[str, Any]) -> dict[str, Any]:
        self.texts[Path(params["path"]).name] = params["content"]
        return {}


def methods(client: RawClient) -> list[str]:
    return [message["method"] for message in client.asked]


@pytest.mark.spec("AP-306")
async def test_files_are_read_and_written_through_the_client(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("saved\n")
    buffers = Buffers(**{"a.txt": "not saved\n"})
    script = [
        call_tool("read_file", path="a.txt"),
        call_tool("edit_file", path="a.txt", old="not saved", new="edited"),
        call_tool("write_file", path="new.txt", content="fresh"),
        "done",
    ]
    async with client_of(options_of(script, tmp_path)) as client:
        client.on["fs/read_text_file"] = buffers.read
        client.on["fs/write_text_file"] = buffers.write
        client.on["session/request_permission"] = choosing("allow_once")
        await client.initialize(fs={"readTextFile": True, "writeTextFile": True})
        session = await client.new(tmp_path)
        await client.prompt(session, "go")

    assert buffers.texts == {"a.txt": "edited\n", "new.txt": "fresh"}
    assert (tmp_path / "a.txt").read_text() == "saved\n"
    assert not (tmp_path / "new.txt").exists()
    paths = {message["params"].get("path") for message in client.asked} - {None}
    assert paths == {str(tmp_path / "a.txt"), str(tmp_path / "new.txt")}
    assert {message["params"]["sessionId"] for message in client.asked} == {session}


@pytest.mark.spec("AP-306")
async def test_each_half_of_the_capability_counts_for_itself(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("saved\n")
    buffers = Buffers(**{"a.txt": "not saved\n"})
    script = [
        call_tool("read_file", path="a.txt"),
        call_tool("write_file", path="b.txt", content="x"),
        "done",
    ]
    async with client_of(options_of(script, tmp_path)) as client:
        client.on["fs/read_text_file"] = buffers.read
        client.on["session/request_permission"] = choosing("allow_once")
        await client.initialize(fs={"readTextFile": True, "writeTextFile": False})
        await client.prompt(await client.new(tmp_path), "go")

    assert "fs/write_text_file" not in methods(client)
    assert (tmp_path / "b.txt").read_text() == "x"


@pytest.mark.spec("AP-306")
async def test_without_the_capability_nothing_is_asked_of_the_client(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("saved\n")
    script = [
        call_tool("read_file", path="a.txt"),
        call_tool("run_command", argv=["cat", "a.txt"]),
        "done",
    ]
    async with client_of(options_of(script, tmp_path)) as client:
        client.on["session/request_permission"] = choosing("allow_once")
        await client.initialize()
        await client.prompt(await client.new(tmp_path), "go")

    assert methods(client) == ["session/request_permission"]
    assert "saved" in client.of(kind="tool_call_update")[-1]["rawOutput"]["text"]


@pytest.mark.spec("AP-306")
async def test_a_file_that_the_client_refuses_is_not_read_from_disk(
    tmp_path: Path,
) -> None:
    (tmp_path / "diary.txt").write_text("dear diary")
    script = [call_tool("read_file", path="diary.txt"), "done"]
    async with client_of(options_of(script, tmp_path)) as client:
        client.on["fs/read_text_file"] = Buffers().read
        await client.initialize(fs={"readTextFile": True})
        await client.prompt(await client.new(tmp_path), "go")

    result = client.of(kind="tool_call_update")[-1]
    assert result["status"] == "failed"
    assert "that file is private" in result["rawOutput"]["text"]
    assert "dear diary" not in str(client.log)


@pytest.mark.spec("AP-306")
@pytest.mark.parametrize("path", ["../outside.txt", "/etc/passwd", "link"])
async def test_nothing_outside_is_asked_of_the_client(tmp_path: Path, path: str) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to("/etc/passwd")
    script = [call_tool("read_file", path=path), "done"]
    async with client_of(options_of(script, tmp_path)) as client:
        await client.initialize(fs={"readTextFile": True}, terminal=True)
        await client.prompt(await client.new(inside), "go")

    assert client.asked == []
    assert client.of(kind="tool_call_update")[-1]["status"] == "failed"


class Terminals:
    """An editor's terminals, which run nothing and remember everything."""

    def __init__(self, client: RawClient, *, ends: bool = True, code: int | None = 0) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._ends = anyio.Event()
        if ends:
            self._ends.set()
        self._code = code
        for verb in ("create", "output", "wait_for_exit", "kill", "release"):
            client.on[f"terminal/{verb}"] = self._taking(verb)

    def _taking(self, verb: str) -> Handler:
        async def take(params: dict[str, Any]) -> dict[str, Any]:
            self.calls.append((verb, params))
            if verb == "create":
                return {"terminalId": "t1"}
            if verb == "wait_for_exit":
                await self._ends.wait()
                return {"exitCode": self._code}
            if verb == "kill":
                self._ends.set()
            if verb == "output":
                status = {"exitStatus": {"exitCode": self._code}}
                return {"output": "built\n", "truncated": False, **status}
            return {}

        return take

    @property
    def verbs(self) -> list[str]:
        return [verb for verb, _ in self.calls]


@pytest.mark.spec("AP-306")
async def test_commands_run_in_a_terminal_of_the_client_and_are_shown_there(
    tmp_path: Path,
) -> None:
    script = [call_tool("run_command", argv=["make", "all"], directory="."), "done"]
    async with client_of(options_of(script, tmp_path)) as client:
        terminals = Terminals(client, code=2)
        client.on["session/request_permission"] = choosing("allow_once")
        await client.initialize(terminal=True)
        await client.prompt(await client.new(tmp_path), "go")

    assert terminals.verbs == ["create", "wait_for_exit", "output", "release"]
    created = terminals.calls[0][1]
    assert (created["command"], created["args"]) == ("make", ["all"])
    assert created["cwd"] == str(tmp_path)
    shown = {"type": "terminal", "terminalId": "t1"}
    updates = client.of(kind="tool_call_update")
    assert [shown] in [update.get("content") for update in updates[:-1]]
    assert updates[-1]["content"] == [shown]
    assert updates[-1]["rawOutput"]["text"] == "built\n[exit code 2]"
    create = next(n for n, one in enumerate(client.log) if one.get("method") == "terminal/create")
    ask = next(n for n, one in enumerate(client.log) if "permission" in one.get("method", ""))
    assert ask < create


@pytest.mark.spec("AP-306", "AP-304")
async def test_a_terminal_is_released_when_its_turn_is_cancelled(tmp_path: Path) -> None:
    script = [call_tool("run_command", argv=["sleep", "600"]), "done"]
    async with client_of(options_of(script, tmp_path)) as client:
        terminals = Terminals(client, ends=False)
        client.on["session/request_permission"] = choosing("allow_once")
        await client.initialize(terminal=True)
        session = await client.new(tmp_path)
        answer = client.begin_prompt(session, "go")
        await client.until(lambda: "terminal/wait_for_exit" in methods(client))
        client.notify("session/cancel", sessionId=session)
        assert await answer == {"stopReason": "cancelled"}

    assert terminals.verbs[-1] == "release"


@pytest.mark.spec("AP-306", "AP-304")
async def test_a_terminal_that_opens_after_the_cancel_is_released(tmp_path: Path) -> None:
    opens = anyio.Event()

    async def create(_: dict[str, Any]) -> dict[str, Any]:
        await opens.wait()
        return {"terminalId": "t1"}

    script = [call_tool("run_command", argv=["sleep", "600"]), "done"]
    async with client_of(options_of(script, tmp_path)) as client:
        terminals = Terminals(client)
        client.on["terminal/create"] = create
        client.on["session/request_permission"] = choosing("allow_once")
        await client.initialize(terminal=True)
        session = await client.new(tmp_path)
        answer = client.begin_prompt(session, "go")
        await client.until(lambda: "terminal/create" in methods(client))
        client.notify("session/cancel", sessionId=session)
        assert await answer == {"stopReason": "cancelled"}
        opens.set()
        await client.until(lambda: terminals.verbs)

    assert terminals.verbs == ["release"]


@pytest.mark.spec("AP-306")
@pytest.mark.parametrize("status", ["gone", 5, [], {"exitCode": True}])
async def test_an_exit_status_of_no_shape_is_no_exit_code(tmp_path: Path, status: object) -> None:
    async def output(_: dict[str, Any]) -> dict[str, Any]:
        return {"output": "built\n", "truncated": False, "exitStatus": status}

    script = [call_tool("run_command", argv=["make"]), "done"]
    async with client_of(options_of(script, tmp_path)) as client:
        Terminals(client)
        client.on["terminal/output"] = output
        client.on["session/request_permission"] = choosing("allow_once")
        await client.initialize(terminal=True)
        await client.prompt(await client.new(tmp_path), "go")

    text = client.of(kind="tool_call_update")[-1]["rawOutput"]["text"]
    assert text == "built\n[exit code None]"


@pytest.mark.spec("AP-306")
async def test_a_command_that_takes_too_long_is_killed_and_its_terminal_released(
    tmp_path: Path,
) -> None:
    script = [call_tool("run_command", argv=["sleep", "600"], timeout_s=1), "done"]
    async with client_of(options_of(script, tmp_path)) as client:
        terminals = Terminals(client, ends=False)
        client.on["session/request_permission"] = choosing("allow_once")
        await client.initialize(terminal=True)
        await client.prompt(await client.new(tmp_path), "go")

    assert terminals.verbs == ["create", "wait_for_exit", "kill", "output", "release"]
    assert "timed out" in client.of(kind="tool_call_update")[-1]["rawOutput"]["text"]


@pytest.mark.spec("AP-306")
@pytest.mark.parametrize("answer", [{}, {"terminalId": 5}, None])
async def test_a_client_that_opens_no_terminal_is_an_error_to_the_model(
    tmp_path: Path, answer: dict[str, Any] | None
) -> None:
    async def create(_: dict[str, Any]) -> dict[str, Any]:
        if answer is None:
            raise WireError({"code": -32603, "message": "no terminals today"})
        return answer

    script = [call_tool("run_command", argv=["true"]), "done"]
    async with client_of(options_of(script, tmp_path)) as client:
        client.on["terminal/create"] = create
        client.on["session/request_permission"] = choosing("allow_once")
        await client.initialize(terminal=True)
        assert await client.prompt(await client.new(tmp_path), "go") == "end_turn"

    assert client.of(kind="tool_call_update")[-1]["status"] == "failed"
