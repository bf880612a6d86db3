"""The token count of one run, kept up to date: what was counted is not counted again."""

from collections.abc import Sequence
from typing import Final

from taskloom.agent import Message, ToolInfo
from taskloom.middleware.reduction.tokens import (
    MessageCounter,
    TokenCounter,
    count_message,
    count_tool,
)

LONG: Final = 256
WINDOW: Final = 16
"""Of so long a conversation that has not grown, so many messages at the end are compared."""


class TokenCache:
    """What one run's messages and tools cost, and how far they have been looked through.

    The messages known are compared with those given as lists, which stops at identical objects
    and runs at a few nanoseconds a message; only new ones are counted.
    """

    def __init__(self, counter: TokenCounter) -> None:
        """Begin with nothing counted."""
        self.known: list[Message] = []
        self.settled = 0
        """Messages at the beginning that need no second look for clearing."""
        # Whether a counter knows messages is asked once: the answer takes microseconds.
        self._knows = counter if isinstance(counter, MessageCounter) else None
        self._counter = counter
        self._counts: list[int] = []
        self._total = 0
        self._tools: list[ToolInfo] = []
        self._tools_total = 0

    def total(self, messages: list[Message], tools: list[ToolInfo]) -> int:
        """Return the tokens of all messages and tools."""
        if tools != self._tools:
            self._tools = list(tools)
            self._tools_total = sum(map(self._count_tool, tools))
        if not self._is_known(messages):
            self._catch_up(messages)
        return self._total + self._tools_total

    def _is_known(self, messages: list[Message]) -> bool:
        """Tell whether nothing is new.

        In a long conversation that has not grown only the end is compared. The loop never asks
        so; should somebody change the far past meanwhile, the next growth brings it up.
        """
        if len(messages) < LONG or len(messages) != len(self.known):
            return messages == self.known
        return messages[-WINDOW:] == self.known[-WINDOW:]

    def _catch_up(self, messages: list[Message]) -> None:
        known = len(self.known)
        new = messages[known:]
        self.known += new  # So that two whole lists are compared, without a copy of either.
        if messages == self.known:
            self._add(new)
            return
        del self.known[known:]
        same = 0
        for one, other in zip(messages, self.known, strict=False):
            if one is not other:
                break
            same += 1
        self.settled = min(self.settled, same)
        self._recount(messages)

    def _add(self, messages: Sequence[Message]) -> None:
        counts = [self.count(message) for message in messages]
        self._counts += counts
        self._total += sum(counts)

    def replace(self, messages: list[Message]) -> None:
        """Take messages some of which were replaced; what is settled stays so."""
        self._recount(messages)

    def _recount(self, messages: list[Message]) -> None:
        # By identity: the known list keeps its objects alive, so no id is used twice.
        before = {id(one): n for one, n in zip(self.known, self._counts, strict=True)}
        counts = [
            before[id(message)] if id(message) in before else self.count(message)
            for message in messages
        ]
        self.known = list(messages)
        self._counts = counts
        self._total = sum(counts)

    def count(self, message: Message) -> int:
        """Return the tokens of one message, new or not."""
        if self._knows is not None:
            return self._knows.count_message(message)
        return count_message(message, self._counter)

    def _count_tool(self, tool: ToolInfo) -> int:
        if self._knows is not None:
            return self._knows.count_tool(tool)
        return count_tool(tool, self._counter)

    def count_at(self, place: int) -> int:
        """Return the tokens of a known message."""
        return self._counts[place]
