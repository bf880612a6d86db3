"""The token count of one run, kept up to date: what was counted is not counted again."""

from collections.abc import Sequence

from taskloom.agent import Message, ToolInfo
from taskloom.middleware.reduction.tokens import TokenCounter, count_message, count_tool


class Ledger:
    """What one run's messages and tools cost, and how far they have been looked through.

    The messages known are compared with those given as lists, which stops at identical objects
    and runs at a few nanoseconds a message; only new ones are counted.
    """

    def __init__(self, counter: TokenCounter) -> None:
        """Begin with nothing counted."""
        self.known: list[Message] = []
        self.settled = 0
        """Messages at the beginning that need no second look for clearing."""
        self._counter = counter
        self._counts: list[int] = []
        self._total = 0
        self._tools: list[ToolInfo] = []
        self._tools_total = 0

    def total(self, messages: list[Message], tools: list[ToolInfo]) -> int:
        """Return the tokens of all messages and tools."""
        if tools != self._tools:
            self._tools = list(tools)
            self._tools_total = sum(count_tool(tool, self._counter) for tool in tools)
        if messages != self.known:
            self._catch_up(messages)
        return self._total + self._tools_total

    def _catch_up(self, messages: list[Message]) -> None:
        known = len(self.known)
        if messages[:known] == self.known:
            self._add(messages[known:])
            return
        same = 0
        for one, other in zip(messages, self.known, strict=False):
            if one is not other:
                break
            same += 1
        self.settled = min(self.settled, same)
        self._recount(messages)

    def _add(self, messages: Sequence[Message]) -> None:
        counts = [count_message(message, self._counter) for message in messages]
        self.known += messages
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
        return count_message(message, self._counter)

    def count_at(self, place: int) -> int:
        """Return the tokens of a known message."""
        return self._counts[place]
