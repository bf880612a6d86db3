"""The tool calls of a turn that is under way: what the client was told of each, and is shown."""

import asyncio
from typing import Any, Final

import anyio

from taskloom.acp.plans.publisher import Send
from taskloom.acp.tool_call_info import ToolCallInfo

TOLD_S: Final = 2.0
"""How long a question waits for the telling to catch up before it is asked all the same."""


class ToolCallTracker:
    """Keeps calls by the ids that models give them, which are theirs alone within one reply.

    A client wants ids that hold for a whole session: the reply's id goes before the call's.
    """

    def __init__(self, session_id: str, send: Send) -> None:
        """Name the session on whose stream the calls are, and how it is sent to."""
        self.session_id = session_id
        self._send = send
        self._ids: dict[str, str] = {}
        self._cards: dict[str, ToolCallInfo] = {}
        self._shown: dict[str, list[dict[str, Any]]] = {}
        self._open: dict[str, None] = {}
        self._waiting: dict[str, asyncio.Future[None]] = {}

    def move(self, session_id: str, send: Send) -> None:
        """Have the calls on another session's stream from now on."""
        self.session_id, self._send = session_id, send

    @property
    def open(self) -> tuple[str, ...]:
        """The calls that have no result yet, by the ids the client knows."""
        return tuple(self._open)

    def put(self, message_id: str, call_id: str, card: ToolCallInfo) -> str:
        """Note a call; return the id the client knows it by."""
        public = public_id(message_id, call_id)
        self._ids[call_id] = public
        self._cards[call_id] = card
        self._open[public] = None
        return public

    def announce(self, call_id: str) -> None:
        """Note that the client was told of a call."""
        waiting = self._waiting.pop(call_id, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    async def told(self, call_id: str) -> None:
        """Return when the client was told of a call: a run may be ahead of the telling."""
        if call_id not in self._ids:
            loop = asyncio.get_running_loop()
            waiting = self._waiting.setdefault(call_id, loop.create_future())
            with anyio.move_on_after(TOLD_S):
                await asyncio.shield(waiting)

    def id_of(self, call_id: str) -> str:
        """Return the id the client knows a call by."""
        return self._ids.get(call_id, call_id)

    def card(self, call_id: str) -> dict[str, Any]:
        """Return what the client was told about a call, and what it is to be shown with it."""
        card = self._cards.get(call_id) or ToolCallInfo("A tool of a worker", "other")
        said = card.as_call(self.id_of(call_id))
        if self._shown.get(call_id):
            said["content"] = list(self._shown[call_id])
        return said

    def show(self, call_id: str, content: dict[str, Any]) -> None:
        """Keep content to be shown with a call; a diff of the same file replaces the one before."""
        shown = self._shown.setdefault(call_id, [])
        shown[:] = [one for one in shown if one.get("path", "") != content.get("path")]
        shown.append(content)

    async def show_now(self, call_id: str, content: dict[str, Any]) -> None:
        """Show content with a call that is under way."""
        await self.told(call_id)
        self.show(call_id, content)
        await self._send(
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": self.id_of(call_id),
                "content": list(self._shown[call_id]),
            }
        )

    def close(self, call_id: str) -> list[dict[str, Any]]:
        """Note a call's end; return what was to be shown with it."""
        self._open.pop(self.id_of(call_id), None)
        return self._shown.pop(call_id, [])

    def clear(self) -> None:
        """Forget the calls of a turn that is over."""
        for waiting in self._waiting.values():
            waiting.cancel()
        for kept in (self._ids, self._cards, self._shown, self._open, self._waiting):
            kept.clear()


def public_id(message_id: str, call_id: str) -> str:
    """Return the id by which a client knows a call."""
    return f"{message_id}.{call_id}"
