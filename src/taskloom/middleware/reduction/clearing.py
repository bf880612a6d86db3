"""Clearing: when the context grows over its limit, notices replace old tool results.

All old rounds are cleared at once, and then nothing until the limit is reached again, so that
the messages sent before stay the same and a provider's cache stays valid. A cleared message
carries a mark (`finish_reason`), which survives journals, resumes and later runs.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct, structs

from taskloom.agent import Message, State, ToolCall
from taskloom.middleware.reduction.clear_decision import (
    CLEARED,
    ClearDecider,
    ClearDecision,
    OffloadFile,
    is_shorter,
)
from taskloom.middleware.reduction.notices import Notices
from taskloom.middleware.reduction.offload import Offload, maybe_await, replace_path
from taskloom.middleware.reduction.settings import ReductionSettings
from taskloom.middleware.reduction.tokens import TokenCache

FAILURES_MAX: Final = 3
"""After this many failures in a row saving stops until the next model call."""


class Pair(Struct, frozen=True):
    """One call and its result, by their indexes in the messages."""

    call: ToolCall
    call_at: int
    result_at: int


class Round(Struct, frozen=True):
    """An assistant message with tool calls, by its index, and the calls with their results."""

    start: int
    pairs: tuple[Pair, ...]


class _Planned(Struct, frozen=True):
    pair: Pair
    decision: ClearDecision
    round_start: int


class Clearing:
    """Clears old results before a model call."""

    def __init__(
        self, settings: ReductionSettings, offload: Offload, notices: Callable[[], Notices]
    ) -> None:
        """Set what to clear, where to save it, and how to write notices."""
        self._settings = settings
        self._offload = offload
        self._notices = notices
        self._decider = ClearDecider(settings, offload)

    async def clear(self, state: State, tokens: TokenCache) -> State | None:
        """Return the state with old results cleared; None if nothing changes."""
        settings = self._settings
        total = tokens.total(state.messages, state.tools)
        if total <= settings.max_tokens_for_clear:
            return None
        planned, end, freed = await self._plan(state.messages, tokens, total)
        if not planned:
            tokens.checked = end
            return None
        if freed < settings.clear_at_least_tokens:
            return None
        messages, tokens.checked = await self._apply(state.messages, planned, end)
        if messages is None:
            return None
        tokens.replace(messages)
        cleared = State(messages, state.tools)
        if settings.clear_post_process is not None:
            return await maybe_await(settings.clear_post_process(cleared)) or cleared
        return cleared

    async def _plan(
        self, messages: list[Message], tokens: TokenCache, total: int
    ) -> tuple[list[_Planned], int, int]:
        """Return what to clear, the index up to which was checked, and the tokens freed."""
        settings, notices = self._settings, self._notices()
        start = _round_start(messages, tokens.checked)
        end = _kept_from(messages, settings.clear_retention_suffix_limit, start)
        planned: list[_Planned] = []
        freed = 0
        for one in _rounds(messages, start, end):
            if settings.clear_down_to_tokens and total - freed <= settings.clear_down_to_tokens:
                return planned, one.start, freed
            for pair in one.pairs:
                result = messages[pair.result_at]
                decision = await self._decider.decide(notices, pair.call, result)
                if decision is not None:
                    planned.append(_Planned(pair, decision, one.start))
                    freed += _freed(tokens, pair, result, decision)
        return planned, end, freed

    async def _apply(
        self, messages: list[Message], planned: list[_Planned], end: int
    ) -> tuple[list[Message] | None, int]:
        """Save and replace; return the new messages and the index up to which all is done."""
        changed = list(messages)
        done_to, failures = end, 0
        for one in planned:
            if failures == FAILURES_MAX:
                break
            decision = await self._save(one.decision)
            if decision is None:
                done_to = min(done_to, one.round_start)
                failures += 1
                continue
            failures = 0
            _replace(changed, one.pair, decision)
        return (None if changed == messages else changed), done_to

    async def _save(self, decision: ClearDecision) -> ClearDecision | None:
        """Save the files; return the decision with their actual paths, None after a failure."""
        for file in decision.files:
            path = await self._offload.save(
                decision.detail, decision.settings.backend, file.path, file.text
            )
            if path is None:
                return None
            renamed = decision if path == file.path else _renamed(decision, file, path)
            if renamed is None:
                reason = "The path is taken by another content."
                await self._offload.warn(decision.detail, file.path, reason)
                return None
            decision = renamed
        return decision


def _renamed(decision: ClearDecision, file: OffloadFile, path: str) -> ClearDecision | None:
    """Return the decision with the actual path of a file; None if it does not name the file."""
    content, arguments = decision.content, decision.arguments
    found = False
    if content is not None and file.in_content:
        other = replace_path(content, file.path, path)
        found, content = other is not None, content if other is None else other
    if arguments is not None and file.in_arguments:
        text = replace_path(arguments, file.path, path)
        if isinstance(text, str):
            found, arguments = True, text
    return structs.replace(decision, content=content, arguments=arguments) if found else None


def _freed(tokens: TokenCache, pair: Pair, result: Message, decision: ClearDecision) -> int:
    freed = 0
    if decision.content is not None:
        new = result.replace(content=decision.content)
        freed += tokens.count_at(pair.result_at) - tokens.count(new)
    if decision.arguments is not None:
        freed += tokens.count(Message.assistant("", pair.call))
        freed -= tokens.count(Message.assistant("", _call(pair.call, decision.arguments)))
    return freed


def _replace(messages: list[Message], pair: Pair, decision: ClearDecision) -> None:
    result = messages[pair.result_at]
    if decision.content is None and decision.settings.clear_handler is not None:
        # The mark keeps the handler from being called again with its own arguments.
        messages[pair.result_at] = result.replace(finish_reason=CLEARED)
    if decision.content is not None:
        if decision.settings.clear_handler is None and isinstance(decision.content, str):
            # The actual path may be longer than the planned one.
            fits = is_shorter(decision.content, result.content)
        else:
            fits = True
        if fits:
            messages[pair.result_at] = result.replace(
                content=decision.content, finish_reason=CLEARED
            )
    if decision.arguments is not None:
        asking = messages[pair.call_at]
        calls = tuple(
            _call(call, decision.arguments) if call is pair.call else call
            for call in asking.tool_calls
        )
        messages[pair.call_at] = asking.replace(tool_calls=calls)


def _call(call: ToolCall, arguments: str) -> ToolCall:
    return ToolCall(call.id, call.name, arguments)


def _round_start(messages: Sequence[Message], index: int) -> int:
    """Return the start of the round that a result belongs to; the index itself for the rest."""
    while 0 < index < len(messages) and messages[index].role == "tool":
        index -= 1
    return index


def _kept_from(messages: Sequence[Message], keep: int, checked: int) -> int:
    """Return the index where the last `keep` rounds start; `checked` if there are fewer."""
    if keep == 0:
        return len(messages)
    for index in range(len(messages) - 1, checked - 1, -1):
        if messages[index].tool_calls:
            keep -= 1
            if keep == 0:
                return index
    return checked


def _rounds(messages: Sequence[Message], start: int, end: int) -> Iterator[Round]:
    """Yield the rounds from `start` to `end`, oldest first."""
    index = start
    while index < end:
        if not messages[index].tool_calls:
            index += 1
            continue
        unanswered = {call.id: call for call in messages[index].tool_calls}
        pairs: list[Pair] = []
        after = index + 1
        while after < end and messages[after].role == "tool":
            # Each call has one result: a second one with the same id belongs to no call.
            call = unanswered.pop(messages[after].tool_call_id, None)
            if call is not None:
                pairs.append(Pair(call, index, after))
            after += 1
        yield Round(index, tuple(pairs))
        index = after
