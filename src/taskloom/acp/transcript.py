"""What was said in a session, line by line, durable in order.

The lines are those of the board's log (`taskloom.codec.frame`), and so is what reads, checks,
mends and appends them; only what a line says is the door's own. A turn holds the file's lock
from its beginning to its end, so two processes may take turns in one session, and never at once.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from taskloom.agent import Message
from taskloom.codec.frame import Chain
from taskloom.codec.torn_tail import DECODE_ERRORS
from taskloom.errors import Code, DamagedLogError, RefusedError, StorageError
from taskloom.log.disk import CREATE, OsDisk
from taskloom.log.jsonl_wal import JsonlWal
from taskloom.log.protocol import Position


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


class _Line(Struct):
    wal_seq: int
    record: Record
    tx: tuple[int, int, int]


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(_Line).decode


class Transcript:
    """One session's file. Every method blocks; use it from one thread at a time."""

    def __init__(self, path: Path) -> None:
        """Name the file; it is made with the first turn."""
        self._path = path
        self._wal: JsonlWal | None = None

    def begin(self) -> list[Record]:
        """Begin a turn: lock the file, and return what was said since this was last called.

        Raises:
            RefusedError: a turn of this session is under way elsewhere.
            StorageError: the file cannot be used, or is damaged.
        """
        wal = self._open()
        if not wal.acquire(wait=False):
            raise RefusedError(
                Code.PATH_CONFLICT,
                "Another process is in a turn of this session. Wait until it has ended, or begin "
                "a new session.",
                {"path": str(self._path)},
            )
        try:
            return self._news(wal)
        except BaseException:
            wal.release()
            raise

    def append(self, records: Sequence[Record]) -> None:
        """Write records within a turn; they are durable when this returns.

        Raises:
            StorageError: they could not be written.
        """
        assert self._wal is not None, "a turn is under way"
        after = self._wal.position
        chain = Chain(after.crc)
        size = len(records)
        try:
            lines = b"".join(
                chain.seal(_encode(_Line(after.seq + place, record, (place, size, after.seq))))
                for place, record in enumerate(records, 1)
            )
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise StorageError(f"What was said has no JSON and cannot be kept: {error}") from error
        self._wal.append(lines, after=after, then=Position(after.seq + size, chain.crc))

    def end(self) -> None:
        """End the turn: others may have the file."""
        if self._wal is not None:
            self._wal.release()

    def close(self) -> None:
        """Let go of the file."""
        if self._wal is not None:
            self._wal.close()
            self._wal = None

    def _open(self) -> JsonlWal:
        if self._wal is None:
            disk = OsDisk()
            if not self._path.exists():
                disk.make_directory(self._path.parent)
                try:
                    disk.close(disk.open(self._path, CREATE))
                except FileExistsError:
                    pass
                except OSError as error:
                    raise StorageError(f"{self._path} cannot be made: {error}") from error
            self._wal = JsonlWal(disk, self._path, self._path.parent / "torn", durable=True)
        return self._wal

    def _news(self, wal: JsonlWal) -> list[Record]:
        try:
            return [_decode(line).record for piece in wal.news() for line in piece.splitlines()]
        except (DamagedLogError, *DECODE_ERRORS) as error:
            raise StorageError(
                f"The transcript {self._path} cannot be trusted: {error}. It was left as it is; "
                "begin a new session.",
                {"path": str(self._path)},
            ) from error
