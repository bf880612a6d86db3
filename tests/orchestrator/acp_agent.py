"""A small agent on standard streams, for the tests of workers that speak ACP.

What it does depends on the prompt: `DIE` ends the process, `WAIT` waits until it is cancelled,
`ASK` asks for permission first, anything else is answered at once.
"""

import asyncio
import os
from typing import Any

from acp import PROTOCOL_VERSION, run_agent
from acp.schema import (
    AgentMessageChunk,
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    TextContentBlock,
    ToolCallStart,
    ToolCallUpdate,
)


class Worker:
    def __init__(self) -> None:
        self.cancelled = asyncio.Event()
        self.connection: Any = None

    def on_connect(self, conn: object) -> None:
        self.connection = conn

    async def initialize(self, protocol_version: int, **_: object) -> InitializeResponse:
        return InitializeResponse(protocol_version=PROTOCOL_VERSION)

    async def new_session(self, cwd: str, **_: object) -> NewSessionResponse:
        return NewSessionResponse(session_id="s")

    async def say(self, text: str) -> None:
        chunk = AgentMessageChunk(
            session_update="agent_message_chunk",
            content=TextContentBlock(type="text", text=text),
        )
        await self.connection.session_update(session_id="s", update=chunk)

    async def prompt(self, session_id: str, prompt: list[Any], **_: object) -> PromptResponse:
        asked = prompt[0].text
        if "DIE" in asked:
            os._exit(3)
        await self.say("I look around. ")
        call = ToolCallStart(session_update="tool_call", tool_call_id="c1", title="Look")
        await self.connection.session_update(session_id="s", update=call)
        if "WAIT" in asked:
            await self.cancelled.wait()
            return PromptResponse(stop_reason="cancelled")
        if "ASK" in asked:
            await self.say(f"allowed: {await self.ask()}")
            return PromptResponse(stop_reason="end_turn")
        await self.say("Done in ")
        await self.say(os.path.basename(os.getcwd()))
        return PromptResponse(stop_reason="end_turn")

    async def ask(self) -> str:
        answer = await self.connection.request_permission(
            session_id="s",
            tool_call=ToolCallUpdate(tool_call_id="c1", title="remove everything"),
            options=[
                PermissionOption(option_id="always", name="Always", kind="allow_always"),
                PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
                PermissionOption(option_id="no", name="No", kind="reject_once"),
            ],
        )
        return str(getattr(answer.outcome, "option_id", "cancelled"))

    async def cancel(self, session_id: str, **_: object) -> None:
        self.cancelled.set()


if __name__ == "__main__":
    asyncio.run(run_agent(Worker()))  # pyright: ignore[reportArgumentType]  # an agent by shape
