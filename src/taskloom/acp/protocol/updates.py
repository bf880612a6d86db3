"""Session updates: from the events of a run, and from the records of a transcript.

`UpdateWriter` sends a turn while it runs; `replay_updates` shows a whole conversation again.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from taskloom.acp.plans import Send, TaskList, Update
from taskloom.acp.protocol.content_blocks import blocks_of
from taskloom.acp.protocol.tool_calls import (
    ToolCallTracker,
    client_call_id,
    content_of,
    raw_output,
    tool_call_info,
)
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
from taskloom.middleware import PlanChanged
from taskloom.session import (
    CommandRecord,
    MessageRecord,
    PromptRecord,
    Record,
    RewriteRecord,
    TurnEnd,
)

DIFF_CHARS_MAX: Final = 200_000
"""Of a diff in the transcript: many edits of a big file must not make it unreadable."""

RESTARTED: Final = "\n\n*The answer was interrupted and starts again.*\n\n"


class UpdateWriter:
    """Sends the events of one run to the client, in order."""

    def __init__(
        self,
        send: Send,
        tool_calls: ToolCallTracker,
        cwd: Path,
        *,
        kinds: Mapping[str, str] | None = None,
        task_list: TaskList | None = None,
    ) -> None:
        """Take where to send.

        Args:
            send: sends one update.
            tool_calls: tracks the tool calls of the run.
            cwd: the project, to which paths are relative.
            kinds: the kinds of tools that are not built in, by name.
            task_list: the agent's task list, shown as it changes; None to leave it out.
        """
        self._send = send
        self._tool_calls = tool_calls
        self._cwd = cwd
        self._kinds = kinds or {}
        self._task_list = task_list
        self._message_id = ""
        self._streamed = False
        self._thinking: list[str] = []
        self.tokens = 0
        """What the last reply says was in the model's context."""

    async def send_event(self, event: Event) -> MessageRecord | None:
        """Send one event; return the record of it for the transcript."""
        match event:
            case ModelDelta():
                await self._send_delta(event)
            case ModelSuperseded():
                await self._send_superseded(event)
            case ModelReply():
                return await self._send_reply(event.message)
            case ToolStarted():
                await self._update(event.call.id, status="in_progress")
            case ToolResult():
                return await self._send_result(event.message)
            case CustomEvent(data=PlanChanged() as changed):
                if self._task_list is not None:
                    self._task_list.publish(changed)
            case NestedEvent():
                await self._send_nested(event)
            case CustomEvent() | ToolDelta() | RunStarted() | RunFailed() | RunEnded():
                pass
        return None

    async def close(self) -> None:
        """Send calls without a result as failed."""
        for id_ in self._tool_calls.open_ids:
            await self._send(_failed(id_))
        self._tool_calls.clear()

    async def _send_delta(self, event: ModelDelta) -> None:
        if event.message_id != self._message_id:
            self._message_id, self._streamed = event.message_id, False
            self._thinking.clear()
        delta = event.delta
        if delta.thinking:
            self._thinking.append(delta.thinking)
            await self._send(_text_chunk("agent_thought_chunk", event.message_id, delta.thinking))
        if delta.text:
            self._streamed = True
            await self._send(_text_chunk("agent_message_chunk", event.message_id, delta.text))

    async def _send_superseded(self, event: ModelSuperseded) -> None:
        if event.message_id == self._message_id and self._streamed:
            await self._send(_text_chunk("agent_message_chunk", event.message_id, RESTARTED))
        self._streamed = False
        self._thinking.clear()

    async def _send_reply(self, message: Message) -> MessageRecord:
        if not self._streamed or message.id != self._message_id:
            for chunk in _chunks("agent_message_chunk", message, message.id):
                await self._send(chunk)
        if message.usage is not None:
            self.tokens = message.usage.input_tokens + message.usage.output_tokens
        for call in message.tool_calls:
            info = tool_call_info(call, self._cwd, self._kinds)
            id_ = self._tool_calls.add(message.id, call.id, info)
            await self._send({"sessionUpdate": "tool_call", **info.fields(id_), **_PENDING})
            self._tool_calls.mark_announced(call.id)
        thinking = "".join(self._thinking)
        self._thinking.clear()
        self._streamed = False
        return MessageRecord(message, thinking)

    async def _send_result(self, message: Message) -> MessageRecord:
        contents = self._tool_calls.close(message.tool_call_id)
        await self._send(
            _result(self._tool_calls.client_id(message.tool_call_id), message, contents)
        )
        return MessageRecord(message, shown=[one for one in contents if _is_recorded(one)])

    async def _send_nested(self, event: NestedEvent) -> None:
        """Send the progress of an agent that runs as a tool: with its call, one line at a time."""
        if isinstance(event.event, ToolStarted):
            info = tool_call_info(event.event.call, self._cwd, self._kinds)
            text = f"{event.agent}: {info.title}"
            content = {"type": "content", "content": {"type": "text", "text": text}}
            await self._update(event.call_id, content=[content])

    async def _update(self, call_id: str, **fields: object) -> None:
        id_ = self._tool_calls.client_id(call_id)
        await self._send({"sessionUpdate": "tool_call_update", "toolCallId": id_, **fields})


