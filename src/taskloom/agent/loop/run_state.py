"""The state of one run, the code that changes it, and the result it amounts to.

`apply` takes an entry and cannot refuse: the loop decided it, perhaps in a process that died
since. `stage` says what comes next, so a new run, one that resumes after an interrupt and one that
resumes after a crash enter the loop in the same way.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from taskloom.agent.chat_model import ToolInfo
from taskloom.agent.loop.journal_entries import (
    Answered,
    CallEnded,
    CallsStarted,
    Decided,
    Edited,
    Ended,
    Entry,
    Offered,
    Paused,
    Replied,
    RoundClosed,
    RunBegun,
    ValueDeleted,
    ValueSet,
)
from taskloom.agent.messages import Message, Usage
from taskloom.agent.model_texts import Texts
from taskloom.agent.result import Interrupt, Result, StopReason

Stage: TypeAlias = Literal["model", "after_model", "tools", "done"]

SUCCESS: Final = ("completed", "returned_directly")


class RunState(Struct):
    """Everything a run is, in plain data: a checkpoint is its JSON, so field names stay."""

    run_id: str = ""
    agent: str = ""
    given: int = 0
    messages: list[Message] = []
    tools: tuple[ToolInfo, ...] | None = None
    values: dict[str, Any] = {}
    iterations: int = 0
    usage: Usage = Usage()
    stage: Stage = "model"
    hooks_done: int = 0
    started: dict[str, bool] = {}
    finished: dict[str, Message] = {}
    direct: str = ""
    interrupts: tuple[Interrupt, ...] = ()
    answers: dict[str, Any] = {}
    saved: dict[str, Any] = {}
    ended: StopReason | None = None

    def apply(self, entry: Entry) -> None:
        """Change the state as the entry says."""
        APPLY[type(entry)](self, entry)

    def begin(self, entry: RunBegun) -> None:
        """Start with the given messages."""
        self.run_id, self.agent = entry.run_id, entry.agent
        self.messages = list(entry.messages)
        self.given = len(entry.messages)

    def reply(self, entry: Replied) -> None:
        """Append the model's reply."""
        self._close_if_all_ended()
        message = entry.message
        self.messages.append(message)
        self.iterations += 1
        self.hooks_done = 0
        self.ended = None
        if message.usage is not None:
            self.usage += message.usage
        self.stage = "after_model"

    def decide(self, _: Decided) -> None:
        """Set the next stage from the last message."""
        self.hooks_done = 0
        self.stage = self._after_reply(self.messages[-1])

    def edit(self, entry: Edited) -> None:
        """Replace a range of messages."""
        self._close_if_all_ended()
        self.messages[entry.start : entry.stop] = entry.messages

    def offer(self, entry: Offered) -> None:
        """Change the offered tools from now on."""
        self._close_if_all_ended()
        self.tools = entry.tools

    def start_calls(self, entry: CallsStarted) -> None:
        """Remember that these calls may have had effects."""
        self.stage = "tools"
        for id_ in entry.ids:
            self.started[id_] = True

    def end_call(self, entry: CallEnded) -> None:
        """Keep the result until all calls of the reply have one."""
        self.stage = "tools"
        self.finished[entry.message.tool_call_id] = entry.message

    def close_round(self, entry: RoundClosed) -> None:
        """Append the results in the order of the calls."""
        finished = self.finished
        self.messages.extend([finished[call.id] for call in self.messages[-1].tool_calls])
        self.started, self.finished, self.saved = {}, {}, {}
        self.direct = entry.direct
        self.stage = "done" if entry.direct else "model"

    def set_value(self, entry: ValueSet) -> None:
        """Set a run-local value."""
        self.values[entry.key] = entry.value

    def delete_value(self, entry: ValueDeleted) -> None:
        """Delete a run-local value."""
        self.values.pop(entry.key, None)

    def pause(self, entry: Paused) -> None:
        """Wait for answers; the interrupted calls count as not started."""
        if not entry.calls:
            self._close_if_all_ended()
        for call_id in entry.calls:
            self.started.pop(call_id, None)
        self.interrupts = entry.interrupts
        self.saved.update(entry.saved)
        self.ended = "interrupted"

    def answer(self, entry: Answered) -> None:
        """Keep the answers for the calls that asked."""
        self.answers.update(entry.answers)
        self.interrupts, self.ended = (), None

    def end(self, entry: Ended) -> None:
        """Keep why the run stopped."""
        self.ended = entry.reason
        self.hooks_done = entry.hooks_done
        if entry.reason in SUCCESS:
            self.stage = "done"

    @staticmethod
    def _after_reply(last: Message) -> Stage:
        if last.tool_calls:
            return "tools"
        # A hook left a user message at the end: ask the model again.
        return "model" if last.role == "user" else "done"

    def _close_if_all_ended(self) -> None:
        """Close a round whose closing entry was not written: see `is_implied`."""
        if self.stage == "tools" and len(self.finished) == len(self.messages[-1].tool_calls):
            self.close_round(RoundClosed())


