"""Clearing: when the whole context grows too large, old results give way to pointers.

All old rounds are cleared at once, and then nothing until the limit is reached again, so that
what was sent before stays the same from request to request and a provider's cache goes on
serving it. What was cleared is marked in the message itself (`finish_reason`), so the mark
lives as long as the message does: through journals, resumes and later runs.
"""

from collections.abc import Callable
from typing import Final

from msgspec import Struct, structs

from taskloom.agent import Message, State, ToolCall
from taskloom.middleware.reduction.clear_decision import (
    CLEARED,
    Proposal,
    Proposer,
    Save,
    is_shorter,
)
from taskloom.middleware.reduction.notices import Notices
from taskloom.middleware.reduction.offload import Offload, answer, moved
from taskloom.middleware.reduction.rounds import Pair, kept_from, round_start, rounds
from taskloom.middleware.reduction.settings import Settings
from taskloom.middleware.reduction.token_cache import TokenCache

FAILURES_MAX: Final = 3
"""A storage that fails so often in a row is asked again before the next model call."""


class _Step(Struct, frozen=True):
    pair: Pair
    proposal: Proposal
    round_at: int


class Clearing:
    """Clears the state before a model call."""

    def __init__(
        self, settings: Settings, offload: Offload, notices: Callable[[], Notices]
    ) -> None:
        """Take the settings, where to save, and who writes the pointers."""
        self._settings = settings
        self._offload = offload
        self._notices = notices
        self._proposer = Proposer(settings, offload)

    async def clear(self, state: State, ledger: TokenCache) -> State | None:
        """Return the state with old results cleared; None if nothing is to be done."""
        settings = self._settings
        total = ledger.total(state.messages, state.tools)
        if total <= settings.max_tokens_for_clear:
            return None
        steps, looked_to, spared = await self._plan(state.messages, ledger, total)
        if not steps:
            ledger.settled = looked_to
            return None
        if spared < settings.clear_at_least_tokens:
            return None
        messages, done_to = await self._carry_out(state.messages, steps, looked_to)
        ledger.settled = done_to
        if messages is None:
            return None
        ledger.replace(messages)
        cleared = State(messages, state.tools)
        if settings.clear_post_process is not None:
            return await answer(settings.clear_post_process(cleared)) or cleared
        return cleared

    async def _plan(
        self, messages: list[Message], ledger: TokenCache, total: int
    ) -> tuple[list[_Step], int, int]:
        """Return what to do, the place up to which was looked, and the tokens it spares."""
        settings, notices = self._settings, self._notices()
        start = round_start(messages, ledger.settled)
        end = kept_from(messages, settings.clear_retention_suffix_limit, start)
        steps: list[_Step] = []
        spared = 0
        for one in rounds(messages, start, end):
            if settings.clear_down_to_tokens and total - spared <= settings.clear_down_to_tokens:
                return steps, one.start, spared
            for pair in one.pairs:
                result = messages[pair.result_at]
                proposal = await self._proposer.propose(notices, pair.call, result)
                if proposal is not None:
                    steps.append(_Step(pair, proposal, one.start))
                    spared += _spared(ledger, pair, result, proposal)
        return steps, end, spared

    async def _carry_out(
        self, messages: list[Message], steps: list[_Step], looked_to: int
    ) -> tuple[list[Message] | None, int]:
        """Save and replace; return the new messages and the place up to which all is done."""
        changed = list(messages)
        done_to, failures = looked_to, 0
        for step in steps:
            if failures == FAILURES_MAX:
                break
            proposal = await self._saved(step.proposal)
            if proposal is None:
                done_to = min(done_to, step.round_at)
                failures += 1
                continue
            failures = 0
            _put(changed, step.pair, proposal)
        return (None if changed == messages else changed), done_to

    async def _saved(self, proposal: Proposal) -> Proposal | None:
        """Save what goes, and return the proposal with the paths it is under; None if it fails."""
        for save in proposal.saves:
            path = await self._offload.save(
                proposal.detail, proposal.choice.backend, save.path, save.text
            )
            if path is None:
                return None
            renamed = proposal if path == save.path else _renamed(proposal, save, path)
            if renamed is None:
                reason = "The path is taken by another content."
                await self._offload.warn(proposal.detail, save.path, reason)
                return None
            proposal = renamed
        return proposal


def _renamed(proposal: Proposal, save: Save, path: str) -> Proposal | None:
    """Return the proposal with the path that was free; None if it names none."""
    content, arguments = proposal.content, proposal.arguments
    found = False
    if content is not None and save.in_content:
        other = moved(content, save.path, path)
        found, content = other is not None, content if other is None else other
    if arguments is not None and save.in_arguments:
        text = moved(arguments, save.path, path)
        if isinstance(text, str):
            found, arguments = True, text
    return structs.replace(proposal, content=content, arguments=arguments) if found else None


def _spared(ledger: TokenCache, pair: Pair, result: Message, proposal: Proposal) -> int:
    spared = 0
    if proposal.content is not None:
        new = result.replace(content=proposal.content)
        spared += ledger.count_at(pair.result_at) - ledger.count(new)
    if proposal.arguments is not None:
        spared += ledger.count(Message.assistant("", pair.call))
        spared -= ledger.count(Message.assistant("", _call(pair.call, proposal.arguments)))
    return spared


def _put(messages: list[Message], pair: Pair, proposal: Proposal) -> None:
    result = messages[pair.result_at]
    if proposal.content is None and proposal.choice.clear_handler is not None:
        # It is not to be asked again about arguments that are its own.
        messages[pair.result_at] = result.replace(finish_reason=CLEARED)
    if proposal.content is not None:
        if proposal.choice.clear_handler is None and isinstance(proposal.content, str):
            # The name that was free may have been longer than the one hoped for.
            fits = is_shorter(proposal.content, result.content)
        else:
            fits = True
        if fits:
            messages[pair.result_at] = result.replace(
                content=proposal.content, finish_reason=CLEARED
            )
    if proposal.arguments is not None:
        asking = messages[pair.call_at]
        calls = tuple(
            _call(call, proposal.arguments) if call is pair.call else call
            for call in asking.tool_calls
        )
        messages[pair.call_at] = asking.replace(tool_calls=calls)


def _call(call: ToolCall, arguments: str) -> ToolCall:
    return ToolCall(call.id, call.name, arguments)
