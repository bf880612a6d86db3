"""A session while this process has it open: its state, its plans, its permissions."""

import logging
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio.to_thread

from taskloom.acp.client import Client
from taskloom.acp.modes import Mode, modes_of
from taskloom.acp.options import AcpOptions
from taskloom.acp.permissions import ClientAsker
from taskloom.acp.plans.encoding import Update
from taskloom.acp.plans.from_task_list import TaskList
from taskloom.acp.plans.published import PublishedPlans
from taskloom.acp.plans.publisher import PlanPublisher
from taskloom.acp.session_workers import SessionWorkers
from taskloom.acp.tool_call_tracker import ToolCallTracker
from taskloom.errors import TaskloomError
from taskloom.session import (
    Conversation,
    PermissionPolicy,
    Record,
    SessionDirectory,
    SessionInfo,
    ToolRequest,
    fit_messages,
)

_LOG = logging.getLogger("taskloom.acp")


class LiveSession:
    """One session. Everything in it belongs to one event loop."""

    def __init__(self, directory: SessionDirectory, *, setup: AcpOptions, client: Client) -> None:
        """Open it; nothing is read or sent yet."""
        self.directory = directory
        self.setup = setup
        self.client = client
        self.cwd = Path(directory.info.cwd)
        self.folder = directory.root
        self.host_lock = directory.host_lock("taskloom acp")
        self.modes = modes_of(orchestrates=setup.make_pools is not None)
        self.desk = ToolCallTracker(directory.session_id, self.send)
        self.permissions = (
            setup.make_permissions(directory)
            if setup.make_permissions is not None
            else PermissionPolicy(state_dir=self.cwd / setup.state_dir)
        )
        self.publisher = PlanPublisher(self.send, client.capabilities)
        self.publisher.hold()  # Plans go out within turns, where the client looks for them.
        self.shelf = PublishedPlans(directory.plans, self.publisher)
        self.tasks = TaskList(self.folder, self.publisher, setup.language)
        self.staff = SessionWorkers(self)
        self.conversation = Conversation(directory, setup.language)
        self.has_left_out = False
        """Whether the model is no longer told the beginning."""
        self.kinds: dict[str, str] = {}
        """The kinds of tools that are not the house's own, by name."""
        self.mcp: Any = None

    @property
    def id(self) -> str:
        """The session's id."""
        return self.directory.session_id

    @property
    def info(self) -> SessionInfo:
        """What `session.json` says."""
        return self.directory.info

    @property
    def mode(self) -> Mode:
        """The mode it is in; the default if none was chosen, or the chosen one is not offered."""
        default = "code" if self.info.kind == "acp" else "orchestrate"
        chosen = self.modes.get(self.info.mode) or self.modes.get(default)
        return chosen or next(iter(self.modes.values()))

    @property
    def roots(self) -> list[Path]:
        """The directories that may be used."""
        return [self.cwd, *(Path(one) for one in self.info.additional_directories)]

    @property
    def shows_board(self) -> bool:
        """Whether the person wants to see the board's Tasks as plans."""
        chosen = self.info.show_board
        return self.setup.show_task_board if chosen is None else chosen

    async def open(self, servers: Sequence[object]) -> None:
        """Begin to connect MCP servers, and know the plans there are."""
        await anyio.to_thread.run_sync(self.shelf.load)
        if servers:
            # Loaded with the first server: the library takes most of a second.
            module = import_module("taskloom.acp.mcp_servers")
            self.mcp = module.McpHost(servers, self.cwd, self._permit_tool)
            self.mcp.start()

    async def _permit_tool(self, tool: str) -> bool:
        asker = ClientAsker(self.client, self.desk)
        return await self.permissions.decide("taskloom", ToolRequest(tool), asker)

    async def send(self, update: Update) -> None:
        """Send one update of this session."""
        await self.client.update(self.id, update)

    async def say(self, text: str) -> None:
        """Tell the person something that is not the model's."""
        content = {"type": "text", "text": text}
        await self.send({"sessionUpdate": "agent_message_chunk", "content": content})

    async def read(self) -> list[Record]:
        """Return the records of the conversation that this process has not read yet.

        Raises:
            RefusedError: another process hosts the session.
        """
        try:
            records = await self.begin_turn()
            self.conversation.end()
        finally:
            self.end_turn()
        return records

    async def begin_turn(self) -> list[Record]:
        """Take the host lock; return what other processes added to the conversation.

        Raises:
            RefusedError: another process hosts the session.
            StorageError: the lock or the transcript cannot be used.
        """
        if not self.host_lock.is_held:
            await anyio.to_thread.run_sync(self.host_lock.acquire)
        records = await anyio.to_thread.run_sync(self._read_conversation)
        fitting = fit_messages(self.conversation.messages, self.setup.context_tokens // 2)
        self.has_left_out = self.has_left_out or len(fitting) < len(self.conversation.messages)
        self.conversation.messages = fitting
        return records

    def _read_conversation(self) -> list[Record]:
        records = self.conversation.begin()
        try:
            records += self.conversation.add_interrupted_turn()
        except TaskloomError as error:  # The rest of the conversation is complete without it.
            _LOG.warning("an interrupted turn cannot be read: %s", error)
        return records

    def end_turn(self) -> None:
        """Let other processes host the session, unless a worker has not stopped yet."""
        if not self.staff.is_working:
            self.host_lock.release()

    async def change(self, **changes: object) -> None:
        """Change what is known of the session, durably."""
        await anyio.to_thread.run_sync(lambda: self.directory.update(**changes))

    async def show_plans(self) -> None:
        """Bring the plans on the client to the true state."""
        await self._read_plans()
        await self.publisher.flush()

    async def replay_plans(self) -> None:
        """Show every plan to a client that knows none of them."""
        await self._read_plans()
        await self.publisher.replay()

    async def _read_plans(self) -> None:
        try:
            await self.tasks.show()
            await self.staff.show()
        except (TaskloomError, OSError) as error:
            _LOG.warning("the plans could not be read: %s", error)

    async def close(self) -> None:
        """Let go of everything."""
        if self.mcp is not None:
            await self.mcp.close()
        await self.staff.close()
        await self.publisher.aclose()
        await anyio.to_thread.run_sync(self.conversation.close)
        self.host_lock.release()
