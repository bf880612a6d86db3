"""The entries of a run's journal: every change of its state, one small record each.

`RunState.apply` is the only code that changes the state, and it takes one of these. So the
journal is the list of entries, and resuming a run replays them; there is no second way to restore
one. Tags are written to disk: their meaning never changes, and new fields have defaults.
"""

from typing import Any, TypeAlias

from msgspec import Struct

from taskloom.agent.chat_model import ToolInfo
from taskloom.agent.messages import Message
from taskloom.agent.result import Interrupt, StopReason


class RunBegun(Struct, frozen=True, gc=False, tag_field="e", tag="begun"):
    """The run started with these messages."""

    run_id: str
    agent: str
    messages: tuple[Message, ...]


class Replied(Struct, frozen=True, gc=False, tag_field="e", tag="reply"):
    """The model replied; this counts as one iteration."""

    message: Message


class Edited(Struct, frozen=True, gc=False, tag_field="e", tag="edit"):
    """A hook replaced the messages from `start` up to `stop` with `messages`."""

    start: int
    stop: int
    messages: tuple[Message, ...]


class Offered(Struct, frozen=True, gc=False, tag_field="e", tag="offer"):
    """A hook changed the tools that the model is offered."""

    tools: tuple[ToolInfo, ...]


class Decided(Struct, frozen=True, gc=False, tag_field="e", tag="decided"):
    """The after_model hooks are done: the last message decides the next stage."""


class CallsStarted(Struct, frozen=True, gc=False, tag_field="e", tag="start"):
    """These tool calls start now: from here on they may have had effects."""

    ids: tuple[str, ...]


class CallEnded(Struct, frozen=True, gc=False, tag_field="e", tag="end"):
    """A tool call returned this result."""

    message: Message


class RoundClosed(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="e", tag="turn"):
    """All calls of a reply have results; `direct` is the call that ends the run, if any."""

    direct: str = ""


class ValueSet(Struct, frozen=True, gc=False, tag_field="e", tag="set"):
    """A run-local value was set."""

    key: str
    value: Any


class ValueDeleted(Struct, frozen=True, gc=False, tag_field="e", tag="del"):
    """A run-local value was deleted."""

    key: str


class Paused(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="e", tag="pause"):
    """The run waits for answers; `saved` is the state of interrupted calls, by call id."""

    interrupts: tuple[Interrupt, ...]
    calls: tuple[str, ...] = ()
    saved: dict[str, Any] = {}


class Answered(Struct, frozen=True, gc=False, tag_field="e", tag="answer"):
    """People answered, by interrupt id; the run resumes."""

    answers: dict[str, Any]


class Ended(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="e", tag="ended"):
    """The run ended, or stopped where it can be resumed."""

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
    | RoundClosed
    | ValueSet
    | ValueDeleted
    | Paused
    | Answered
    | Ended
)
