"""Everything a run tells while it goes on, in the order it happened.

    RunStarted  ( ModelDelta* [ModelSuperseded]  ModelReply  (ToolStarted ToolDelta* ToolResult)* )*
    [RunFailed]  RunEnded

`CustomEvent` and `NestedEvent` may stand anywhere between. `RunEnded` is always last.
A reply or result has the same message id here and in the run's messages.
"""

from typing import Any, TypeAlias

from msgspec import Struct

from taskloom.agent.chat_model import Delta
from taskloom.agent.messages import Message, Part, ToolCall
from taskloom.agent.result import Result


class RunStarted(Struct, frozen=True):
    """A run begins, or goes on after a resume."""

    run_id: str
    agent: str
    resumed: bool = False


class ModelDelta(Struct, frozen=True):
    """A piece of the reply that will have this message id."""

    message_id: str
    delta: Delta


class ModelSuperseded(Struct, frozen=True):
    """Forget the pieces of this message id: that attempt failed and another follows."""

    message_id: str
    attempt: int
    error: str


class ModelReply(Struct, frozen=True):
    """A whole reply, as it left the outermost wrapper."""

    message: Message


class ToolStarted(Struct, frozen=True):
    """A tool call is about to run."""

    call: ToolCall


class ToolDelta(Struct, frozen=True):
    """A piece of a streaming tool's result."""

    call_id: str
    tool_name: str
    chunk: str | Part


class ToolResult(Struct, frozen=True):
    """The whole result of a tool call."""

    message: Message


class CustomEvent(Struct, frozen=True):
    """What a tool or middleware sent with `send_event`."""

    data: Any


class NestedEvent(Struct, frozen=True):
    """An event of an agent that runs as a tool of this one."""

    agent: str
    call_id: str
    event: "Event"


class RunFailed(Struct, frozen=True):
    """The run cannot go on; a hook that raised is named."""

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