APPLY: Final[dict[type[Entry], Callable[[RunState, Any], None]]] = {
    RunBegun: RunState.begin,
    Replied: RunState.reply,
    Decided: RunState.decide,
    Edited: RunState.edit,
    Offered: RunState.offer,
    CallsStarted: RunState.start_calls,
    CallEnded: RunState.end_call,
    RoundClosed: RunState.close_round,
    ValueSet: RunState.set_value,
    ValueDeleted: RunState.delete_value,
    Paused: RunState.pause,
    Answered: RunState.answer,
    Ended: RunState.end,
}
"""A table and not a chain of cases: `apply` runs five times per iteration."""


def is_implied(entry: Entry) -> bool:
    """Return whether later entries imply this one, so that a journal can leave it out."""
    return isinstance(entry, Decided) or (isinstance(entry, RoundClosed) and not entry.direct)


def replay(entries: Iterable[Entry]) -> RunState:
    """Return the state that the entries add up to."""
    state = RunState()
    for entry in entries:
        state.apply(entry)
    return state


def diff(before: Sequence[Message], after: Sequence[Message]) -> Edited | None:
    """Return the shortest edit that turns `before` into `after`; None if they are equal."""
    if before == after:
        return None
    start, limit = 0, min(len(before), len(after))
    while start < limit and before[start] is after[start]:
        start += 1
    tail, limit = 0, limit - start
    while tail < limit and before[-1 - tail] is after[-1 - tail]:
        tail += 1
    return Edited(start, len(before) - tail, tuple(after[start : len(after) - tail]))


def make_result(
    state: RunState,
    texts: Texts,
    reason: StopReason | None = None,
    error: Exception | None = None,
) -> Result:
    """Return the result of a run that stops in this state.

    Without a reason, it is the one for which the run ended before. `messages` are complete: a
    next run can start from them.
    """
    stop = reason or state.ended or "failed"
    return Result(
        run_id=state.run_id,
        stop_reason=stop,
        messages=[*state.messages, *_results_of_open_round(state, texts)],
        message=_final_message(state, stop),
        usage=state.usage,
        iterations=state.iterations,
        interrupts=state.interrupts if stop == "interrupted" else (),
        error=error,
    )


def _final_message(state: RunState, stop: StopReason) -> Message | None:
    if state.direct:
        found = (one for one in reversed(state.messages) if one.tool_call_id == state.direct)
        return next(found, None)
    if stop != "completed":
        return None
    return next((one for one in reversed(state.messages) if one.role == "assistant"), None)


def _results_of_open_round(state: RunState, texts: Texts) -> list[Message]:
    """Return a result for each call of a round that is not closed: providers demand one."""
    last = state.messages[-1] if state.messages else None
    if last is None or not last.tool_calls:
        return []
    return [
        state.finished.get(call.id)
        or Message.tool(
            call,
            (texts.outcome_unknown if call.id in state.started else texts.not_run).format(
                name=call.name
            ),
            is_error=True,
        )
        for call in last.tool_calls
    ]
