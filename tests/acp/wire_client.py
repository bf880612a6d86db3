"""A client that speaks lines of JSON: it sends whatever it likes, and checks every answer."""

import asyncio
import itertools
import json
import os
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from taskloom.acp import AcpOptions, serve
from taskloom.acp.protocol.jsonrpc_transport import JsonRpcTransport
from tests.acp.schema_check import Schema, WireCheck, stable, unstable

UPDATE = "session/update"
LONG_S = 30.0
"""After this long, whoever waits is taken to hang."""

Handler = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class WireError(Exception):
    """An error that the agent answered with."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class RawClient:
    """One client; `updates` are all it was told, in order, with their sessions."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, schema: Schema
    ) -> None:
        self.check = WireCheck(schema)
        self.updates: list[tuple[str, dict[str, Any]]] = []
        self.log: list[dict[str, Any]] = []
        self.on: dict[str, Handler] = {}
        self.asked: list[dict[str, Any]] = []
        self.strays: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._reader = reader
        self._writer = writer
        self._ids = itertools.count(1)
        self._waiting: dict[Any, asyncio.Future[Any]] = {}
        self._news = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()
        self.ended = asyncio.Event()

    # What a client does.

    def send(self, message: dict[str, Any] | bytes) -> None:
        """Put a message or any bytes on the wire."""
        if isinstance(message, bytes):
            self._writer.write(message)
            return
        self.check.from_client(message)
        self.log.append(message)
        self._writer.write(json.dumps(message).encode() + b"\n")

    def begin(self, method: str, **params: Any) -> asyncio.Future[Any]:
        """Send a request; return what its answer will be."""
        id_ = next(self._ids)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[id_] = future
        self.send({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        return future

    async def request(self, method: str, **params: Any) -> Any:
        """Send a request and return its result."""
        with anyio.fail_after(LONG_S):
            return await self.begin(method, **params)

    def notify(self, method: str, **params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def initialize(self, **capabilities: Any) -> Any:
        return await self.request("initialize", protocolVersion=1, clientCapabilities=capabilities)

    async def new(self, cwd: object, **more: Any) -> str:
        answer = await self.request("session/new", cwd=str(cwd), **{"mcpServers": [], **more})
        return answer["sessionId"]

    async def prompt(self, session_id: str, text: str) -> str:
        answer = await self.request(
            "session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": text}]
        )
        return answer["stopReason"]

    def begin_prompt(self, session_id: str, text: str) -> asyncio.Future[Any]:
        block = {"type": "text", "text": text}
        return self.begin("session/prompt", sessionId=session_id, prompt=[block])

    async def until(self, found: Callable[[], object]) -> None:
        """Wait until something is true, looking whenever a message came."""
        with anyio.fail_after(LONG_S):
            async with self._news:
                await self._news.wait_for(lambda: bool(found()))

    # What it was told.

    def kinds(self, session_id: str | None = None) -> list[str]:
        return [update["sessionUpdate"] for update in self.of(session_id)]

    def of(self, session_id: str | None = None, kind: str | None = None) -> list[dict[str, Any]]:
        return [
            update
            for session, update in self.updates
            if session_id in (None, session) and kind in (None, update["sessionUpdate"])
        ]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(
            update["content"]["text"]
            for update in self.of(kind=kind)
            if update["content"]["type"] == "text"
        )

    def told_before_answer(self, method: str) -> list[dict[str, Any]]:
        """The updates between the last request of a method and its answer."""
        places = [n for n, one in enumerate(self.log) if one.get("method") == method]
        after = self.log[places[-1] :]
        id_ = after[0]["id"]
        end = next(n for n, one in enumerate(after) if one.get("id") == id_ and n)
        return [one["params"]["update"] for one in after[:end] if one.get("method") == UPDATE]

    def plans(self) -> list[list[tuple[str, str]]]:
        """The flat plans there were, each as texts with their status."""
        return [
            [(entry["content"], entry["status"]) for entry in update["entries"]]
            for update in self.of(kind="plan")
        ]

    # How it works.

    async def read(self) -> None:
        while line := await self._reader.readline():
            message = json.loads(line)
            self.log.append(message)
            self.check.from_agent(message)
            self._take(message)
            async with self._news:
                self._news.notify_all()
        self.ended.set()

    def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            waiting = self._waiting.pop(message.get("id"), None)
            if waiting is None:
                self.strays.put_nowait(message)
            elif not waiting.done():
                if "error" in message:
                    waiting.set_exception(WireError(message["error"]))
                else:
                    waiting.set_result(message["result"])
        elif message["method"] == "session/update":
            params = message["params"]
            self.updates.append((params["sessionId"], params["update"]))
        else:
            self.asked.append(message)
            task = asyncio.get_running_loop().create_task(self._answer(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, message: dict[str, Any]) -> None:
        handler = self.on.get(message["method"])
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if handler is None:
            reply["error"] = {"code": -32601, "message": "Method not found"}
        else:
            try:
                reply["result"] = await handler(message["params"])
            except WireError as error:
                reply["error"] = {"code": error.code, "message": error.message}
        self.send(reply)

    def hang_up(self) -> None:
        self._writer.close()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def client_of(
    setup: AcpOptions, *, plans: bool = False, **limits: Any
) -> AsyncGenerator[RawClient]:
    """Serve a client in this process, over a real pair of sockets; check all it is told.

    `plans` says that the client announces something unstable, and that schema holds.
    """
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    source, drain = await asyncio.open_connection(sock=theirs)
    serving = asyncio.create_task(serve(setup, JsonRpcTransport(source, drain, **limits)))
    client = RawClient(reader, writer, unstable() if plans else stable())
    reading = asyncio.create_task(client.read())
    try:
        yield client
        assert client.check.wrong == []
    finally:
        client.hang_up()
        with anyio.fail_after(LONG_S):
            await serving
            await client.stop()
            await reading
        await writer_closed(drain)


class AgentProcess:
    """The program under test, and a client on its standard streams."""

    def __init__(self, process: asyncio.subprocess.Process, client: RawClient) -> None:
        self.process = process
        self.client = client
        self.stderr = b""

    async def read_errors(self) -> None:
        assert self.process.stderr is not None
        while piece := await self.process.stderr.read(4096):
            self.stderr += piece

    async def left(self) -> int:
        """Wait until the program has ended by itself."""
        with anyio.fail_after(LONG_S):
            return await self.process.wait()


@asynccontextmanager
async def process_of(
    *command: str, plans: bool = False, **environment: str
) -> AsyncGenerator[AgentProcess]:
    """Start a program and serve as its client; check all it says; end it whatever happens."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **environment},
        limit=64 * 1024 * 1024,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    client = RawClient(process.stdout, process.stdin, unstable() if plans else stable())
    agent = AgentProcess(process, client)
    tasks = [asyncio.create_task(client.read()), asyncio.create_task(agent.read_errors())]
    try:
        yield agent
        assert client.check.wrong == []
    finally:
        client.hang_up()
        with anyio.move_on_after(LONG_S):
            await process.wait()
        if process.returncode is None:
            process.kill()
            await process.wait()
        await client.stop()
        await asyncio.gather(*tasks)


async def read_fifo(path: Path) -> str:
    """What somebody writes into a named pipe, when they do; never a thread that waits for ever."""
    pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    written = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(pipe, written.set)
    try:
        with anyio.fail_after(LONG_S):
            await written.wait()
        return os.read(pipe, 1000).decode()
    finally:
        loop.remove_reader(pipe)
        os.close(pipe)


async def writer_closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    try:
        await writer.wait_closed()
    except OSError:
        return
