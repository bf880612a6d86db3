"""The methods of the agent's side of the protocol."""

import asyncio
import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import anyio
import anyio.to_thread
from acp.exceptions import RequestError
from acp.schema import (
    AuthenticateRequest,
    CancelNotification,
    CloseSessionRequest,
    DeleteSessionRequest,
    ListSessionsRequest,
    LoadSessionRequest,
    NewSessionRequest,
    PromptRequest,
    ResumeSessionRequest,
    SetSessionConfigOptionSelectRequest,
    SetSessionModeRequest,
)
from msgspec import structs
from pydantic import BaseModel, Field, StrictInt

from taskloom.acp.modes import CONFIG_ID, PLAN, config_options, mode_state
from taskloom.acp.options import AcpOptions
from taskloom.acp.prompt_turn import PromptTurn
from taskloom.acp.protocol.client import Client
from taskloom.acp.protocol.content_blocks import message_of
from taskloom.acp.protocol.router import Answer, Method, Router, not_found
from taskloom.acp.protocol.updates import replay_updates
from taskloom.acp.session import OpenSession
from taskloom.acp.slash_commands import answer_command, commands_update, read_command
from taskloom.acp.workers import SEPARATOR
from taskloom.session import SessionDirectory, SessionIndex, SessionInfo

VERSION: Final = 1
"""The protocol's major version; the answer to any other that a client offers."""

PAGE: Final = 50
_LOG = logging.getLogger("taskloom.acp")


class Initialize(BaseModel):
    """The part of the initialize request that is checked; unknown capabilities are allowed."""

    protocol_version: StrictInt = Field(alias="protocolVersion")


