"""A client that sends malformed messages gets JSON-RPC errors, and is served on."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.acp.options import options_of
from tests.acp.wire_client import LONG_S, RawClient, WireError, client_of


async def stray(client: RawClient) -> dict[str, Any]:
    """The next answer that belongs to no request."""
    with anyio.fail_after(LONG_S):
        return await client.strays.get()


async def is_alive(client: RawClient, folder: Path) -> bool:
    session = await client.new(folder)
    return await client.prompt(session, "hello") == "end_turn"


@pytest.mark.spec("AP-308")
@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{broken\n", -32700),
        (b"\xff\xfe\x00\n", -32700),
        (b'{"a": "\xff"}\n', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":NaN}\n', -32700),
        (b"[" * 100_000 + b"\n", -32700),
        (b"[]\n", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"initialize"}]\n', -32600),
        (b"5\n", -32600),
        (b"null\n", -32600),
        (b'"initialize"\n', -32600),
        (b"{}\n", -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"initialize"}\n', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"initialize"}\n', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"initialize"}\n', -32600),
        (b'{"jsonrpc":"2.0","id":"a","method":5}\n', -32600),
        (b'{"jsonrpc":"2.0","id":"a","method":"initialize","params":"x"}\n', -32600),
        (b'{"jsonrpc":"2.0","id":"a","method":"initialize","params":[1]}\n', -32602),
        (b'{"jsonrpc":"2.0","id":"a","method":"initialize"}\n', -32602),
        (b'{"jsonrpc":"2.0","id":"a","method":"no/such"}\n', -32601),
        (b'{"jsonrpc":"2.0","id":"a","method":"_own/thing","params":{}}\n', -32601),
        (b'{"jsonrpc":"2.0","id":"a","method":"__init__"}\n', -32601),
    ],
)
async def test_bad_input_gets_an_error_and_the_connection_lives_on(
    tmp_path: Path, line: bytes, code: int
) -> None:
    async with client_of(options_of(["hi"], tmp_path)) as client:
        client.send(line)
        answer = await stray(client)
        assert answer["error"]["code"] == code
        assert answer["id"] == ("a" if b'"id":"a"' in line else None)
        await client.initialize()
        assert await is_alive(client, tmp_path)


@pytest.mark.spec("AP-308")
@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"   \r\n",
        b'{"jsonrpc":"2.0","id":99,"result":{}}\n',
        b'{"jsonrpc":"2.0","id":[1],"result":{}}\n',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}\n',
        b'{"jsonrpc":"2.0","id":0,"error":7}\n',
        b'{"jsonrpc":"2.0","method":"no/such"}\n',
        b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}\n',
        b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":5}}\n',
        b'{"jsonrpc":"2.0","method":"session/cancel"}\n',
        b'{"jsonrpc":"2.0","method":"_mine","params":{}}\n',
    ],
)
async def test_what_needs_no_answer_gets_none_and_breaks_nothing(
    tmp_path: Path, line: bytes
) -> None:
    async with client_of(options_of(["hi"], tmp_path)) as client:
        client.send(line)
        await client.initialize()
        assert await is_alive(client, tmp_path)
        assert client.strays.empty()


@pytest.mark.spec("AP-308")
async def test_a_line_that_never_ends_is_refused_and_left_out(tmp_path: Path) -> None:
    async with client_of(options_of(["hi"], tmp_path), line_bytes_max=100_000) as client:
        for _ in range(30):
            client.send(b"x" * 100_000)
        answer = await stray(client)
        assert answer["error"]["code"] == -32600
        client.send(b'still the same line"}\n')
        await client.initialize()
        assert await is_alive(client, tmp_path)
        assert client.strays.empty()


async def test_a_long_prompt_within_the_bound_arrives_whole(tmp_path: Path) -> None:
    def script(messages: Any) -> str:
        return f"{len(messages[-1].text)} characters"

    async with client_of(options_of(script, tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        assert await client.prompt(session, "ü" * 3_000_000) == "end_turn"

    assert client.text() == "3000000 characters"


@pytest.mark.spec("AP-308")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("initialize", {"protocolVersion": "1"}),
        ("initialize", {"protocolVersion": True}),
        ("session/new", {}),
        ("session/new", {"cwd": 5, "mcpServers": []}),
        ("session/new", {"cwd": "relative/path", "mcpServers": []}),
        ("session/new", {"cwd": "/no/such/directory", "mcpServers": []}),
        ("session/new", {"cwd": "/tmp\0/x", "mcpServers": []}),
        ("session/new", {"cwd": "/", "mcpServers": "none"}),
        ("session/prompt", {"sessionId": "x"}),
        ("session/prompt", {"sessionId": "x", "prompt": "text"}),
        ("session/prompt", {"sessionId": "x", "prompt": [{"type": "no such"}]}),
        ("session/prompt", {"sessionId": ["x"], "prompt": []}),
        ("session/load", {"sessionId": "x"}),
        ("session/set_mode", {"sessionId": "x"}),
        ("session/list", {"cwd": 5}),
        ("session/list", {"cursor": "-1"}),
        ("session/list", {"cursor": "9" * 100}),
        ("authenticate", {"methodId": "none"}),
    ],
)
async def test_wrong_parameters_are_told_in_one_sentence(
    tmp_path: Path, method: str, params: dict[str, Any]
) -> None:
    async with client_of(options_of(["hi"], tmp_path)) as client:
        await client.initialize()
        with pytest.raises(WireError) as error:
            await client.request(method, **params)
        assert error.value.code == -32602
        assert error.value.message
        assert "\n" not in error.value.message
        assert await is_alive(client, tmp_path)


@pytest.mark.spec("AP-302")
@pytest.mark.parametrize(
    "session_id", ["gone", "../../etc", "..", "", "a/b", "s\0x", "x" * 10_000, "s_1.json"]
)
@pytest.mark.parametrize("method", ["load", "resume", "prompt", "close", "set_mode"])
async def test_a_session_that_is_not_there_is_not_found(
    tmp_path: Path, session_id: str, method: str
) -> None:
    params: dict[str, dict[str, Any]] = {
        "load": {"cwd": str(tmp_path), "mcpServers": []},
        "resume": {"cwd": str(tmp_path)},
        "prompt": {"prompt": [{"type": "text", "text": "x"}]},
        "close": {},
        "set_mode": {"modeId": "ask"},
    }
    async with client_of(options_of([], tmp_path)) as client:
        await client.initialize()
        with pytest.raises(WireError) as error:
            await client.request(f"session/{method}", sessionId=session_id, **params[method])
        assert error.value.code == -32002
        assert error.value.data == {"sessionId": session_id[:128]}


@pytest.mark.spec("AP-308")
async def test_meta_overrides_no_argument(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    meta: dict[str, Any] = {
        "cwd": str(other),
        "session_id": "stolen",
        "sessionId": "stolen",
        "prompt": [],
        "mode_id": "ask",
        "self": 1,
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    }
    (tmp_path / "here.txt").write_text("here")
    async with client_of(options_of(["one", "two"], tmp_path)) as client:
        await client.request("initialize", protocolVersion=1, _meta={"protocolVersion": 7})
        session = await client.new(tmp_path, _meta=meta)
        stored = tmp_path / ".taskloom" / "sessions" / session / "session.json"
        assert json.loads(stored.read_text())["cwd"] == str(tmp_path)
        block = {"type": "text", "text": "hello"}
        answer = await client.request(
            "session/prompt", sessionId=session, prompt=[block], _meta=meta
        )
        assert answer == {"stopReason": "end_turn"}
        await client.request("session/set_mode", sessionId=session, modeId="plan", _meta=meta)
        assert json.loads(stored.read_text())["mode"] == "plan"

    assert {name for name, _ in client.updates} == {session}


@pytest.mark.spec("AP-303")
@pytest.mark.parametrize(
    ("blocks", "match"),
    [
        ([], "empty"),
        ([{"type": "text", "text": ""}], "empty"),
        ([{"type": "image", "data": "not base64!", "mimeType": "image/png"}], "base64"),
        ([{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}], "audio"),
    ],
)
async def test_a_prompt_that_cannot_be_taken_says_why(
    tmp_path: Path, blocks: list[dict[str, Any]], match: str
) -> None:
    async with client_of(options_of([], tmp_path)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        with pytest.raises(WireError, match=match):
            await client.request("session/prompt", sessionId=session, prompt=blocks)


@pytest.mark.parametrize("capabilities", [None, [], 5, {"fs": 7, "terminal": "yes", "plan": [1]}])
async def test_capabilities_of_no_shape_are_taken_as_none(
    tmp_path: Path, capabilities: Any
) -> None:
    async with client_of(options_of(["hi"], tmp_path)) as client:
        await client.request("initialize", protocolVersion=1, clientCapabilities=capabilities)
        assert await is_alive(client, tmp_path)
        assert client.asked == []
