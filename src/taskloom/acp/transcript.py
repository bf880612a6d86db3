"""What was said in a session, line by line, durable in order.

The file is a `RecordLog`. A turn holds its lock from beginning to end, so two processes can take
turns in one session, and never at once.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from taskloom.agent import Message
from taskloom.errors import Code, DamagedLogError, RefusedError, StorageError
from taskloom.log import RecordLog


class Asked(Struct, frozen=True, tag_field="r", tag="asked"):
    """A turn begins with what the person said."""

    message: Message


class Said(Struct, frozen=True, omit_defaults=True, tag_field="r", tag="said"):
    """A reply of the model or a result of a tool, and what was shown besides."""

    message: Message
    thinking: str = ""
    shown: list[Any] = []


class Told(Struct, frozen=True, tag_field="r", tag="told"):
    """What the door itself told the person; the model does not know of it."""

    asked: str
    text: str


class Recalled(Struct, frozen=True, tag_field="r", tag="recalled"):
    """What the model knows from here on, where hooks have rewritten it.

    Counted from the end: the beginning may be left out by then.
    """

    dropped: int
    messages: list[Message]


class Over(Struct, frozen=True, tag_field="r", tag="over"):
    """The turn was answered."""

    stop_reason: str


Record: TypeAlias = Asked | Said | Told | Recalled | Over


class Transcript:
    """One session's file. Every method blocks; use it from one thread at a time."""

    def __init__(self, path: Path) -> None:
        """Name the file; it is made with the first turn."""
        self._log = RecordLog[Record](path, Record)

    def begin(self) -> list[Record]:
        """Begin a turn: lock the file, and return what was said since this was last called.

        Raises:
            RefusedError: a turn of this session is under way elsewhere.
            StorageError: the file cannot be used, or is damaged.
        """
        log = self._log
        if not log.try_lock():
            raise RefusedError(
                Code.PATH_CONFLICT,
                "Another process is in a turn of this session. Wait until it has ended, or begin "
                "a new session.",
                {"path": str(log.path)},
            )
        try:
            return log.read_new()
        except DamagedLogError as damage:
            log.unlock()
            raise StorageError(
                f"The transcript {log.path} cannot be trusted: {damage}. It was left as it is; "
                "begin a new session.",
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
        """End the turn: others may have the file."""
        self._log.unlock()

    def close(self) -> None:
        """Close the file."""
        self._log.close()
