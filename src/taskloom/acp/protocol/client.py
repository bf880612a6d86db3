"""The client: what it announced, and what the agent may ask of it.

`ClientFiles` and `ClientTerminals` let a workspace use the client's own files and terminals.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import anyio
from acp.connection import Connection
from acp.exceptions import RequestError

from taskloom.acp.plans import Update
from taskloom.acp.protocol.tool_calls import ToolCallTracker
from taskloom.agent import call_id
from taskloom.agent.workspace import (
    OUTPUT_BYTES_MAX,
    Commands,
    DiskFiles,
    Finished,
    TextFiles,
)

RELEASE_S: Final = 5.0
"""How long the client may take to release a terminal before the agent continues without it."""


class Client:
    """One client on one connection. Only what it announced is asked of it."""

    def __init__(self) -> None:
        """Create a client that has announced nothing and has no connection."""
        self._connected: Connection | None = None
        self.capabilities: Mapping[str, Any] = {}
        """`clientCapabilities`, as they came over the wire."""

    def attach(self, connection: Connection) -> None:
        """Use a connection from now on."""
        self._connected = connection

    @property
    def _connection(self) -> Connection:
        if self._connected is None:
            raise ConnectionError("no client is connected")
        return self._connected

    def has(self, *path: str) -> bool:
        """Return whether a capability was announced: as `true`, or as an object."""
        value: object = self.capabilities
        for name in path:
            if not isinstance(value, Mapping):
                return False
            value = cast("Mapping[str, object]", value).get(name)
        return value is True or isinstance(value, Mapping)

    async def update(self, session_id: str, update: Update) -> None:
        """Send one update of a session."""
        params = {"sessionId": session_id, "update": update}
        await self._connection.send_notification("session/update", params)

    async def ask_permission(
        self, session_id: str, tool_call: Mapping[str, Any], options: Sequence[Mapping[str, Any]]
    ) -> str | None:
        """Ask the person; return the id of the chosen option, None if none was chosen."""
        answer = await self._ask(
            "session/request_permission",
            session_id,
            toolCall=dict(tool_call),
            options=[dict(option) for option in options],
        )
        outcome = answer.get("outcome")
        if not isinstance(outcome, dict):
            return None
        fields = cast("dict[str, object]", outcome)
        chosen = fields.get("optionId")
        return chosen if fields.get("outcome") == "selected" and isinstance(chosen, str) else None

    async def read_text_file(self, session_id: str, path: str) -> str:
        """Return the text of a file as the client has it, saved or not."""
        answer = await self._ask("fs/read_text_file", session_id, path=path)
        content = answer.get("content")
        if not isinstance(content, str):
            raise OSError("the client answered without the file's content")
        return content

    async def write_text_file(self, session_id: str, path: str, content: str) -> None:
        """Replace the text of a file."""
        await self._ask("fs/write_text_file", session_id, path=path, content=content)

    async def terminal(self, verb: str, session_id: str, **params: object) -> dict[str, Any]:
        """Call one terminal method: create, output, wait_for_exit, kill, release."""
        return await self._ask(f"terminal/{verb}", session_id, **params)

    async def _ask(self, method: str, session_id: str, **params: object) -> dict[str, Any]:
        answer = await self._connection.send_request(method, {"sessionId": session_id, **params})
        return cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}


class ClientFiles:
    """Texts as the client has them, saved or not; the disk where it did not announce that.

    A file that the client refuses is not read from disk.
    """

    def __init__(self, client: Client, session_id: str) -> None:
        """Name the client and the session on whose behalf it is asked."""
        self._client = client
        self._session_id = session_id
        self._disk = DiskFiles()

    async def read(self, path: Path) -> str:
        """Read a whole file."""
        if not self._client.has("fs", "readTextFile"):
            return await self._disk.read(path)
        try:
            return await self._client.read_text_file(self._session_id, str(path))
        except RequestError as error:
            raise OSError(f"the editor could not read it: {_reason(error)}") from error

    async def write(self, path: Path, text: str) -> None:
        """Write a whole file."""
        if not self._client.has("fs", "writeTextFile"):
            await self._disk.write(path, text)
            return
        try:
            await self._client.write_text_file(self._session_id, str(path), text)
        except RequestError as error:
            raise OSError(f"the editor could not write it: {_reason(error)}") from error


class ClientTerminals:
    """Programs in terminals of the client, shown with their tool calls."""

    sandbox = ""

    def __init__(self, client: Client, session_id: str, tool_calls: ToolCallTracker) -> None:
        """Name the client, the session, and the tracker of the tool calls."""
        self._client = client
        self._session_id = session_id
        self._tool_calls = tool_calls
        self._releasing: set[asyncio.Future[None]] = set()

    async def run(
        self,
        command: Sequence[str],
        directory: Path,
        environment: Mapping[str, str],  # noqa: ARG002 - the client's terminal has its own
        *,
        timeout_s: float,
        outside_sandbox: bool = False,  # noqa: ARG002 - there is none
    ) -> Finished:
        """Run a program until it exits or its time is over, and release its terminal."""
        try:
            terminal = await self._create(command, directory)
            return await self._wait_for_exit(terminal, timeout_s)
        except RequestError as error:
            raise OSError(f"the editor could not run it: {_reason(error)}") from error

    async def _create(self, command: Sequence[str], directory: Path) -> str:
        """Return a new terminal; one that is created after a cancellation is released."""
        creating = asyncio.ensure_future(
            self._call(
                "create",
                command=command[0],
                args=list(command[1:]),
                cwd=str(directory),
                outputByteLimit=OUTPUT_BYTES_MAX,
            )
        )
        try:
            terminal = (await asyncio.shield(creating)).get("terminalId")
        except asyncio.CancelledError:
            releasing = asyncio.ensure_future(self._release_created(creating))
            self._releasing.add(releasing)
            releasing.add_done_callback(self._releasing.discard)
            raise
        if not isinstance(terminal, str):
            raise OSError("the editor opened no terminal")
        return terminal

    async def _release_created(self, creating: "asyncio.Future[dict[str, Any]]") -> None:
        try:
            terminal = (await creating).get("terminalId")
        except (RequestError, ConnectionError):
            return
        if isinstance(terminal, str):
            await self._release(terminal)

    async def _wait_for_exit(self, terminal: str, timeout_s: float) -> Finished:
        content = {"type": "terminal", "terminalId": terminal}
        try:
            await self._tool_calls.show_content(call_id(), content)
            with anyio.move_on_after(timeout_s) as limit:
                await self._call("wait_for_exit", terminalId=terminal)
            if limit.cancelled_caught:
                await self._call("kill", terminalId=terminal)
            output = await self._call("output", terminalId=terminal)
        finally:
            await self._release(terminal)
        status, text = output.get("exitStatus"), output.get("output")
        code = (
            cast("dict[str, object]", status).get("exitCode") if isinstance(status, dict) else None
        )
        return Finished(
            code if isinstance(code, int) and not isinstance(code, bool) else None,
            text if isinstance(text, str) else "",
            timed_out=limit.cancelled_caught,
            left_out_bytes=0,
        )

    async def _release(self, terminal: str) -> None:
        """Release a terminal, which ends what runs in it; also after a cancellation."""
        with anyio.move_on_after(RELEASE_S, shield=True):
            try:
                await self._call("release", terminalId=terminal)
            except (RequestError, ConnectionError):
                return  # The client no longer has it.

    async def _call(self, verb: str, **params: object) -> dict[str, Any]:
        return await self._client.terminal(verb, self._session_id, **params)


def files_of(client: Client, session_id: str) -> TextFiles | None:
    """Return the client's files; None if it announced none."""
    if client.has("fs", "readTextFile") or client.has("fs", "writeTextFile"):
        return ClientFiles(client, session_id)
    return None


def commands_of(client: Client, session_id: str, tool_calls: ToolCallTracker) -> Commands | None:
    """Return the client's terminals; None if it announced none."""
    return ClientTerminals(client, session_id, tool_calls) if client.has("terminal") else None


def _reason(error: RequestError) -> str:
    return str(error) or "it gave no reason"
