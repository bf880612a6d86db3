"""A plan in any client's plan view, from an agent on the official ACP SDK.

Start it from a client: the command is `python examples/acp_plan.py`.
"""

import asyncio
from typing import Any
from uuid import uuid4

import acp
from acp.connection import StreamEvent
from acp.schema import InitializeResponse, NewSessionResponse, PromptResponse

from taskloom.acp import EntryState, ItemsPlan, PlanEntry, PlanPublisher, session_sender

STEPS = ("Look around", "Write it", "Test it")


def state(step: int, now: int) -> EntryState:
    """Return the state of a step while step number `now` is in progress."""
    if step == now:
        return "in_progress"
    return "completed" if step < now else "pending"


class PlanningAgent:
    """Shows a plan of three steps and completes them one by one."""

    def __init__(self) -> None:
        self.capabilities: dict[str, Any] = {}
        self.connection: acp.AgentSideConnection | None = None

    def observe(self, event: StreamEvent) -> None:
        """Keep the client's capabilities as they came: the SDK's models drop some."""
        if event.message.get("method") == "initialize":
            self.capabilities = event.message["params"].get("clientCapabilities") or {}

    def on_connect(self, connection: acp.AgentSideConnection) -> None:
        self.connection = connection

    async def initialize(self, **_: object) -> InitializeResponse:
        return InitializeResponse(protocol_version=acp.PROTOCOL_VERSION)

    async def new_session(self, **_: object) -> NewSessionResponse:
        return NewSessionResponse(session_id=uuid4().hex)

    async def prompt(self, session_id: str, **_: object) -> PromptResponse:
        plans = PlanPublisher(session_sender(self.connection, session_id), self.capabilities)
        for now in range(len(STEPS) + 1):
            entries = (PlanEntry(text, state(n, now)) for n, text in enumerate(STEPS))
            plans.publish(ItemsPlan("steps", tuple(entries)))
            await asyncio.sleep(0.5)
        await plans.flush()
        return PromptResponse(stop_reason="end_turn")


if __name__ == "__main__":
    agent: Any = PlanningAgent()
    asyncio.run(acp.run_agent(agent, observers=[agent.observe]))