def replay_updates(
    records: Iterable[Record], cwd: Path, kinds: Mapping[str, str]
) -> Iterator[Update]:
    """Yield the updates that show records to a client that has seen none of them. Pure."""
    calls: dict[str, str] = {}
    for number, record in enumerate(records, 1):
        match record:
            case PromptRecord(message):
                yield from _chunks("user_message_chunk", message, f"asked-{number}")
            case CommandRecord(command, text):
                yield _text_chunk("user_message_chunk", f"asked-{number}", command)
                yield _text_chunk("agent_message_chunk", f"told-{number}", text)
            case MessageRecord(message):
                if message.role == "assistant":
                    yield from _replay_reply(record, cwd, kinds, calls)
                elif message.tool_call_id in calls:
                    yield _result(calls.pop(message.tool_call_id), message, record.shown)
            case TurnEnd():
                yield from map(_failed, calls.values())
                calls.clear()
            case RewriteRecord():
                pass
    yield from map(_failed, calls.values())


def _replay_reply(
    record: MessageRecord, cwd: Path, kinds: Mapping[str, str], calls: dict[str, str]
) -> Iterator[Update]:
    message = record.message
    if record.thinking:
        yield _text_chunk("agent_thought_chunk", message.id, record.thinking)
    yield from _chunks("agent_message_chunk", message, message.id)
    for call in message.tool_calls:
        id_ = calls[call.id] = client_call_id(message.id, call.id)
        info = tool_call_info(call, cwd, kinds)
        yield {"sessionUpdate": "tool_call", **info.fields(id_), **_PENDING}


_PENDING: Final = {"status": "pending"}


def _chunks(kind: str, message: Message, message_id: str) -> Iterator[Update]:
    for block in blocks_of(message):
        yield {"sessionUpdate": kind, "messageId": message_id, "content": block}


def _text_chunk(kind: str, message_id: str, text: str) -> Update:
    content = {"type": "text", "text": text}
    return {"sessionUpdate": kind, "messageId": message_id, "content": content}


def _result(id_: str, message: Message, contents: list[dict[str, Any]]) -> Update:
    """Return the update for a result: with its diff or terminal, else with its text."""
    has_own = bool(contents) and not message.is_error
    return {
        "sessionUpdate": "tool_call_update",
        "toolCallId": id_,
        "status": "failed" if message.is_error else "completed",
        "content": [*contents, *(() if has_own else content_of(message))],
        "rawOutput": raw_output(message),
    }


def _failed(id_: str) -> Update:
    return {"sessionUpdate": "tool_call_update", "toolCallId": id_, "status": "failed"}


def _is_recorded(content: dict[str, Any]) -> bool:
    """Return whether content goes into the transcript: not a terminal, nor a huge diff."""
    if content.get("type") != "diff":
        return False
    return len(content["newText"]) + len(content.get("oldText", "")) <= DIFF_CHARS_MAX
