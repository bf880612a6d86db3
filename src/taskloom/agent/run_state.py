"""The state of one run, and the only place that changes it.

`apply` takes an entry and cannot refuse: entries were decided before, by the loop or by a
loop that died since. `stage` says what comes next, so a run that starts, one that goes on
after an interrupt and one that goes on after a crash enter the loop by the same door.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from taskloom.agent.chat_model import ToolInfo
from taskloom.agent.journal_entries import (
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
    RunBegun,
    TurnClosed,
    ValueDeleted,
    ValueSet,
)
from taskloom.agent.messages import Message, Usage
from taskloom.agent.result import Interrupt, StopReason

Stage: TypeAlias = Literal["model", "after_model", "tools", "done"]


class RunState(Struct):
    """Everything a run is, in plain data: a checkpoint is its JSON."""

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
        """Make the entry true."""
        APPLY[type(entry)](self, entry)

    def begin(self, entry: RunBegun) -> None:
        """Start with the messages given."""
        self.run_id, self.agent = entry.run_id, entry.agent
        self.messages = list(entry.messages)
        self.given = len(entry.messages)

    def reply(self, entry: Replied) -> None:
        """Take the model's reply."""
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
        """Go on as the last message says."""
        self.hooks_done = 0
        self.stage = self._after_reply(self.messages[-1])

    def edit(self, entry: Edited) -> None:
        """Put other messages in place of some."""
        self._close_if_all_ended()
        self.messages[entry.start : entry.stop] = entry.messages

    def offer(self, entry: Offered) -> None:
        """Offer other tools from now on."""
        self._close_if_all_ended()
        self.tools = entry.tools

    def start_calls(self, entry: CallsStarted) -> None:
        """Remember that these calls may have had effects."""
        self.stage = "tools"
        for id_ in entry.ids:
            self.started[id_] = True

    def end_call(self, entry: CallEnded) -> None:
        """Keep the result until the turn is closed."""
        self.stage = "tools"
        self.finished[entry.message.tool_call_id] = entry.message

    def close_turn(self, entry: TurnClosed) -> None:
        """Add the results in the order of the calls."""
        finished = self.finished
        self.messages.extend([finished[call.id] for call in self.messages[-1].tool_calls])
        self.started, self.finished, self.saved = {}, {}, {}
        self.direct = entry.direct
        self.stage = "done" if entry.direct else "model"

    def set_value(self, entry: ValueSet) -> None:
        """Keep a run-local value."""
        self.values[entry.key] = entry.value

    def delete_value(self, entry: ValueDeleted) -> None:
        """Forget a run-local value."""
        self.values.pop(entry.key, None)

    def pause(self, entry: Paused) -> None:
        """Wait for people; the interrupted calls count as not begun."""
        if not entry.calls:
            self._close_if_all_ended()
        for call_id in entry.calls:
            self.started.pop(call_id, None)
        self.interrupts = entry.interrupts
        self.saved.update(entry.saved)
        self.ended = "interrupted"

    def answer(self, entry: Answered) -> None:
        """Keep the answers for those who asked."""
        self.answers.update(entry.answers)
        self.interrupts, self.ended = (), None

    def end(self, entry: Ended) -> None:
        """Remember why the run stopped."""
        self.ended = entry.reason
        self.hooks_done = entry.hooks_done
        if entry.reason in ("completed", "returned_directly"):
            self.stage = "done"

    @staticmethod
    def _after_reply(last: Message) -> Stage:
        if last.tool_calls:
            return "tools"
        # A hook that leaves the last word to the user wants another reply.
        return "model" if last.role == "user" else "done"

    def _close_if_all_ended(self) -> None:
        """Close a turn whose end was not written: see `is_implied`."""
        if self.stage == "tools" and len(self.finished) == len(self.messages[-1].tool_calls):
            self.close_turn(TurnClosed())


APPLY: Final[dict[type[Entry], Callable[[RunState, Any], None]]] = {
    RunBegun: RunState.begin,
    Replied: RunState.reply,
    Decided: RunState.decide,
    Edited: RunState.edit,
    Offered: RunState.offer,
    CallsStarted: RunState.start_calls,
    CallEnded: RunState.end_call,
    TurnClosed: RunState.close_turn,
    ValueSet: RunState.set_value,
    ValueDeleted: RunState.delete_value,
    Paused: RunState.pause,
    Answered: RunState.answer,
    Ended: RunState.end,
}
"""A table and not a chain of cases: it is asked five times per iteration."""


def is_implied(entry: Entry) -> bool:
    """Tell whether the entries after it say the same, so that a journal can leave it out."""
    return isinstance(entry, Decided) or (isinstance(entry, TurnClosed) and not entry.direct)


def replay(entries: Iterable[Entry]) -> RunState:
    """Return the state that the entries add up to."""
    progress = RunState()
    for entry in entries:
        progress.apply(entry)
    return progress


def edit(before: Sequence[Message], after: Sequence[Message]) -> Edited | None:
    """Return the shortest splice that makes `after` of `before`; None if they are equal."""
    if before == after:
        return None
    start, limit = 0, min(len(before), len(after))
    while start < limit and before[start] is after[start]:
        start += 1
    tail, limit = 0, limit - start
    while tail < limit and before[-1 - tail] is after[-1 - tail]:
        tail += 1
    return Edited(start, len(before) - tail, tuple(after[start : len(after) - tail]))
