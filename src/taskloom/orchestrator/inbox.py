"""Messages of people to one agent run, which reads them before its next model call."""

import asyncio
from collections import deque
from types import TracebackType
from typing import NamedTuple, Self

from msgspec import Struct

from taskloom.agent import (
    Message,
    Middleware,
    ModelHandler,
    ModelRequest,
    State,
    send_event,
    sync_journal,
)


class MessageDelivered(Struct, frozen=True):
    """The data of the `CustomEvent` in a run's output when it reads a person's message."""

    text: str


class _Waiting(NamedTuple):
    text: str
    delivered: "asyncio.Future[bool]"


class Inbox(Middleware):
    """Puts messages of people into one run's conversation. It takes them inside its block.

    A message becomes a user message of the conversation, so the journal keeps it and a resumed run
    has it. A run whose model has finished when a message comes asks the model again.
    """

    def __init__(self) -> None:
        """Start closed."""
        self.awaits_model = False
        """Whether a model call of the run is active."""
        self._is_open = False
        self._waiting: deque[_Waiting] = deque()
        self._taken: list[_Waiting] = []

    def __enter__(self) -> Self:
        """Take messages from now on."""
        self._is_open = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Refuse the messages that the run has not read."""
        self._is_open = False
        for message in (*self._taken, *self._waiting):
            if not message.delivered.done():
                message.delivered.set_result(False)
        self._taken.clear()
        self._waiting.clear()

    async def deliver(self, text: str) -> bool:
        """Return True when the run has read the message, False if it ends before that."""
        if not self._is_open:
            return False
        message = _Waiting(text, asyncio.get_running_loop().create_future())
        self._waiting.append(message)
        return await message.delivered

    async def before_model(self, state: State) -> None:
        """Add the messages to the conversation."""
        self._take(state)

    async def after_model(self, state: State) -> None:
        """Add the messages after a final reply, so that the model is asked again."""
        if not state.messages[-1].tool_calls:
            self._take(state)

    def _take(self, state: State) -> None:
        while self._waiting:
            message = self._waiting.popleft()
            if not message.delivered.cancelled():
                self._taken.append(message)
                state.messages.append(Message.user(message.text))

    async def wrap_model(self, request: ModelRequest, call: ModelHandler) -> Message:
        """Report the messages as delivered once they are durable in the run's journal."""
        taken, self._taken = self._taken, []
        if taken:
            await sync_journal()
        for message in taken:
            await send_event(MessageDelivered(message.text))
            if not message.delivered.done():
                message.delivered.set_result(True)
        self.awaits_model = True
        try:
            return await call(request)
        finally:
            self.awaits_model = False
