"""A session that this process has open: its conversation, plans, permissions and workers."""

import logging
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio.to_thread

from taskloom.acp.modes import DEFAULT_MODES, Mode, modes_of
from taskloom.acp.options import AcpOptions
from taskloom.acp.permissions import ClientAsker
from taskloom.acp.plans import PlanPublisher, PublishedPlans, TaskList, Update
from taskloom.acp.protocol.client import Client
from taskloom.acp.protocol.tool_calls import ToolCallTracker
from taskloom.acp.workers import SessionWorkers
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


class OpenSession:
    """One open session. Everything in it belongs to one event loop."""

    def __init__(self, directory: SessionDirectory, options: AcpOptions, client: Client) -> None:
        """Take what it is made from; nothing is read or sent yet."""
        self.directory = directory
        self.options = options
        self.client = client
        self.id = directory.session_id
        self.cwd = directory.project
        self.host_lock = directory.host_lock("taskloom acp")
        self.modes = modes_of(orchestrates=options.make_pools is not None)
        self.conversation = Conversation(directory, options.language)
        self.tool_calls = ToolCallTracker(self.id, self.send)
        self.permissions = (
            options.make_permissions(directory)
            if options.make_permissions is not None
            else PermissionPolicy(state_dir=directory.project / directory.state_dir)
        )
        self.publisher = PlanPublisher(self.send, client.capabilities)
        self.publisher.hold()  # Clients look for plans within turns.
        self.published_plans = PublishedPlans(directory.plans, self.publisher)
        self.task_list = TaskList(directory.root, self.publisher, options.language)
        self.workers = SessionWorkers(directory, options, client, self.publisher, self.permissions)
        self.has_left_out = False
        """Whether the model no longer gets the beginning of the conversation."""
        self.tool_kinds: dict[str, str] = {}
        """The kinds of tools that are not built in, by name."""
        self.mcp: Any = None

    @property
    def info(self) -> SessionInfo:
        """The content of `session.json`."""
        return self.directory.info

    @property
    def mode(self) -> Mode:
        """The current mode: the chosen one if it is offered, else the default."""
        default = DEFAULT_MODES.get(self.info.kind, "")
        chosen = self.modes.get(self.info.mode) or self.modes.get(default)
        return chosen or next(iter(self.modes.values()))

    @property
    def roots(self) -> list[Path]:
        """The directories that tools may use."""
        return [self.cwd, *(Path(one) for one in self.info.additional_directories)]

    async def open(self, mcp_servers: Sequence[object]) -> None:
        """Load the published plans, and start to connect MCP servers."""
        await anyio.to_thread.run_sync(self.published_plans.load)
        if mcp_servers:
            # Loaded with the first server: the library takes most of a second.
            module = import_module("taskloom.acp.mcp_servers")
            self.mcp = module.McpConnections(mcp_servers, self.cwd, self._permit_tool)
            self.mcp.start()

    async def close(self) -> None:
        """Close everything and release the host lock."""
        if self.mcp is not None:
            await self.mcp.close()
        await self.workers.close()
        await self.publisher.aclose()
        await anyio.to_thread.run_sync(self.conversation.close)
        self.host_lock.release()

    # The conversation.

    async def read_records(self) -> list[Record]:
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
        conversation = self.conversation
        fitting = fit_messages(conversation.messages, self.options.context_tokens // 2)
        self.has_left_out = self.has_left_out or len(fitting) < len(conversation.messages)
        conversation.messages = fitting
        return records

    def end_turn(self) -> None:
        """Release the host lock, unless a worker has not stopped yet."""
        if not self.workers.is_working:
            self.host_lock.release()

    def _read_conversation(self) -> list[Record]:
        records = self.conversation.begin()
        try:
            records += self.conversation.add_interrupted_turn()
        except TaskloomError as error:  # The rest of the conversation is complete without it.
            _LOG.warning("cannot read an interrupted turn: %s", error)
        return records

    async def update(self, **changes: object) -> None:
        """Change fields of `session.json`."""
        await anyio.to_thread.run_sync(lambda: self.directory.update(**changes))

    # The client.

    async def send(self, update: Update) -> None:
        """Send one update of this session."""
        await self.client.update(self.id, update)

    async def send_text(self, text: str) -> None:
        """Send a text that is not the model's."""
        content = {"type": "text", "text": text}
        await self.send({"sessionUpdate": "agent_message_chunk", "content": content})

    async def send_plans(self, *, all_again: bool = False) -> None:
        """Send the current state of every plan that changed, or of all plans."""
        await self.refresh_plans()
        await (self.publisher.replay() if all_again else self.publisher.flush())

    async def refresh_plans(self) -> None:
        """Read the task list and the board again, which other processes may have changed."""
        try:
            await self.task_list.publish_current()
            await self.workers.publish_tasks()
        except (TaskloomError, OSError) as error:
            _LOG.warning("cannot read the plans: %s", error)

    async def _permit_tool(self, tool: str) -> bool:
        asker = ClientAsker(self.client, self.tool_calls)
        return await self.permissions.decide("taskloom", ToolRequest(tool), asker)
