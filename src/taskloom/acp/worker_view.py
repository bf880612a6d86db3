"""One worker run as the client sees it: a session of its own, or a tool call with its progress."""

from collections import deque
from pathlib import Path
from typing import Any, Final, Protocol

from taskloom.acp.event_updates import UpdateWriter
from taskloom.acp.plans.encoding import META
from taskloom.acp.plans.publisher import Send
from taskloom.acp.tool_call_info import tool_call_info
from taskloom.acp.tool_call_tracker import ToolCallTracker
from taskloom.agent import ModelReply, ToolStarted
from taskloom.orchestrator import RunInfo, RunOutput

LINES_MAX: Final = 8
"""Lines of progress shown with a run: what it does now, and a little of what it did."""


class WorkerView(Protocol):
    """Shows one run."""

    async def begin(self) -> None:
        """Show that it has begun."""
        ...

    async def tell(self, said: RunOutput) -> None:
        """Show something it said."""
        ...

    async def end(self, run: RunInfo) -> None:
        """Show how it ended."""
        ...


async def _unheard(_: object) -> None:
    """Leave a worker's own events: they are no plans of this session."""


def _words(run: RunInfo) -> str:
    return f"{run.name}: {run.task_title or run.task_id}"


def _details(run: RunInfo) -> dict[str, Any]:
    details = {
        "runId": run.run_id,
        "worker": run.name,
        "taskId": run.task_id,
    }
    if run.step_id is not None:
        details["stepId"] = run.step_id
    return {META: details}


class SubagentView:
    """A run as a session of its own, for a client that announced subagents."""

    def __init__(
        self, run: RunInfo, desk: ToolCallTracker, send: Send, send_child: Send, cwd: Path
    ) -> None:
        """Announce it on the parent's stream; tell it on its own."""
        self._child = run
        self._send = send
        self._send_child = send_child
        self._desk = desk
        self._telling = UpdateWriter(send_child, desk, cwd, kinds={}, heard=_unheard)

    async def begin(self) -> None:
        """Announce the child session, before anything is sent on it."""
        await self._update(
            title=_words(self._child),
            description=self._child.instruction[:500],
            capabilities={"cancel": {}},
            state={"state": "running"},
            _meta=_details(self._child),
        )

    async def tell(self, said: RunOutput) -> None:
        """Tell it on the child's stream."""
        if isinstance(said, str):
            content = {"type": "text", "text": f"{said}\n"}
            await self._send_child({"sessionUpdate": "agent_message_chunk", "content": content})
        else:
            await self._telling.tell(said)

    async def end(self, run: RunInfo) -> None:
        """Say how it ended."""
        await self._telling.close()
        outcome = run.report.outcome if run.report is not None else "cancelled"
        stop = "cancelled" if outcome == "cancelled" else "end_turn"
        await self._update(state={"state": "idle", "stopReason": stop}, _meta=_details(run))

    async def _update(self, **fields: object) -> None:
        id_ = self._desk.session_id
        await self._send({"sessionUpdate": "subagent_update", "sessionId": id_, **fields})


class ToolCallView:
    """A run as a tool call of the orchestrator, for every other client."""

    def __init__(self, run: RunInfo, desk: ToolCallTracker, send: Send, cwd: Path) -> None:
        """Show it on the session's own stream."""
        self._child = run
        self._send = send
        self._cwd = cwd
        self._desk = desk
        self._lines: deque[str] = deque(maxlen=LINES_MAX)

    async def begin(self) -> None:
        """Show the call as under way."""
        await self._send(
            {
                "sessionUpdate": "tool_call",
                "toolCallId": self._child.run_id,
                "title": _words(self._child),
                "kind": "other",
                "status": "in_progress",
                "rawInput": {"instruction": self._child.instruction},
                "_meta": _details(self._child),
            }
        )

    async def tell(self, said: RunOutput) -> None:
        """Show what it does now."""
        if isinstance(said, ModelReply):
            for call in said.message.tool_calls:
                self._desk.put(said.message.id, call.id, tool_call_info(call, self._cwd))
                self._desk.announce(call.id)
        if isinstance(said, str):
            await self._progress(said)
        elif isinstance(said, ToolStarted):
            await self._progress(tool_call_info(said.call, self._cwd).title)

    async def end(self, run: RunInfo) -> None:
        """Show its result."""
        ending = run.report
        done = ending is not None and ending.outcome == "completed"
        words = "ended without a word"
        if ending is not None:
            words = ending.step_result_summary or ending.note or ending.outcome
            if ending.error is not None:
                words = str(ending.error.get("message", words))
        self._desk.clear()
        await self._send(
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": self._child.run_id,
                "status": "completed" if done else "failed",
                "content": [_text(words)],
                "_meta": _details(run),
            }
        )

    async def _progress(self, line: str) -> None:
        self._lines.append(line)
        await self._send(
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": self._child.run_id,
                "content": [_text("\n".join(self._lines))],
            }
        )


def _text(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}
