"""A session shown again: everything that was said, as the updates it was told with. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from taskloom.acp.content_blocks import blocks_of
from taskloom.acp.event_updates import result_content
from taskloom.acp.plans.encoding import Update
from taskloom.acp.tool_call_info import raw_output, tool_call_info
from taskloom.acp.tool_call_tracker import public_id
from taskloom.agent import Message
from taskloom.session import (
    CommandRecord,
    MessageRecord,
    PromptRecord,
    Record,
    RewriteRecord,
    TurnEnd,
)


def replay(records: Iterable[Record], cwd: Path, kinds: Mapping[str, str]) -> Iterator[Update]:
    """Yield the updates that show records to a client that knows none of them."""
    calls: dict[str, str] = {}
    for number, record in enumerate(records, 1):
        match record:
            case PromptRecord(message):
                yield from _chunks("user_message_chunk", message, f"asked-{number}")
            case CommandRecord(asked, text):
                yield from _chunks("user_message_chunk", Message.user(asked), f"asked-{number}")
                yield from _chunks("agent_message_chunk", Message.user(text), f"told-{number}")
            case MessageRecord(message):
                if message.role == "assistant":
                    yield from _reply(record, cwd, kinds, calls)
                elif message.tool_call_id in calls:
                    yield _result(calls.pop(message.tool_call_id), record)
            case TurnEnd():
                yield from _unfinished(calls)
            case RewriteRecord():
                pass
    yield from _unfinished(calls)


def _reply(
    record: MessageRecord, cwd: Path, kinds: Mapping[str, str], calls: dict[str, str]
) -> Iterator[Update]:
    message = record.message
    if record.thinking:
        thought = Message.assistant(record.thinking)
        yield from _chunks("agent_thought_chunk", thought, message.id)
    yield from _chunks("agent_message_chunk", message, message.id)
    for call in message.tool_calls:
        id_ = calls[call.id] = public_id(message.id, call.id)
        card = tool_call_info(call, cwd, kinds)
        yield {"sessionUpdate": "tool_call", **card.as_call(id_), "status": "pending"}


def _chunks(kind: str, message: Message, message_id: str) -> Iterator[Update]:
    for block in blocks_of(message):
        yield {"sessionUpdate": kind, "messageId": message_id, "content": block}


def _result(id_: str, record: MessageRecord) -> Update:
    return {
        "sessionUpdate": "tool_call_update",
        "toolCallId": id_,
        "status": "failed" if record.message.is_error else "completed",
        "content": result_content(record.message, record.shown),
        "rawOutput": raw_output(record.message),
    }


def _unfinished(calls: dict[str, str]) -> Iterator[Update]:
    for id_ in calls.values():
        yield {"sessionUpdate": "tool_call_update", "toolCallId": id_, "status": "failed"}
    calls.clear()
