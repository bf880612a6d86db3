"""The transcript of a session: its conversation, one record per line, durable in order.

The file is a `RecordLog`. A turn locks it from beginning to end.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from taskloom.agent import Message
from taskloom.errors import Code, DamagedLogError, RefusedError, StorageError
from taskloom.log import RecordLog


class PromptRecord(Struct, frozen=True, tag_field="r", tag="asked"):
    """The message of the person with which a turn begins."""

    message: Message


class MessageRecord(Struct, frozen=True, omit_defaults=True, tag_field="r", tag="said"):
    """A reply of the model or a result of a tool, with what the client was shown besides."""

    message: Message
    thinking: str = ""
    shown: list[Any] = []


class CommandRecord(Struct, frozen=True, tag_field="r", tag="told"):
    """An answer of the interface itself, to a command; the model does not see it."""

    asked: str
    text: str


class RewriteRecord(Struct, frozen=True, tag_field="r", tag="recalled"):
    """The last messages as hooks have rewritten them: `dropped` of them are replaced.

    The count is from the end because the beginning may have been left out.
    """

    dropped: int
    messages: list[Message]


class TurnEnd(Struct, frozen=True, omit_defaults=True, tag_field="r", tag="over"):
    """The end of a turn."""

    stop_reason: str
    journal: str = ""
    """The name of the turn's journal under `turns/`, for a turn that has one."""


Record: TypeAlias = PromptRecord | MessageRecord | CommandRecord | RewriteRecord | TurnEnd
"""One record of a transcript."""


class Transcript:
    """The transcript file of one session. Every method blocks; use one thread at a time."""

    def __init__(self, path: Path) -> None:
        """Name the file; the first turn creates it."""
        self._log = RecordLog[Record](path, Record)

    def begin(self) -> list[Record]:
        """Lock the file for a turn; return the records added since this was last called.

        Raises:
            RefusedError: another process has the file locked.
            StorageError: the file cannot be used, or is damaged.
        """
        log = self._log
        if not log.try_lock():
            raise RefusedError(
                Code.SESSION_BUSY,
                "Another process is in a turn of this session. Wait until that turn has ended, or "
                "start a new session.",
                {"path": str(log.path)},
            )
        try:
            return log.read_new()
        except DamagedLogError as damage:
            log.unlock()
            raise StorageError(
                f"The transcript {log.path} is damaged at line {damage.line}: {damage.cause}. It "
                "was left as it is; start a new session.",
                {"path": str(log.path)},
            ) from damage
        except BaseException:
            log.unlock()
            raise

    def append(self, records: Sequence[Record]) -> None:
        """Write records within a turn; they are durable when this returns.

        Raises:
            RefusedError: a record has no JSON form.
            StorageError: they could not be written.
        """
        self._log.append(records)

    def end(self) -> None:
        """Unlock the file."""
        self._log.unlock()

    def close(self) -> None:
        """Close the file."""
        self._log.close()
