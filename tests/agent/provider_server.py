"""A provider on loopback: real HTTP, with replies in the formats of OpenAI and Anthropic.

Each request is answered by the next of the answers it was given; what was asked is kept.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from taskloom.agent import ToolCall


@dataclass
class Answer:
    """One HTTP answer. `cut` ends the connection before the body is whole."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    cut: bool = False
    silent: bool = False


@dataclass
class Server:
    """What the tests see of it."""

    answers: list[Answer]
    base_url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    silent: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        pairs = (line.partition(":") for line in head.split("\r\n")[1:] if line)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.asked.append(json.loads(body))
        self.headers.append(headers)
        answer = self.answers.pop(0)
        if answer.silent:
            self.silent.set()
            await reader.read()  # Nothing comes until the client has gone.
            return False
        length = len(answer.body) + (1 if answer.cut else 0)
        lines = [f"HTTP/1.1 {answer.status} X", f"content-length: {length}"]
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + answer.body)
        await writer.drain()
        return not answer.cut


@asynccontextmanager
async def serving(answers: Sequence[Answer]) -> AsyncGenerator[Server]:
    """Run a server while the block runs."""
    server = Server(list(answers))
    listening = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    server.base_url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listening.close()


def reply(data: object, status: int = 200, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(json.dumps(data).encode(), status, {"content-type": "application/json", **named})


def stream(events: Sequence[tuple[str, object]], *, cut: bool = False) -> Answer:
    """Server-sent events; a name of "" gives a line of data alone."""
    text = "".join(
        (f"event: {name}\n" if name else "")
        + f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n"
        for name, data in events
    )
    return Answer(text.encode(), headers={"content-type": "text/event-stream"}, cut=cut)


class OpenAI:
    """Chat completions."""

    model = "openai:test-model"
    path = "/v1"

    @staticmethod
    def whole(text: str, *calls: ToolCall) -> Answer:
        message: dict[str, object] = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in calls
            ]
        return reply(
            {
                "id": "r1",
                "object": "chat.completion",
                "created": 1,
                "model": "test-model",
                "choices": [
                    {
                        "index": 0,
                        "message": message,
                        "finish_reason": "tool_calls" if calls else "stop",
                    }
                ],
                "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
            }
        )

    @staticmethod
    def streamed(text: str, *calls: ToolCall, cut: bool = False) -> Answer:
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": text[n : n + 4]} for n in range(0, len(text), 4)]
        for index, call in enumerate(calls):
            function = {"name": call.name, "arguments": ""}
            first = {"index": index, "id": call.id, "type": "function", "function": function}
            deltas.append({"tool_calls": [first]})
            for start in range(0, len(call.arguments), 5):
                more = {"arguments": call.arguments[start : start + 5]}
                deltas.append({"tool_calls": [{"index": index, "function": more}]})
        if cut:
            deltas = deltas[: len(deltas) // 2 + 1]

        def chunk(delta: object, finish: str | None = None) -> dict[str, object]:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return {
                "id": "r1",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "test-model",
                "choices": [choice],
            }

        events: list[tuple[str, object]] = [("", chunk(delta)) for delta in deltas]
        if not cut:
            events.append(("", chunk({}, "tool_calls" if calls else "stop")))
            events.append(("", "[DONE]"))
        return stream(events, cut=cut)


class Anthropic:
    """Messages."""

    model = "anthropic:test-model"
    path = ""

    @staticmethod
    def whole(text: str, *calls: ToolCall) -> Answer:
        content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        content += [
            {"type": "tool_use", "id": c.id, "name": c.name, "input": json.loads(c.arguments)}
            for c in calls
        ]
        return reply(
            {
                "id": "r1",
                "type": "message",
                "role": "assistant",
                "model": "test-model",
                "content": content,
                "stop_reason": "tool_use" if calls else "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 11, "output_tokens": 7},
            }
        )

    @staticmethod
    def streamed(text: str, *calls: ToolCall, cut: bool = False) -> Answer:
        start: dict[str, Any] = {
            "id": "r1",
            "type": "message",
            "role": "assistant",
            "model": "test-model",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 11, "output_tokens": 1},
        }
        events: list[tuple[str, dict[str, Any]]] = [("message_start", {"message": start})]
        blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
        if text:
            chunks = [text[n : n + 4] for n in range(0, len(text), 4)]
            blocks.append(
                (
                    {"type": "text", "text": ""},
                    [{"type": "text_delta", "text": chunk} for chunk in chunks],
                )
            )
        for call in calls:
            chunks = [call.arguments[n : n + 5] for n in range(0, len(call.arguments), 5)]
            blocks.append(
                (
                    {"type": "tool_use", "id": call.id, "name": call.name, "input": {}},
                    [{"type": "input_json_delta", "partial_json": chunk} for chunk in chunks],
                )
            )
        for index, (block, deltas) in enumerate(blocks):
            events.append(("content_block_start", {"index": index, "content_block": block}))
            events += [("content_block_delta", {"index": index, "delta": d}) for d in deltas]
            events.append(("content_block_stop", {"index": index}))
        if cut:
            events = events[: len(events) // 2 + 1]
        else:
            stop = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
            events.append(("message_delta", {"delta": stop, "usage": {"output_tokens": 7}}))
            events.append(("message_stop", {}))
        return stream([(name, {"type": name, **data}) for name, data in events], cut=cut)


FORMATS = [OpenAI, Anthropic]
