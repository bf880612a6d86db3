"""The conversation of a session: its messages over all turns, of every interface.

The transcript holds it. An editor's turn is recorded message by message. A turn of the
Orchestrator's agent is journalled under `turns/` and enters the transcript when it has ended; if
its process was killed, it is resumed from its journal or recorded as far as it came.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from taskloom.agent import Language, Message, Result, unknown_outcome
from taskloom.agent.journal import read_journal
from taskloom.session.directory import SessionDirectory
from taskloom.session.transcript import (
    CommandRecord,
    MessageRecord,
    PromptRecord,
    Record,
    RewriteRecord,
    Transcript,
    TurnEnd,
)

BYTES_PER_TOKEN: Final = 4


class Conversation:
    """The messages of one session and the transcript behind them. Every method that writes blocks.

    The order of calls is `begin`, any number of `add` and `save`, `finish`, `end`.
    """

    def __init__(self, session: SessionDirectory, language: Language | None = None) -> None:
        """Name the session; nothing is read yet."""
        self.messages: list[Message] = []
        """What the model is given in the next turn."""
        self._session = session
        self._language: Language | None = language
        self._transcript = Transcript(session.transcript)
        self._turn: list[Record] = []
        self._saved = 0
        self._journals: set[str] = set()

    def begin(self) -> list[Record]:
        """Lock the transcript for a turn; return the records that other processes added.

        Raises:
            RefusedError: another process has it locked.
            StorageError: the transcript cannot be used, or is damaged.
        """
        records = self._transcript.begin()
        self._turn, self._saved = [], 0
        self._journals |= {one.journal for one in records if isinstance(one, TurnEnd)}
        if records:
            self.messages = apply_records(self.messages, records, self._language)
        return records

    def add(self, record: Record) -> None:
        """Add a record to the turn; `save` makes it durable."""
        self._turn.append(record)

    @property
    def has_unsaved(self) -> bool:
        """Whether records were added since the last save."""
        return self._saved < len(self._turn)

    def save(self) -> None:
        """Write the records that were added since the last save.

        Raises:
            RefusedError: a record has no JSON form.
            StorageError: they could not be written.
        """
        pending = self._turn[self._saved :]
        if pending:
            self._transcript.append(pending)
            self._saved = len(self._turn)

    def finish(self, messages: Sequence[Message] | None, stop_reason: str) -> None:
        """Record the end of the turn; `messages` are all of the conversation as hooks left them.

        Raises:
            RefusedError: a record has no JSON form.
            StorageError: they could not be written.
        """
        known = apply_records(self.messages, self._turn, self._language)
        final = known if messages is None else list(messages)
        rewrite = rewrite_record(known, final)
        if rewrite is not None:
            self.add(rewrite)
        self.add(TurnEnd(stop_reason))
        self.save()
        self.messages = final

    def end(self) -> None:
        """Unlock the transcript."""
        self._transcript.end()

    def close(self) -> None:
        """Close the transcript."""
        self._transcript.close()

    def unfinished_turn(self) -> Path | None:
        """Return the journal of the last journalled turn unless the transcript has its end."""
        journals = self._session.turns()
        is_open = bool(journals) and journals[-1].name not in self._journals
        return journals[-1] if is_open else None

    def add_turn(
        self, journal: Path, messages: Sequence[Message], stop_reason: str
    ) -> list[Record]:
        """Record a journalled turn, whose run ended with these messages; return the records.

        Raises:
            RefusedError: a message has no JSON form.
            StorageError: they could not be written.
        """
        kept = _same_start(self.messages, messages)
        records: list[Record] = []
        if kept < len(self.messages):
            records.append(RewriteRecord(len(self.messages) - kept, []))
        records += [
            PromptRecord(message) if message.role == "user" else MessageRecord(message)
            for message in messages[kept:]
        ]
        records.append(TurnEnd(stop_reason, journal.name))
        self._transcript.append(records)
        self._journals.add(journal.name)
        self.messages = list(messages)
        return records

    def turn_result(self, journal: Path) -> Result:
        """Return how far a journalled turn has come.

        Raises:
            JournalError: the journal is damaged, or a process has it open.
        """
        return read_journal(journal, self._language)

    def add_interrupted_turn(self) -> list[Record]:
        """Record a turn that a killed process left unfinished; return its records, if any.

        It is not resumed from its journal after that.

        Raises:
            JournalError: the journal is damaged, or a process has it open.
            StorageError: the records could not be written.
        """
        journal = self.unfinished_turn()
        if journal is None:
            return []
        result = self.turn_result(journal)
        return self.add_turn(journal, result.messages, result.stop_reason)


def apply_records(
    messages: Sequence[Message], records: Iterable[Record], language: Language | None = None
) -> list[Message]:
    """Return the messages after more records. Pure.

    Calls that a killed process left open get a result: providers refuse a call without one, and
    the outcome is not known.
    """
    after = list(messages)
    for record in records:
        match record:
            case PromptRecord(message):
                _close_calls(after, language)
                after.append(message)
            case MessageRecord(message):
                if message.role == "assistant":
                    _close_calls(after, language)
                after.append(message)
            case RewriteRecord(dropped, replaced):
                after[max(0, len(after) - dropped) :] = replaced
            case CommandRecord() | TurnEnd():
                pass
    _close_calls(after, language)
    return after


def rewrite_record(before: Sequence[Message], after: Sequence[Message]) -> RewriteRecord | None:
    """Return the record that turns messages into others; None if they are equal. Pure."""
    kept = _same_start(before, after)
    if kept == len(before) == len(after):
        return None
    return RewriteRecord(len(before) - kept, list(after[kept:]))


def fit_messages(messages: Sequence[Message], tokens_max: int) -> list[Message]:
    """Return the last whole turns that fit, at least the last one. Pure."""
    bytes_left = tokens_max * BYTES_PER_TOKEN
    first = len(messages)
    for index in range(len(messages) - 1, -1, -1):
        bytes_left -= _size_bytes(messages[index])
        if bytes_left < 0 and first < len(messages):
            break
        if messages[index].role == "user":
            first = index
    return list(messages[first:]) if first < len(messages) else list(messages)


def _same_start(one: Sequence[Message], other: Sequence[Message]) -> int:
    """Return how many messages at the start are the same."""
    same = 0
    for left, right in zip(one, other, strict=False):
        if left is not right and left != right:
            break
        same += 1
    return same


def _close_calls(messages: list[Message], language: Language | None) -> None:
    """Put the results of the last reply into the order of its calls, with one for each call."""
    results: dict[str, Message] = {}
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role == "tool":
            results[message.tool_call_id] = message
            continue
        messages[index + 1 :] = [
            results.get(call.id) or unknown_outcome(call, language) for call in message.tool_calls
        ]
        return


def _size_bytes(message: Message) -> int:
    """Return about how much of a model's context a message takes."""
    if isinstance(message.content, str) and not message.tool_calls:
        return len(message.content.encode("utf-8", "replace")) + 16
    return len(msgspec.json.encode(message))
