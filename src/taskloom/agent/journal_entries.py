"""What can change the state of a run, one small record each.

The loop changes its state through these alone (`RunState.apply`), so the journal is the list
of them, a resumed run is their replay, and there is no second way to restore one. Tags are
written into journals: they never change their meaning, and new fields have defaults.
"""

from typing import Any, TypeAlias

from msgspec import Struct

from taskloom.agent.chat_model import ToolInfo
from taskloom.agent.messages import Message
from taskloom.agent.result import Interrupt, StopReason


class RunBegun(Struct, frozen=True, gc=False, tag_field="e", tag="begun"):
    """The run starts with these messages."""

    run_id: str
    agent: str
    messages: tuple[Message, ...]


class Replied(Struct, frozen=True, gc=False, tag_field="e", tag="reply"):
    """The model gave this reply; it counts as one iteration."""

    message: Message


class Edited(Struct, frozen=True, gc=False, tag_field="e", tag="edit"):
    """A hook put `messages` in place of those from `start` up to `stop`."""

    start: int
    stop: int
    messages: tuple[Message, ...]


class Offered(Struct, frozen=True, gc=False, tag_field="e", tag="offer"):
    """A hook changed which tools the model is offered."""

    tools: tuple[ToolInfo, ...]


class Decided(Struct, frozen=True, gc=False, tag_field="e", tag="decided"):
    """The after_model hooks are done: the last message decides how the run goes on."""


class CallsStarted(Struct, frozen=True, gc=False, tag_field="e", tag="start"):
    """These tool calls are about to run: from here on they may have had effects."""

    ids: tuple[str, ...]


class CallEnded(Struct, frozen=True, gc=False, tag_field="e", tag="end"):
    """A tool call has its result."""

    message: Message


class TurnClosed(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="e", tag="turn"):
    """All calls of the reply have results; `direct` is the call that ends the run, if any."""

    direct: str = ""


class ValueSet(Struct, frozen=True, gc=False, tag_field="e", tag="set"):
    """A run-local value was set."""

    key: str
    value: Any


class ValueDeleted(Struct, frozen=True, gc=False, tag_field="e", tag="del"):
    """A run-local value was taken away."""

    key: str


class Paused(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="e", tag="pause"):
    """The run waits for people; `saved` is what interrupted calls keep, by call id."""

    interrupts: tuple[Interrupt, ...]
    calls: tuple[str, ...] = ()
    saved: dict[str, Any] = {}


class Answered(Struct, frozen=True, gc=False, tag_field="e", tag="answer"):
    """People answered, by interrupt id; the run goes on."""

    answers: dict[str, Any]


class Ended(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="e", tag="ended"):
    """The run is over, or stopped where it can go on."""

    reason: StopReason
    error: str = ""
    hooks_done: int = 0


Entry: TypeAlias = (
    RunBegun
    | Replied
    | Edited
    | Offered
    | Decided
    | CallsStarted
    | CallEnded
    | TurnClosed
    | ValueSet
    | ValueDeleted
    | Paused
    | Answered
    | Ended
)
