"""Rounds of a conversation: an assistant message with tool calls, and the results behind it."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from taskloom.agent import Message, ToolCall


class Pair(Struct, frozen=True):
    """One call and its result, by their places."""

    call: ToolCall
    call_at: int
    result_at: int


class Round(Struct, frozen=True):
    """The pairs of one assistant message, and where it stands."""

    start: int
    pairs: tuple[Pair, ...]


def round_start(messages: Sequence[Message], place: int) -> int:
    """Return where the round begins whose results stand at a place; the place if there is none."""
    while 0 < place < len(messages) and messages[place].role == "tool":
        place -= 1
    return place


def kept_from(messages: Sequence[Message], keep: int, settled: int) -> int:
    """Return the place from which on the last `keep` rounds stand; `settled` if there are fewer."""
    if keep == 0:
        return len(messages)
    for place in range(len(messages) - 1, settled - 1, -1):
        if messages[place].tool_calls:
            keep -= 1
            if keep == 0:
                return place
    return settled


def rounds(messages: Sequence[Message], start: int, end: int) -> Iterator[Round]:
    """Yield the rounds from `start` to `end`, oldest first."""
    place = start
    while place < end:
        if not messages[place].tool_calls:
            place += 1
            continue
        open_ = {call.id: call for call in messages[place].tool_calls}
        pairs: list[Pair] = []
        after = place + 1
        while after < end and messages[after].role == "tool":
            # Each call has one result: a second one of the same id is nobody's.
            call = open_.pop(messages[after].tool_call_id, None)
            if call is not None:
                pairs.append(Pair(call, place, after))
            after += 1
        yield Round(place, tuple(pairs))
        place = after
