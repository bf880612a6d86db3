"""The JSON of `--json`: what each thing that happens or is said looks like. A stable form."""

from collections.abc import Callable
from typing import Final

import msgspec

from taskloom.agent import (
    CustomEvent,
    Event,
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
from taskloom.app.session_host import Host
from taskloom.orchestrator import RunOutput, SessionEvent

VERSION: Final = 1

Object = dict[str, object]


def session(host: Host) -> Object:
    """Return the first line."""
    info = host.session.info
    return {
        "type": "session",
        "version": VERSION,
        "session_id": info.session_id,
        "goal": info.goal,
        "created_at": info.created_at,
        "given_back": host.released_steps,
    }


def session_event(seen: SessionEvent) -> Object:
    """Return a change of the board, or what became of a worker."""
    return {
        "type": "event",
        "event_type": seen.event_type,
        "at": seen.at,
        "task_id": seen.task_id,
        "step_id": seen.step_id,
        "agent_id": seen.agent_id,
        "run_id": seen.run_id,
        "wal_seq": seen.wal_seq,
        "payload": seen.payload,
    }


def said(run_id: str, words: RunOutput) -> Object:
    """Return something that a run said."""
    if isinstance(words, str):
        return {"type": "output", "run_id": run_id, "text": words}
    within: list[str] = []
    while isinstance(words, NestedEvent):
        within.append(words.agent)
        words = words.event
    told = _FORMS[type(words)](words)
    return {**told, "run_id": run_id, **({"within": within} if within else {})}


def _started(said: RunStarted) -> Object:
    return {"type": "started", "resumed": said.resumed}


def _delta(said: ModelDelta) -> Object:
    delta = said.delta
    return {
        "type": "delta",
        "message_id": said.message_id,
        "text": delta.text,
        "thinking": delta.thinking,
        "tool": delta.tool_name,
        "arguments": delta.arguments,
    }


def _superseded(said: ModelSuperseded) -> Object:
    return {"type": "superseded", "message_id": said.message_id, "error": said.error}


def _reply(said: ModelReply) -> Object:
    message = said.message
    calls = [
        {"call_id": call.id, "tool": call.name, "arguments": call.arguments}
        for call in message.tool_calls
    ]
    return {"type": "reply", "message_id": message.id, "text": message.text, "calls": calls}


def _tool_call(said: ToolStarted) -> Object:
    call = said.call
    return {
        "type": "tool_call",
        "call_id": call.id,
        "tool": call.name,
        "arguments": call.arguments,
    }


def _tool_output(said: ToolDelta) -> Object:
    return {
        "type": "tool_output",
        "call_id": said.call_id,
        "tool": said.tool_name,
        "chunk": said.chunk,
    }


def _tool_result(said: ToolResult) -> Object:
    message = said.message
    return {
        "type": "tool_result",
        "call_id": message.tool_call_id,
        "tool": message.tool_name,
        "content": message.content,
        "is_error": message.is_error,
    }


def _custom(said: CustomEvent) -> Object:
    try:
        data: object = msgspec.to_builtins(said.data)
    except (TypeError, ValueError, RecursionError):
        data = repr(said.data)[:10_000]  # Whatever a tool sent; it may be no JSON at all.
    return {"type": "custom", "data": data}


def _failed(said: RunFailed) -> Object:
    return {"type": "failed", "error": f"{type(said.error).__name__}: {said.error}"}


def _ended(said: RunEnded) -> Object:
    return {"type": "ended", "stop_reason": said.result.stop_reason}


_FORMS: Final[dict[type[Event], Callable[..., Object]]] = {
    RunStarted: _started,
    ModelDelta: _delta,
    ModelSuperseded: _superseded,
    ModelReply: _reply,
    ToolStarted: _tool_call,
    ToolDelta: _tool_output,
    ToolResult: _tool_result,
    CustomEvent: _custom,
    RunFailed: _failed,
    RunEnded: _ended,
}
