"""A file of typed records, one line each, with the frame, recovery, lock and sync of a board's log.

A line is one JSON object; the records of one append are one transaction, so a crash leaves all of
them or none:

    {"wal_seq":7,"record":{…},"tx":[1,2,6],"crc":"5d41402a"}

The file is locked by one process at a time. Reading within the lock copies a torn tail to the
directory `torn` beside the file and cuts it off.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec

from taskloom.codec import DECODE_ERRORS, Chain
from taskloom.errors import Code, DamagedLogError, RefusedError
from taskloom.ids import Seq
from taskloom.log.disk import CREATE, Disk, OsDisk
from taskloom.log.durable_append import JsonlWal, failed
from taskloom.log.protocol import Position

T = TypeVar("T")

_UNENCODABLE: Final = (TypeError, ValueError, OverflowError, RecursionError)


class RecordLog(Generic[T]):
    """One append-only file of records of one type. Every method blocks; not thread-safe.

    The order of calls is `try_lock`, `read_new`, any number of `append`, `unlock`.
    """

    def __init__(
        self, path: Path, record_type: object, *, field: str = "record", disk: Disk | None = None
    ) -> None:
        """Name the file; `try_lock` creates it if it is missing.

        Args:
            path: the file.
            record_type: the type of the records as msgspec reads it: a class or a union.
            field: the name that lines give the record.
            disk: where the file is; the operating system's disk if left out.
        """
        self.path = path
        self._disk: Disk = disk or OsDisk()
        self._wal: JsonlWal | None = None
        self._read_to: Seq = 0
        """The last line that the caller knows: it was returned by `read_new`, or appended."""
        self._field = field
        self._line: Any = msgspec.defstruct(
            "RecordLine",
            [("wal_seq", int), (field, record_type), ("tx", tuple[int, int, int])],
        )
        self._decode: Any = msgspec.json.Decoder(self._line).decode

    def try_lock(self) -> bool:
        """Lock the file for this object, creating it if missing; False if another one has it.

        Raises:
            StorageError: the file cannot be created, opened or locked.
        """
        if self._wal is None:
            self._wal = self._open()
        return self._wal.acquire(wait=False)

    def read_new(self) -> list[T]:
        """Return the records that this object has neither returned nor appended before.

        Raises:
            DamagedLogError: the file is not what was written; it is left as it is.
            StorageError: it cannot be read.
        """
        wal = self._opened()
        try:
            records = self._read(wal)
        except BaseException:
            wal.rewind()  # What was read so far was not returned.
            raise
        self._read_to = wal.position.seq
        return records

    def _read(self, wal: JsonlWal) -> list[T]:
        records: list[T] = []
        for chunk in wal.read_new():
            lines = chunk.split(b"\n")
            lines.pop()
            for seq, line in enumerate(lines, wal.position.seq - len(lines) + 1):
                # A failed append closes the file, and it is read again from the start.
                if seq > self._read_to:
                    records.append(self._record(line, seq))
        if wal.position.seq < self._read_to:
            raise DamagedLogError(
                wal.position.seq, f"the file ends here, though it had {self._read_to} lines"
            )
        return records

    def append(self, records: Sequence[T]) -> None:
        """Append records as one transaction, within the lock; they are durable on return.

        Raises:
            RefusedError: a record has no JSON form; nothing was written.
            StorageError: the records could not be written. The lock is lost with it.
        """
        wal = self._opened()
        after = wal.position
        lines, then = self._encode(records, after)
        wal.append(lines, after=after, then=then)
        self._read_to = then.seq

    def unlock(self) -> None:
        """Give the lock back, so that another process can take it; the file stays open."""
        if self._wal is not None:
            self._wal.release()

    def close(self) -> None:
        """Close the file, which gives the lock back too."""
        if self._wal is not None:
            self._wal.close()

    def _opened(self) -> JsonlWal:
        assert self._wal is not None, "call try_lock first"
        return self._wal

    def _open(self) -> JsonlWal:
        try:
            self._disk.make_directory(self.path.parent)
            with suppress(FileExistsError):
                self._disk.close(self._disk.open(self.path, CREATE))
        except OSError as cause:
            raise failed("created", self.path, cause) from cause
        return JsonlWal(self._disk, self.path, self.path.parent / "torn")

    def _encode(self, records: Sequence[T], after: Position) -> tuple[bytearray, Position]:
        chain = Chain(after.crc)
        size = len(records)
        lines = bytearray()
        try:
            for number, record in enumerate(records, 1):
                tx = (number, size, after.seq)
                chain.append(lines, self._line(after.seq + number, record, tx))
        except _UNENCODABLE as cause:
            raise RefusedError(
                Code.VALIDATION_ERROR,
                f"The {self._field} cannot be written to {self.path}, since it has no JSON form: "
                f"{cause}. Nothing was written.",
                {"path": str(self.path)},
            ) from cause
        return lines, Position(after.seq + size, chain.crc)

    def _record(self, line: bytes, seq: Seq) -> T:
        try:
            decoded = self._decode(line)
        except DECODE_ERRORS as cause:
            raise DamagedLogError(seq, f"not a {self._field} of this log: {cause}") from cause
        record: T = getattr(decoded, self._field)
        return record
