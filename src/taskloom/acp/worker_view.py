"""One worker run as the client sees it: a session of its own, or a tool call with its progress."""

from collections import deque
from pathlib import Path
from typing import Any, Final, Protocol

from taskloom.acp.plans import META, Send
from taskloom.acp.protocol.tool_calls import ToolCallTracker, tool_call_info
from taskloom.acp.protocol.updates import UpdateWriter
from taskloom.agent import ModelReply, ToolStarted
from taskloom.orchestrator import RunInfo, RunOutput

LINES_MAX: Final = 8
"""Lines of progress shown with a run, the newest last."""


class WorkerView(Protocol):
    """Shows one run."""

    async def begin(self) -> None:
        """Show that it has started."""
        ...

    async def show(self, output: RunOutput) -> None:
        """Show something of its output."""
        ...

    async def end(self, run: RunInfo) -> None:
        """Show how it ended."""
        ...


class SubagentView:
    """A run as a session of its own, for a client that announced subagents."""

    def __init__(
        self, run: RunInfo, tool_calls: ToolCallTracker, send: Send, send_own: Send, cwd: Path
    ) -> None:
        """Take both streams: that of the parent session, and that of the run's own."""
        self._run = run
        self._send = send
        self._send_own = send_own
        self._tool_calls = tool_calls
        self._updates = UpdateWriter(send_own, tool_calls, cwd)

    async def begin(self) -> None:
        """Announce the run's session, before anything is sent on it."""
        await self._update(
            title=_title(self._run),
            description=self._run.instruction[:500],
            capabilities={"cancel": {}},
            state={"state": "running"},
            _meta=_meta(self._run),
        )

    async def show(self, output: RunOutput) -> None:
        """Send it on the run's own stream."""
        if isinstance(output, str):
            content = {"type": "text", "text": f"{output}\n"}
            await self._send_own({"sessionUpdate": "agent_message_chunk", "content": content})
        else:
            await self._updates.send_event(output)

    async def end(self, run: RunInfo) -> None:
        """Announce the end of the run."""
        await self._updates.close()
        outcome = run.report.outcome if run.report is not None else "cancelled"
        stop = "cancelled" if outcome == "cancelled" else "end_turn"
        await self._update(state={"state": "idle", "stopReason": stop}, _meta=_meta(run))

    async def _update(self, **fields: object) -> None:
        id_ = self._tool_calls.session_id
        await self._send({"sessionUpdate": "subagent_update", "sessionId": id_, **fields})


class ToolCallView:
    """A run as a tool call of the orchestrator, for every other client."""

    def __init__(self, run: RunInfo, tool_calls: ToolCallTracker, send: Send, cwd: Path) -> None:
        """Take the stream of the session."""
        self._run = run
        self._send = send
        self._cwd = cwd
        self._tool_calls = tool_calls
        self._lines: deque[str] = deque(maxlen=LINES_MAX)

    async def begin(self) -> None:
        """Show the call as in progress."""
        await self._send(
            {
                "sessionUpdate": "tool_call",
                "toolCallId": self._run.run_id,
                "title": _title(self._run),
                "kind": "other",
                "status": "in_progress",
                "rawInput": {"instruction": self._run.instruction},
                "_meta": _meta(self._run),
            }
        )

    async def show(self, output: RunOutput) -> None:
        """Show the run's progress: its lines, and the tools it calls."""
        if isinstance(output, ModelReply):
            for call in output.message.tool_calls:
                info = tool_call_info(call, self._cwd)
                self._tool_calls.add(output.message.id, call.id, info)
                self._tool_calls.mark_announced(call.id)
        if isinstance(output, str):
            await self._show_line(output)
        elif isinstance(output, ToolStarted):
            await self._show_line(tool_call_info(output.call, self._cwd).title)

    async def end(self, run: RunInfo) -> None:
        """Show the run's result."""
        report = run.report
        text = "ended without a report"
        if report is not None:
            text = report.step_result_summary or report.note or report.outcome
            if report.error is not None:
                text = str(report.error.get("message", text))
        done = report is not None and report.outcome == "completed"
        self._tool_calls.clear()
        await self._send(
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": run.run_id,
                "status": "completed" if done else "failed",
                "content": [_text(text)],
                "_meta": _meta(run),
            }
        )

    async def _show_line(self, line: str) -> None:
        self._lines.append(line)
        await self._send(
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": self._run.run_id,
                "content": [_text("\n".join(self._lines))],
            }
        )


def _title(run: RunInfo) -> str:
    return f"{run.name}: {run.task_title or run.task_id}"


def _meta(run: RunInfo) -> dict[str, Any]:
    details = {"runId": run.run_id, "worker": run.name, "taskId": run.task_id}
    if run.step_id is not None:
        details["stepId"] = run.step_id
    return {META: details}


def _text(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}
