"""A model that follows a script: for tests, demos and work without a network.

    ScriptedModel(["Hello."])                                   # replies, one per call
    ScriptedModel([call_tool("add", a=1, b=2), "It is 3."])
    ScriptedModel([TimeoutError("slow"), "Better now."])        # an error is raised
    ScriptedModel(lambda messages: f"You said {messages[-1].text}")

A function serves any number of runs at once; a list is consumed in the order of the calls.
"""

import inspect
import itertools
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeAlias

import anyio
import msgspec
from msgspec import Struct

from taskloom.agent.chat_model import Delta, DeltaSink, ModelRequest
from taskloom.agent.errors import ModelError
from taskloom.agent.messages import Message, ToolCall, Usage, new_id


class Say(Struct, frozen=True, kw_only=True):
    """A scripted reply with all its options.

    `chunks` are the chunks of text when the run streams (by default the text in chunks of
    `chunk_chars`); `breaks_with` is raised before the last chunk.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    thinking: str = ""
    usage: Usage | None = None
    delay_s: float = 0.0
    chunks: tuple[str, ...] = ()
    breaks_with: Exception | None = None


Reply: TypeAlias = str | Message | Say | Exception
"""A scripted reply; an exception is raised."""

Script: TypeAlias = Iterable[Reply] | Callable[[Sequence[Message]], Reply | Awaitable[Reply]]
"""Replies in order, or a function of the messages."""


def call_tool(name: str, /, **arguments: Any) -> Message:
    """Return a reply that calls one tool."""
    return call_tools((name, arguments))


def call_tools(*calls: tuple[str, dict[str, Any]], text: str = "") -> Message:
    """Return a reply that calls several tools at once."""
    made = (
        ToolCall(new_id("c_"), name, msgspec.json.encode(arguments).decode())
        for name, arguments in calls
    )
    return Message.assistant(text, *made)


class ScriptedModel:
    """A `ChatModel` that follows a script; `requests` keeps the requests it got."""

    def __init__(self, script: Script, *, name: str = "scripted", chunk_chars: int = 16) -> None:
        self._next = script if callable(script) else self._from_list(script)
        self._name = name
        self._chunk_chars = max(1, chunk_chars)
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        """The name in traces and messages."""
        return self._name

    def _from_list(self, replies: Iterable[Reply]) -> Callable[[Sequence[Message]], Reply]:
        left = iter(replies)
        count = itertools.count(1)

        def follow(_: Sequence[Message]) -> Reply:
            number = next(count)
            try:
                return next(left)
            except StopIteration:
                raise ModelError(
                    f"The script has no reply for call {number}; add one.",
                    kind="script_ended",
                    retryable=False,
                ) from None

        return follow

    async def generate(self, request: ModelRequest) -> Message:
        """Return the next reply of the script."""
        self.requests.append(request)
        reply = self._next(request.messages)
        if inspect.isawaitable(reply):
            reply = await reply
        if isinstance(reply, str):
            reply = Say(text=reply)
        elif isinstance(reply, Exception):
            raise reply
        message = reply if isinstance(reply, Message) else _message(reply)
        extra = reply if isinstance(reply, Say) else Say()
        if extra.delay_s:
            await anyio.sleep(extra.delay_s)
        if request.on_delta is not None:
            await self._stream(message, extra, request.on_delta)
        if extra.breaks_with is not None:
            raise extra.breaks_with
        return message

    async def _stream(self, message: Message, extra: Say, on_delta: DeltaSink) -> None:
        deltas = [Delta(thinking=extra.thinking)] if extra.thinking else []
        deltas += [Delta(text=text) for text in extra.chunks or self._cut(message.text)]
        for index, call in enumerate(message.tool_calls):
            first, *others = self._cut(call.arguments) or [""]
            deltas.append(Delta(call_index=index, tool_name=call.name, arguments=first))
            deltas += [Delta(call_index=index, arguments=more) for more in others]
        if extra.breaks_with is not None:
            deltas = deltas[:-1]
        for delta in deltas:
            await on_delta(delta)

    def _cut(self, text: str) -> list[str]:
        size = self._chunk_chars
        return [text[start : start + size] for start in range(0, len(text), size)]


def _message(reply: Say) -> Message:
    return Message("assistant", reply.text, reply.calls, usage=reply.usage)
