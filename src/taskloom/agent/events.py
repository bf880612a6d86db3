"""The events of a run, in the order in which they happen.

    RunStarted  ( ModelDelta* [ModelSuperseded]  ModelReply  (ToolStarted ToolDelta* ToolResult)* )*
    [RunFailed]  RunEnded

`CustomEvent` and `NestedEvent` may come anywhere between. `RunEnded` is always last. A reply or
tool result has the same message id here and in the run's messages.
"""

from typing import Any, TypeAlias

from msgspec import Struct

from taskloom.agent.chat_model import Delta
from taskloom.agent.messages import Message, Part, ToolCall
from taskloom.agent.result import Result


class RunStarted(Struct, frozen=True):
    """A run starts or resumes."""

    run_id: str
    agent: str
    resumed: bool = False


class ModelDelta(Struct, frozen=True):
    """A chunk of the reply that will have this message id."""

    message_id: str
    delta: Delta


class ModelSuperseded(Struct, frozen=True):
    """Discard the chunks with this message id: that attempt failed and another follows."""

    message_id: str
    attempt: int
    error: str


class ModelReply(Struct, frozen=True):
    """A whole reply, as the outermost wrapper returned it."""

    message: Message


class ToolStarted(Struct, frozen=True):
    """A tool call starts."""

    call: ToolCall


class ToolDelta(Struct, frozen=True):
    """A chunk of a streaming tool's result."""

    call_id: str
    tool_name: str
    chunk: str | Part


class ToolResult(Struct, frozen=True):
    """The whole result of a tool call."""

    message: Message


class CustomEvent(Struct, frozen=True):
    """Data that a tool or middleware sent with `send_event`."""

    data: Any


class NestedEvent(Struct, frozen=True):
    """An event of an agent that runs as a tool of this one."""

    agent: str
    call_id: str
    event: "Event"


class RunFailed(Struct, frozen=True):
    """The run failed; `middleware` and `hook` name the hook that raised, if one did."""

    error: Exception
    middleware: str = ""
    hook: str = ""


class RunEnded(Struct, frozen=True):
    """The last event of every run."""

    result: Result


Event: TypeAlias = (
    RunStarted
    | ModelDelta
    | ModelSuperseded
    | ModelReply
    | ToolStarted
    | ToolDelta
    | ToolResult
    | CustomEvent
    | NestedEvent
    | RunFailed
    | RunEnded
)
"""Any of the above; match on the class."""
