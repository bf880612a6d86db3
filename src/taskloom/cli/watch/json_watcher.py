"""A run for programs: one JSON object per line, the result last.

The guide (docs/guide/command-line.md) documents the fields; they are a stable interface.
"""

import sys
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
    Result,
    RunEnded,
    RunFailed,
    RunStarted,
    ToolDelta,
    ToolResult,
    ToolStarted,
)
from taskloom.app.session_host import Host
from taskloom.cli.output import encode
from taskloom.cli.watch.banners import resume_host
from taskloom.cli.watch.shutdown import Work
from taskloom.cli.watch.watch_session import OutputOfRun, watch_session
from taskloom.ids import RunId
from taskloom.orchestrator import RunOutput, SessionEvent
from taskloom.session import Asker

VERSION: Final = 1

Object = dict[str, object]


class JsonWatcher:
    """Prints everything. No user can be asked: what is not configured is refused."""

    def __init__(self) -> None:
        """Start with nothing printed."""
        self.was_quit = False

    @property
    def asker(self) -> Asker | None:
        """None: programs are not asked."""
        return None

    async def show(self, host: Host, work: Work) -> Result:
        """Do the work and print it."""
        sys.stdout.flush()
        async with watch_session(host, sys.stdout.fileno()) as session:
            try:
                result = await session.write_lines(work, _lines([_session(host)]), _render)
            finally:
                self.was_quit = session.shutdown.is_requested
            await session.writer.write(_lines([self._result(result, host)]))
            return result

    def _result(self, result: Result, host: Host) -> Object:
        error = result.error
        return {
            "type": "result",
            "session_id": host.session.session_id,
            "stop_reason": result.stop_reason,
            "was_quit": self.was_quit,
            "text": result.text,
            "error": None if error is None else f"{type(error).__name__}: {error}",
            "iterations": result.iterations,
            "usage": {
                "input_tokens": result.usage.input_tokens,
                "output_tokens": result.usage.output_tokens,
                "cache_read_tokens": result.usage.cache_read_tokens,
            },
            "resume": resume_host(host),
        }


def _render(events: list[SessionEvent], outputs: list[OutputOfRun]) -> str:
    return _lines([*map(_session_event, events), *(_output(*each) for each in outputs)])


def _lines(objects: list[Object]) -> str:
    return "".join(f"{encode(each).decode()}\n" for each in objects)


def _session(host: Host) -> Object:
    info = host.session.info
    return {
        "type": "session",
        "version": VERSION,
        "session_id": info.session_id,
        "goal": info.goal,
        "created_at": info.created_at,
        "released_steps": host.released_steps,
    }


def _session_event(event: SessionEvent) -> Object:
    return {
        "type": "event",
        "event_type": event.event_type,
        "at": event.at,
        "task_id": event.task_id,
        "step_id": event.step_id,
        "agent_id": event.agent_id,
        "run_id": event.run_id,
        "wal_seq": event.wal_seq,
        "payload": event.payload,
    }


def _output(run_id: RunId, output: RunOutput) -> Object:
    if isinstance(output, str):
        return {"type": "output", "run_id": run_id, "text": output}
    within: list[str] = []
    while isinstance(output, NestedEvent):
        within.append(output.agent)
        output = output.event
    fields = _FORMS[type(output)](output)
    return {**fields, "run_id": run_id, **({"within": within} if within else {})}


def _started(event: RunStarted) -> Object:
    return {"type": "started", "resumed": event.resumed}


def _delta(event: ModelDelta) -> Object:
    delta = event.delta
    return {
        "type": "delta",
        "message_id": event.message_id,
        "text": delta.text,
        "thinking": delta.thinking,
        "tool": delta.tool_name,
        "arguments": delta.arguments,
    }


def _superseded(event: ModelSuperseded) -> Object:
    return {"type": "superseded", "message_id": event.message_id, "error": event.error}


def _reply(event: ModelReply) -> Object:
    message = event.message
    calls = [
        {"call_id": call.id, "tool": call.name, "arguments": call.arguments}
        for call in message.tool_calls
    ]
    return {"type": "reply", "message_id": message.id, "text": message.text, "calls": calls}


def _tool_call(event: ToolStarted) -> Object:
    call = event.call
    return {
        "type": "tool_call",
        "call_id": call.id,
        "tool": call.name,
        "arguments": call.arguments,
    }


def _tool_output(event: ToolDelta) -> Object:
    return {
        "type": "tool_output",
        "call_id": event.call_id,
        "tool": event.tool_name,
        "chunk": event.chunk,
    }


def _tool_result(event: ToolResult) -> Object:
    message = event.message
    return {
        "type": "tool_result",
        "call_id": message.tool_call_id,
        "tool": message.tool_name,
        "content": message.content,
        "is_error": message.is_error,
    }


def _custom(event: CustomEvent) -> Object:
    try:
        data: object = msgspec.to_builtins(event.data)
    except (TypeError, ValueError, RecursionError):
        data = repr(event.data)[:10_000]  # A tool may send what JSON cannot hold.
    return {"type": "custom", "data": data}


def _failed(event: RunFailed) -> Object:
    return {"type": "failed", "error": f"{type(event.error).__name__}: {event.error}"}


def _ended(event: RunEnded) -> Object:
    return {"type": "ended", "stop_reason": event.result.stop_reason}


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