class AcpAgent:
    """One client, any number of sessions."""

    def __init__(self, options: AcpOptions, client: Client) -> None:
        """Take the client; it has no session yet."""
        self._options = options
        self._client = client
        self._index = SessionIndex(options.index_dir, options.state_dir)
        self._sessions: dict[str, OpenSession] = {}
        self._turns: dict[str, PromptTurn] = {}
        self._opening: set[str] = set()
        """Sessions that are being loaded or resumed, during which other requests are refused."""
        self._announcing: set[asyncio.Task[None]] = set()
        self._methods = self._table()

    async def handle(self, method: str, params: object, is_notification: bool) -> Answer:
        """Answer one message of the client."""
        answer = await self._methods(method, params, is_notification)
        if method == "initialize" and isinstance(params, dict):
            announced = cast("dict[str, object]", params).get("clientCapabilities")
            known = cast("dict[str, Any]", announced) if isinstance(announced, dict) else {}
            self._client.capabilities = known
        return answer

    def _table(self) -> Router:
        requests = {
            "initialize": Method(Initialize, self.initialize),
            "authenticate": Method(AuthenticateRequest, self.authenticate),
            "session/new": Method(NewSessionRequest, self.new),
            "session/load": Method(LoadSessionRequest, self.load),
            "session/resume": Method(ResumeSessionRequest, self.resume),
            "session/list": Method(ListSessionsRequest, self.list),
            "session/close": Method(CloseSessionRequest, self.close),
            "session/delete": Method(DeleteSessionRequest, self.delete),
            "session/prompt": Method(PromptRequest, self.prompt),
            "session/set_mode": Method(SetSessionModeRequest, self.set_mode),
            "session/set_config_option": Method(
                SetSessionConfigOptionSelectRequest, self.set_config_option
            ),
        }
        return Router(requests, {"session/cancel": Method(CancelNotification, self.cancel)})

    async def initialize(self, request: Initialize) -> Answer:
        """Return the protocol's version and the agent's capabilities."""
        _LOG.info("a client of protocol version %d", request.protocol_version)
        return {
            "protocolVersion": VERSION,
            "agentInfo": {
                "name": "taskloom",
                "title": "Taskloom",
                "version": self._options.version or "0",
            },
            "authMethods": [],
            "agentCapabilities": {
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
            },
        }

    async def authenticate(self, request: AuthenticateRequest) -> Answer:
        """Refuse: the agent needs no login."""
        raise RequestError(
            -32602, f"There is no method {request.method_id!r}: this agent needs no login."
        )

    async def new(self, request: NewSessionRequest) -> Answer:
        """Create a session in a project."""
        cwd = _directory(request.cwd)
        also = tuple(_directory(one) for one in request.additional_directories or ())
        options = self._options_for(cwd)
        directory = await anyio.to_thread.run_sync(self._create, cwd, also)
        session = await self._open(directory, options, request.mcp_servers)
        self._announce(session)
        return {"sessionId": session.id, **self._state(session)}

    def _create(self, cwd: str, also: tuple[str, ...]) -> SessionDirectory:
        store = self._index.store(cwd)
        directory = store.create(kind="acp", additional_directories=also)
        self._index.add(directory)
        return directory

    async def load(self, request: LoadSessionRequest) -> Answer:
        """Open a session and send its conversation and plans."""
        with self._mark_opening(request.session_id):
            session = await self._reopen(request)
            try:
                records = await session.read_records()
                for update in replay_updates(records, session.cwd, session.tool_kinds):
                    await session.send(update)
                await session.send_plans(all_again=True)
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await self._close(session)
                raise
        self._announce(session)
        return self._state(session)

    async def resume(self, request: ResumeSessionRequest) -> Answer:
        """Open a session without sending its conversation."""
        with self._mark_opening(request.session_id):
            session = await self._reopen(request)
        self._announce(session)
        return self._state(session)

    async def list(self, request: ListSessionsRequest) -> Answer:
        """Return a page of the sessions, the last used first."""
        cwd = _absolute(request.cwd) if request.cwd is not None else None
        start = _cursor(request.cursor)
        list_ = self._index.list if cwd is None else self._index.store(cwd).list
        found = await anyio.to_thread.run_sync(list_)
        shown = [_info(one.info) for one in found[start : start + PAGE]]
        page: dict[str, Any] = {"sessions": shown}
        if len(found) > start + PAGE:
            page["nextCursor"] = str(start + PAGE)
        return page

    async def close(self, request: CloseSessionRequest) -> Answer:
        """Close a session; it stays on disk."""
        session = self._session(request.session_id)
        await self._close(session)
        return {}

    async def delete(self, request: DeleteSessionRequest) -> Answer:
        """Delete a session; one that does not exist counts as deleted."""
        self._refuse_opening(request.session_id)
        session = self._sessions.get(request.session_id)
        found = session.directory if session else self._index.find(request.session_id)
        if session is not None:
            await self._close(session)
        if found is not None:
            await anyio.to_thread.run_sync(found.delete)
        self._index.remove(request.session_id)
        return {}

    async def prompt(self, request: PromptRequest) -> Answer:
        """Run a prompt turn."""
        session = self._session(request.session_id)
        if session.id in self._turns:
            raise RequestError(
                -32600, "A turn of this session is in progress: wait for its end, or cancel it."
            )
        _directory(str(session.cwd))  # Else a project that was moved would be created again.
        message = message_of(request.prompt)
        turn = self._turns[session.id] = PromptTurn(session)
        try:
            command = read_command(message.text)
            if command is None:
                stop = await turn.run(message, session.mode)
            elif command.name == "plan" and command.argument:
                stop = await turn.run(message.replace(content=command.argument), PLAN)
            else:
                stop = await turn.answer(message.text, partial(answer_command, session, command))
        finally:
            del self._turns[session.id]
        return {"stopReason": stop}

    async def cancel(self, request: CancelNotification) -> Answer:
        """Cancel the turn of a session, or one worker run that has a session of its own."""
        session_id, run_id = request.session_id, ""
        if session_id not in self._sessions:  # A worker's own session, or none.
            session_id, _, run_id = session_id.rpartition(SEPARATOR)
        turn, session = self._turns.get(session_id), self._sessions.get(session_id)
        if run_id:
            if session is not None:
                session.workers.stop_run(run_id)
        elif turn is not None:
            turn.cancel()
        return None

    async def set_mode(self, request: SetSessionModeRequest) -> Answer:
        """Change the mode of a session, from its next turn on."""
        session = self._session(request.session_id)
        await self._change_mode(session, request.mode_id)
        options = config_options(list(session.modes.values()), session.mode.id)
        await session.send({"sessionUpdate": "config_option_update", "configOptions": options})
        return {}

    async def set_config_option(self, request: SetSessionConfigOptionSelectRequest) -> Answer:
        """Change the mode, which is the only option."""
        session = self._session(request.session_id)
        if request.config_id != CONFIG_ID:
            raise RequestError(
                -32602, f"There is no option {request.config_id!r}; there is {CONFIG_ID!r}."
            )
        await self._change_mode(session, request.value)
        current = session.mode.id
        await session.send({"sessionUpdate": "current_mode_update", "currentModeId": current})
        return {"configOptions": config_options(list(session.modes.values()), current)}

    async def close_all(self) -> None:
        """Cancel every turn and close every session, since the client has disconnected."""
        for task in tuple(self._announcing):
            task.cancel()
        for session in list(self._sessions.values()):
            await self._close(session)

    async def _change_mode(self, session: OpenSession, mode: str) -> None:
        if mode not in session.modes:
            there = ", ".join(session.modes)
            raise RequestError(-32602, f"There is no mode {mode!r}; there are {there}.")
        _directory(str(session.cwd))
        await session.update(mode=mode)

    async def _reopen(self, request: LoadSessionRequest | ResumeSessionRequest) -> OpenSession:
        cwd = _directory(request.cwd)
        known = self._sessions.get(request.session_id)
        if known is not None:
            if known.id in self._turns:
                raise RequestError(-32600, "A turn of this session is in progress.")
            await self._close(known)
        store = self._index.store(cwd)
        directory = await anyio.to_thread.run_sync(store.find, request.session_id)
        if directory is None:
            raise not_found(request.session_id)
        # Only the client decides on directories: the file may have come with the project.
        also = tuple(_directory(one) for one in request.additional_directories or ())
        directory.info = structs.replace(directory.info, additional_directories=also)
        return await self._open(directory, self._options_for(cwd), request.mcp_servers or [])

    def _options_for(self, cwd: str) -> AcpOptions:
        make = self._options.for_project
        return self._options if make is None else make(Path(cwd))

    async def _open(
        self, directory: SessionDirectory, options: AcpOptions, servers: Sequence[Any]
    ) -> OpenSession:
        session = OpenSession(directory, options, self._client)
        self._sessions[session.id] = session
        await session.open(servers)
        return session

    async def _close(self, session: OpenSession) -> None:
        turn = self._turns.get(session.id)
        if turn is not None:
            turn.cancel()
            await turn.ended.wait()
        self._sessions.pop(session.id, None)
        await session.close()

    @contextmanager
    def _mark_opening(self, session_id: str) -> Generator[None]:
        """Refuse other requests while a session is opened: two loads would close each other's."""
        self._refuse_opening(session_id)
        self._opening.add(session_id)
        try:
            yield
        finally:
            self._opening.discard(session_id)

    def _refuse_opening(self, session_id: str) -> None:
        if session_id in self._opening:
            raise RequestError(-32600, "This session is being opened: wait for that answer first.")

    def _session(self, session_id: str) -> OpenSession:
        self._refuse_opening(session_id)
        session = self._sessions.get(session_id)
        if session is None:
            raise not_found(session_id)
        return session

    def _state(self, session: OpenSession) -> dict[str, Any]:
        modes, current = list(session.modes.values()), session.mode.id
        return {
            "modes": mode_state(modes, current),
            "configOptions": config_options(modes, current),
        }

    def _announce(self, session: OpenSession) -> None:
        """Announce the commands after the request is answered, which some clients require."""

        async def announce() -> None:
            with suppress(ConnectionError):  # The client has disconnected meanwhile.
                await session.send(commands_update())

        task = asyncio.get_running_loop().create_task(announce())
        self._announcing.add(task)
        task.add_done_callback(self._announcing.discard)


def _absolute(path: str) -> str:
    if not Path(path).is_absolute() or "\0" in path:
        raise RequestError(-32602, f"Invalid params: {path[:200]!r} is not an absolute path.")
    return str(Path(path))


def _directory(path: str) -> str:
    if not Path(_absolute(path)).is_dir():
        raise RequestError(-32602, f"Invalid params: there is no directory {path[:200]!r}.")
    return str(Path(path))


def _cursor(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdecimal() or len(cursor) > 9:
        raise RequestError(-32602, "Invalid params: this agent did not return that cursor.")
    return int(cursor)


def _info(info: SessionInfo) -> dict[str, Any]:
    used = info.last_used.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    shown: dict[str, Any] = {"sessionId": info.session_id, "cwd": info.cwd, "updatedAt": used}
    if info.goal:
        shown["title"] = info.goal
    if info.additional_directories:
        shown["additionalDirectories"] = list(info.additional_directories)
    return shown
