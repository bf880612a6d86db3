"""A run's events as the client's updates, in their order, and what the transcript keeps of them."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from taskloom.acp.content_blocks import blocks_of
from taskloom.acp.plans.publisher import Send
from taskloom.acp.tool_call_info import content_of, raw_output, tool_call_info
from taskloom.acp.tool_call_tracker import ToolCallTracker
from taskloom.agent import (
    CustomEvent,
    Event,
    Message,
    ModelDelta,
    ModelReply,
    ModelSuperseded,
    NestedEvent,
    RunEnded,
    RunFailed,
    RunStarted,
    ToolDelta,
    ToolResult,
    ToolStarted,
)
from taskloom.session import MessageRecord

Heard: TypeAlias = Callable[[object], Awaitable[None]]
"""Takes what a tool or hook sent as an event of its own."""

KEPT_CHARS_MAX: Final = 200_000
"""Of a diff in the transcript: a session of many edits of a big file must stay readable."""

BEGUN_AGAIN = "\n\n*The answer broke off and is begun again.*\n\n"


class UpdateWriter:
    """Tells one turn."""

    def __init__(
        self,
        send: Send,
        desk: ToolCallTracker,
        cwd: Path,
        *,
        kinds: Mapping[str, str],
        heard: Heard,
    ) -> None:
        """Tell through `send`; `kinds` are those of tools that are not the house's own."""
        self._send = send
        self._desk = desk
        self._cwd = cwd
        self._kinds = kinds
        self._heard = heard
        self._message_id = ""
        self._streamed = False
        self._thinking: list[str] = []
        self.tokens = 0
        """What the last reply says was in the model's context."""

    async def tell(self, event: Event) -> MessageRecord | None:
        """Tell one event; return what the transcript keeps of it."""
        match event:
            case ModelDelta():
                await self._tell_delta(event)
            case ModelSuperseded():
                await self._tell_superseded(event)
            case ModelReply():
                return await self._tell_reply(event.message)
            case ToolStarted():
                await self._update(event.call.id, status="in_progress")
            case ToolResult():
                return await self._tell_result(event.message)
            case CustomEvent():
                await self._heard(event.data)
            case NestedEvent():
                await self._tell_nested(event)
            case ToolDelta() | RunStarted() | RunFailed() | RunEnded():
                pass
        return None

    async def close(self) -> None:
        """Tell the client that what had no result will have none."""
        for id_ in self._desk.open:
            await self._send(
                {"sessionUpdate": "tool_call_update", "toolCallId": id_, "status": "failed"}
            )
        self._desk.clear()

    async def _tell_delta(self, event: ModelDelta) -> None:
        if event.message_id != self._message_id:
            self._message_id, self._streamed = event.message_id, False
            self._thinking.clear()
        delta = event.delta
        if delta.thinking:
            self._thinking.append(delta.thinking)
            await self._chunk("agent_thought_chunk", event.message_id, delta.thinking)
        if delta.text:
            self._streamed = True
            await self._chunk("agent_message_chunk", event.message_id, delta.text)

    async def _tell_superseded(self, event: ModelSuperseded) -> None:
        if event.message_id == self._message_id and self._streamed:
            await self._chunk("agent_message_chunk", event.message_id, BEGUN_AGAIN)
        self._streamed = False
        self._thinking.clear()

    async def _tell_reply(self, message: Message) -> MessageRecord:
        streamed = self._streamed and message.id == self._message_id
        if not streamed:
            for block in blocks_of(message):
                await self._send(
                    {
                        "sessionUpdate": "agent_message_chunk",
                        "messageId": message.id,
                        "content": block,
                    }
                )
        if message.usage is not None:
            self.tokens = message.usage.input_tokens + message.usage.output_tokens
        for call in message.tool_calls:
            card = tool_call_info(call, self._cwd, self._kinds)
            id_ = self._desk.put(message.id, call.id, card)
            await self._send(
                {"sessionUpdate": "tool_call", **card.as_call(id_), "status": "pending"}
            )
            self._desk.announce(call.id)
        thinking = "".join(self._thinking)
        self._thinking.clear()
        self._streamed = False
        return MessageRecord(message, thinking)

    async def _tell_result(self, message: Message) -> MessageRecord:
        shown = self._desk.close(message.tool_call_id)
        await self._update(
            message.tool_call_id,
            status="failed" if message.is_error else "completed",
            content=result_content(message, shown),
            rawOutput=raw_output(message),
        )
        return MessageRecord(message, shown=[one for one in shown if _is_kept(one)])

    async def _tell_nested(self, event: NestedEvent) -> None:
        """Tell how far an agent that runs as a tool has come: with its call, one line at a time."""
        if isinstance(event.event, ToolStarted):
            card = tool_call_info(event.event.call, self._cwd, self._kinds)
            text = f"{event.agent}: {card.title}"
            content = {"type": "content", "content": {"type": "text", "text": text}}
            await self._update(event.call_id, content=[content])

    async def _update(self, call_id: str, **fields: object) -> None:
        id_ = self._desk.id_of(call_id)
        await self._send({"sessionUpdate": "tool_call_update", "toolCallId": id_, **fields})

    async def _chunk(self, kind: str, message_id: str, text: str) -> None:
        content = {"type": "text", "text": text}
        await self._send({"sessionUpdate": kind, "messageId": message_id, "content": content})


def _is_kept(content: dict[str, Any]) -> bool:
    """Tell whether content is shown again later: a terminal is gone by then, a huge diff long."""
    if content.get("type") != "diff":
        return False
    return len(content["newText"]) + len(content.get("oldText", "")) <= KEPT_CHARS_MAX


def result_content(message: Message, shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what is shown with a call that has ended: its diff or terminal, else its text."""
    return list(shown) if shown and not message.is_error else [*shown, *content_of(message)]
