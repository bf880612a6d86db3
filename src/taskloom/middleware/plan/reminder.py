"""When a model is reminded of its tasks: after some turns without them, and once at a time.

Everything is read from the messages, so a resumed run and a fresh process count alike.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from taskloom.agent import Message

TOOLS: Final = ("TaskCreate", "TaskGet", "TaskUpdate", "TaskList")
_OPENING: Final = "<task-reminder>\n"
_CLOSING: Final = "\n</task-reminder>"


class Silence(Struct, frozen=True):
    """How long the tasks have not come up."""

    turns: int
    """Replies of the model since they last did, counted up to what was asked."""
    forgotten: bool
    """Nothing in the whole conversation speaks of them."""


def silence(messages: Sequence[Message], most: int) -> Silence:
    """Look back over the conversation, but no further than needed."""
    turns = 0
    for message in reversed(messages):
        if turns >= most:
            return Silence(turns, forgotten=False)
        if message.role == "assistant":
            if any(call.name in TOOLS for call in message.tool_calls):
                return Silence(turns, forgotten=False)
            turns += 1
        elif message.role == "user" and message.text.startswith(_OPENING):
            return Silence(turns, forgotten=False)
    return Silence(turns, forgotten=True)


def reminder(text: str) -> Message:
    """Return a reminder as a message that is known again by its opening."""
    return Message.user(_OPENING + text + _CLOSING)
