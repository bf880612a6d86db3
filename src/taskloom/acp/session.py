"""A session while this process has it open: its state, its plans, its permissions."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio.to_thread

from taskloom.acp.call_desk import CallDesk
from taskloom.acp.client import Client
from taskloom.acp.commands import SlashCommand
from taskloom.acp.dialect import Update
from taskloom.acp.editor import commands_of, files_of
from taskloom.acp.history import LEFT_OUT, fit, recall
from taskloom.acp.kit import Kit
from taskloom.acp.modes import Mode
from taskloom.acp.permissions import Permissions
from taskloom.acp.plan_tools import plan_tools
from taskloom.acp.publisher import PlanPublisher
from taskloom.acp.setup import Setup
from taskloom.acp.shelf import PlanShelf
from taskloom.acp.store import SessionCard, SessionStore
from taskloom.acp.transcript import Record, Transcript
from taskloom.agent import Message, Tool
from taskloom.agent.workspace import Workspace
from taskloom.agent.workspace.paths import resolve


class LiveSession:
    """One session. Everything in it belongs to one event loop."""

    def __init__(
        self, card: SessionCard, *, setup: Setup, store: SessionStore, client: Client
    ) -> None:
        """Open it; nothing is read or sent yet."""
        self.card = card
        self.setup = setup
        self.client = client
        self._store = store
        self.cwd = Path(card.cwd)
        self.folder = store.folder(card)
        self.desk = CallDesk(self.send)
        self.permissions = Permissions(client, card.session_id, self.desk)
        self.publisher = PlanPublisher(self.send, client.capabilities)
        self.publisher.hold()  # Plans go out within turns, where the client looks for them.
        self.shelf = PlanShelf(self.folder / "plans.json", self.publisher)
        self.transcript = Transcript(self.folder / "transcript.jsonl")
        self.messages: list[Message] = []
        self._left_out = False

        self.kinds: dict[str, str] = {}
        """The kinds of tools that are not the house's own, by name."""
        self._mcp: Any = None

    @property
    def id(self) -> str:
        """The session's id."""
        return self.card.session_id

    async def open(self, servers: Sequence[object]) -> None:
        """Begin to connect MCP servers, and know the plans there are."""
        await anyio.to_thread.run_sync(self.shelf.load)
        if servers:
            module = import_module("taskloom.acp.mcp_servers")
            self._mcp = module.McpHost(servers, self.cwd, self.permissions.ask)
            self._mcp.start()

    async def send(self, update: Update) -> None:
        """Send one update of this session."""
        await self.client.update(self.id, update)

    async def read(self) -> list[Record]:
        """Return what was said since it was last read, and know it.

        Raises:
            Refused: a turn is under way in another process.
        """
        records = await self.begin()
        await anyio.to_thread.run_sync(self.transcript.end)
        return records

    async def begin(self) -> list[Record]:
        """Begin a turn: nobody else can until `transcript.end`. Return what others said since."""
        records = await anyio.to_thread.run_sync(self.transcript.begin)
        if records:
            self.messages = recall(self.messages, records, self.setup.language)
        fitting = fit(self.messages, self.setup.context_tokens // 2)
        self._left_out = self._left_out or len(fitting) < len(self.messages)
        self.messages = fitting
        return records

    async def change(self, **changes: object) -> None:
        """Change what is known of the session, durably."""
        card = self.card
        self.card = await anyio.to_thread.run_sync(lambda: self._store.touched(card, **changes))

    def workspace(self, mode: Mode) -> list[Tool]:
        """Return the tools for the project's files and programs."""
        workspace = Workspace(
            self.cwd,
            permit=self.permissions.permit,
            language=self.setup.language,
            also=self.card.additional_directories,
            files=files_of(self.client, self.id),
            commands=commands_of(self.client, self.id, self.desk),
        )
        return workspace.tools(writes=mode.writes, commands=mode.writes)

    async def equip(self, mode: Mode) -> Kit:
        """Return what the agent of a turn in this mode is given."""
        setup = self.setup
        tools = self.workspace(mode)
        middleware = list(setup.middleware(self.folder)) if setup.middleware is not None else []
        if mode.plans:
            tools += plan_tools(self.shelf.publish, self.shelf.dismiss, self._inside)
        tools += await self._server_tools(mode)
        words = [setup.instruction, mode.instruction, f"The project is in {self.cwd}."]
        return Kit(
            tools=tools,
            middleware=middleware,
            instruction="\n\n".join(word for word in words if word)
            + (LEFT_OUT if self._left_out else ""),
            kinds=self.kinds,
            heard=self._hear,
        )

    async def _server_tools(self, mode: Mode) -> list[Tool]:
        """Return the tools of MCP servers; a mode that does not write has those that only read."""
        if self._mcp is None:
            return []
        found = await self._mcp.tools()
        for failure in self._mcp.failures:
            content = {"type": "text", "text": f"{failure}\n\n"}
            await self.send({"sessionUpdate": "agent_message_chunk", "content": content})
        self._mcp.failures.clear()
        self.kinds |= {one.tool.name: one.kind for one in found}
        return [one.tool for one in found if mode.writes or one.is_read_only]

    async def answer(self, command: SlashCommand) -> str:
        """Answer a slash command."""
        return command.name

    async def replay_plans(self) -> None:
        """Show every plan to a client that knows none of them."""
        await self.publisher.replay()

    async def _hear(self, data: object) -> None:
        """Take an event of a tool or hook."""

    def _inside(self, path: str) -> Path:
        return resolve(self.cwd, path, [Path(one) for one in self.card.additional_directories])

    async def settle_workers(self) -> None:
        """Return when no worker of this session works any more."""

    async def show_plans(self) -> None:
        """Bring the plans on the client to the true state."""
        await self.publisher.flush()

    async def close(self) -> None:
        """Let go of everything."""
        if self._mcp is not None:
            await self._mcp.close()
        await self.publisher.aclose()
        await anyio.to_thread.run_sync(self.transcript.close)
