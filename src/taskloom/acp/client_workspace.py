"""The client's own files and terminals, as a workspace uses them."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, cast

import anyio
from acp.exceptions import RequestError

from taskloom.acp.client import Client
from taskloom.agent import call_id
from taskloom.agent.workspace import (
    OUTPUT_BYTES_MAX,
    Commands,
    DiskFiles,
    Finished,
    TextFiles,
)

RELEASE_S: Final = 5.0
"""How long a client may take to let go of a terminal before we go on without it."""


class ClientFiles:
    """Texts as the client has them, saved or not; what it did not announce is done on the disk.

    An error of the client is the answer: a file that it keeps from us is not read behind its back.
    """

    def __init__(self, client: Client, session_id: str) -> None:
        """Ask only for what was announced."""
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


class Screen(Protocol):
    """Where a terminal is shown."""

    async def show_now(self, call_id: str, content: dict[str, Any]) -> None:
        """Show content with a call that is under way."""
        ...


class ClientTerminals:
    """Programs in terminals of the client, which the person watches."""

    sandbox = ""

    def __init__(self, client: Client, session_id: str, screen: Screen) -> None:
        """Show each terminal with its tool call."""
        self._client = client
        self._session_id = session_id
        self._screen = screen
        self._late: set[asyncio.Future[None]] = set()

    async def run(
        self,
        command: Sequence[str],
        directory: Path,
        environment: Mapping[str, str],  # noqa: ARG002 - the client's terminal has its own
        *,
        timeout_s: float,
        outside_sandbox: bool = False,  # noqa: ARG002 - there is none
    ) -> Finished:
        """Run a program to its end or its time, and let go of its terminal."""
        try:
            terminal = await self._open(command, directory)
            return await self._follow(terminal, timeout_s)
        except RequestError as error:
            raise OSError(f"the editor could not run it: {_reason(error)}") from error

    async def _open(self, command: Sequence[str], directory: Path) -> str:
        """Return a new terminal; one that opens after we were cancelled is let go of."""
        creating = asyncio.ensure_future(
            self._do(
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
            late = asyncio.ensure_future(self._let_go(creating))
            self._late.add(late)
            late.add_done_callback(self._late.discard)
            raise
        if not isinstance(terminal, str):
            raise OSError("the editor opened no terminal")
        return terminal

    async def _let_go(self, creating: "asyncio.Future[dict[str, Any]]") -> None:
        try:
            terminal = (await creating).get("terminalId")
        except (RequestError, ConnectionError):
            return
        if isinstance(terminal, str):
            await self._release(terminal)

    async def _follow(self, terminal: str, timeout_s: float) -> Finished:
        try:
            await self._screen.show_now(call_id(), {"type": "terminal", "terminalId": terminal})
            with anyio.move_on_after(timeout_s) as limit:
                await self._do("wait_for_exit", terminalId=terminal)
            if limit.cancelled_caught:
                await self._do("kill", terminalId=terminal)
            output = await self._do("output", terminalId=terminal)
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
        """Let go of a terminal, which ends what runs in it; also when we are cancelled."""
        with anyio.move_on_after(RELEASE_S, shield=True):
            try:
                await self._do("release", terminalId=terminal)
            except (RequestError, ConnectionError):
                return  # It is the client's, and the client has lost it.

    async def _do(self, verb: str, **more: object) -> dict[str, Any]:
        return await self._client.terminal(verb, self._session_id, **more)


def files_of(client: Client, session_id: str) -> TextFiles | None:
    """Return the client's files; None if it announced none, and the disk is all there is."""
    if client.has("fs", "readTextFile") or client.has("fs", "writeTextFile"):
        return ClientFiles(client, session_id)
    return None


def commands_of(client: Client, session_id: str, screen: Screen) -> Commands | None:
    """Return the client's terminals; None if it announced none."""
    return ClientTerminals(client, session_id, screen) if client.has("terminal") else None


def _reason(error: RequestError) -> str:
    return str(error) or "it gave no reason"
