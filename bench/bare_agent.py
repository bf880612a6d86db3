"""The baseline: the agent loop written by hand, with only what it needs."""

import json
from typing import Any

import anyio

from taskloom.agent import Message, ModelRequest, ToolCall

RESULT = "x" * 200


async def look(q: str) -> str:
    """Look something up."""
    assert q
    return RESULT


class Model:
    """Asks for `turns` tool calls, one at a time, then answers; any number of runs at once."""

    name = "instant"

    def __init__(self, turns: int, delay_s: float = 0.0) -> None:
        """Say how many, and how long it thinks."""
        self._turns = turns
        self._delay_s = delay_s

    async def generate(self, request: ModelRequest) -> Message:
        """Give the next reply, known by how long the conversation is."""
        if self._delay_s:
            await anyio.sleep(self._delay_s)
        turn = len(request.messages) // 2
        if turn < self._turns:
            return Message.assistant("", ToolCall(f"c{turn}", "look", '{"q":"a"}'))
        return Message.assistant("done")


async def bare_loop(turns: int) -> list[dict[str, Any]]:
    """Do what the agent does, by hand."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    tools = {"look": look}

    async def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
        turn = len(messages) // 2
        if turn < turns:
            call = {"id": f"c{turn}", "name": "look", "arguments": '{"q":"a"}'}
            return {"role": "assistant", "content": "", "tool_calls": [call]}
        return {"role": "assistant", "content": "done", "tool_calls": []}

    while True:
        reply = await model(messages)
        messages.append(reply)
        if not reply["tool_calls"]:
            return messages
        for call in reply["tool_calls"]:
            result = await tools[call["name"]](**json.loads(call["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


async def bare_stream(chunks: int) -> str:
    """Hand over pieces through a callback and join them."""
    pieces: list[str] = []

    async def on_delta(text: str) -> None:
        pieces.append(text)

    for _ in range(chunks):
        await on_delta("word ")
    return "".join(pieces)
