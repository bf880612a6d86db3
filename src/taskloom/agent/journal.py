"""The journal of a run: every change of its state, one line each, durable in order.

The lines are those of the board's log (`taskloom.codec.frame`) and so is everything that reads,
checks, mends and appends them (`taskloom.log`); only what a line says is the agent's own:

    {"wal_seq":7,"entry":{"e":"end","message":{…}},"tx":[1,2,5],"crc":"5d41402a"}

Entries taken between two syncs are written together and count as one decision: a crash leaves
all of them or none. One run, one file, one process at a time: the file is locked meanwhile.
"""

import os
import threading
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
import msgspec
from msgspec import Struct

from taskloom.agent.errors import JournalError
from taskloom.agent.journal_entries import Entry
from taskloom.agent.run_state import is_implied
from taskloom.codec.frame import Chain
from taskloom.codec.torn_tail import DECODE_ERRORS
from taskloom.errors import DamagedLogError, StorageError
from taskloom.log.disk import CREATE, Disk, OsDisk
from taskloom.log.jsonl_wal import JsonlWal
from taskloom.log.protocol import Position


class _Line(Struct):
    wal_seq: int
    entry: Entry
    tx: tuple[int, int, int]


_NO_JSON: Final = (TypeError, ValueError, OverflowError, RecursionError)
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(_Line).decode


class FileJournal:
    """A journal in a file; made by `open_journal`."""

    def __init__(self, wal: JsonlWal) -> None:
        """Take a log that is locked and read to its end."""
        self._wal = wal
        self._waiting: list[Entry] = []
        self._taken = 0
        self._safe = 0
        self._turn = anyio.Lock()
        self._hand = threading.Lock()
        self._writing = threading.Lock()
        self._closed = False
        self._broken: StorageError | JournalError | None = None

    def append(self, entry: Entry) -> None:
        """Take an entry; those that follow from the ones around them are not written."""
        if not is_implied(entry):
            with self._hand:  # Sync tools set values from their threads.
                self._waiting.append(entry)
                self._taken += 1

    async def sync(self) -> None:
        """Return when every entry taken so far is durable.

        Whoever comes while a write is under way waits for it, and one of them then writes
        for all: calls that end at the same time share a sync.
        """
        wanted = self._taken
        while self._safe < wanted:
            async with self._turn:
                if self._broken is not None:
                    raise self._broken  # What came after it would stand without it.
                if self._safe < wanted:
                    await anyio.to_thread.run_sync(self._write)

    def _write(self) -> None:
        with self._writing:
            if self._closed:
                raise JournalError("The journal is closed: nothing more can be written to it.")
            with self._hand:
                batch, self._waiting = self._waiting, []
            try:
                self._append(batch)
            except (StorageError, JournalError) as failed:
                self._broken = failed
                raise
            self._safe += len(batch)

    def _append(self, batch: list[Entry]) -> None:
        after = self._wal.position
        chain = Chain(after.crc)
        size = len(batch)
        try:
            lines = b"".join(
                chain.seal(_encode(_Line(after.seq + place, entry, (place, size, after.seq))))
                for place, entry in enumerate(batch, 1)
            )
        except _NO_JSON as error:
            raise JournalError(
                f"The journal cannot keep what the run was given, since it has no JSON: {error}"
            ) from error
        self._wal.append(lines, after=after, then=Position(after.seq + size, chain.crc))

    def close(self) -> None:
        """Let go of the file and its lock; a write nobody waits for any more ends first."""
        with self._writing:
            self._closed = True
            self._wal.close()


def open_journal(
    path: str | os.PathLike[str], disk: Disk | None = None
) -> tuple[FileJournal, list[Entry]]:
    """Open the journal of a run, and return it with the entries it holds. Blocks.

    The file is made if it is missing. What a crash left half-written is set aside first.

    Raises:
        JournalError: another process has it, or it is damaged.
        StorageError: the disk cannot.
    """
    disk = disk or OsDisk()
    file = Path(path)
    _create(disk, file)
    wal = JsonlWal(disk, file, file.parent / "torn", durable=True)
    try:
        entries = _take(wal, file)
    except DamagedLogError as damage:
        wal.close()
        raise JournalError(
            f"The journal {file} cannot be trusted: {damage}. It was left as it is."
        ) from damage
    except BaseException:
        wal.close()
        raise
    return FileJournal(wal), entries


def _take(wal: JsonlWal, file: Path) -> list[Entry]:
    if not wal.acquire(wait=False):
        raise JournalError(
            f"Another process is running with the journal {file}. Wait until it has ended; "
            "give each run a file of its own."
        )
    return [entry for piece in wal.news() for entry in _entries(piece)]


def _create(disk: Disk, path: Path) -> None:
    if path.exists():
        return
    disk.make_directory(path.parent)
    try:
        disk.close(disk.open(path, CREATE))
    except FileExistsError:
        return
    disk.sync_directory(path.parent)


def _entries(piece: bytes) -> list[Entry]:
    found: list[Entry] = []
    for line in piece.splitlines():
        try:
            found.append(_decode(line).entry)
        except DECODE_ERRORS as error:
            raise DamagedLogError(len(found) + 1, f"it is no entry of a run: {error}") from error
    return found
