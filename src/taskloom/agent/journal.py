"""The journal of a run: every change of its state as one record of a log, durable in order.

    {"wal_seq":7,"entry":{"e":"end","message":{…}},"tx":[1,2,5],"crc":"5d41402a"}

Entries appended between two syncs are written as one transaction: a crash leaves all of them or
none. One run, one file, one process at a time.
"""

import os
import threading
from pathlib import Path
from time import perf_counter

import anyio
import anyio.to_thread

from taskloom.agent.errors import JournalError
from taskloom.agent.language import Language
from taskloom.agent.loop.journal_entries import CallEnded, CallsStarted, Entry
from taskloom.agent.loop.run_state import is_implied, make_result, replay
from taskloom.agent.model_texts import texts
from taskloom.agent.result import Result
from taskloom.errors import DamagedLogError, RefusedError, StorageError
from taskloom.log import Disk, RecordLog, SyncPolicy


class FileJournal:
    """A journal in a file; `open_journal` returns it."""

    def __init__(self, log: RecordLog[Entry]) -> None:
        """Take a log that is locked and read to its end."""
        self._log = log
        self._pending: list[Entry] = []
        self._appended = 0
        self._durable = 0
        self._calls = 0
        """The tool calls that run side by side now: each of them ends with a sync."""
        self._policy = SyncPolicy()
        self._sync_lock = anyio.Lock()
        self._pending_lock = threading.Lock()
        self._file_lock = threading.Lock()
        self._closed = False
        self._failure: StorageError | JournalError | None = None

    def append(self, entry: Entry) -> None:
        """Take an entry for the next sync, unless other entries imply it."""
        if isinstance(entry, CallEnded):
            self._calls -= 1
        elif isinstance(entry, CallsStarted):
            self._calls = 0 if len(entry.ids) == 1 else len(entry.ids)
        if not is_implied(entry):
            with self._pending_lock:  # Sync tools set values from their threads.
                self._pending.append(entry)
                self._appended += 1

    async def sync(self) -> None:
        """Return when every entry appended so far is durable.

        Tool calls that run side by side share a sync if they end in one round of the event
        loop, or while a sync is under way: the lock lets the loop finish its round before its
        first holder writes for all.
        """
        wanted = self._appended
        if self._calls <= 0 and self._policy.is_inline and not self._sync_lock.locked():
            self._write_inline(wanted)
        while self._durable < wanted:
            async with self._sync_lock:
                if self._policy.is_inline:
                    self._write_inline(wanted)
                elif self._durable < wanted:
                    self._policy.note_threaded()
                    await anyio.to_thread.run_sync(self._write)

    def _write_inline(self, wanted: int) -> None:
        if self._durable < wanted:
            started = perf_counter()
            self._write()
            self._policy.note_inline(perf_counter() - started)

    def _write(self) -> None:
        with self._file_lock:
            if self._failure is not None:
                raise self._failure  # A later entry must not be durable without an earlier one.
            if self._closed:
                raise JournalError("The journal is closed: nothing more can be written to it.")
            with self._pending_lock:
                batch, self._pending = self._pending, []
            try:
                self._log.append(batch)
            except RefusedError as refused:
                self._failure = JournalError(refused.message)
                raise self._failure from refused
            except StorageError as failure:
                self._failure = failure
                raise
            self._durable += len(batch)

    def close(self) -> None:
        """Close the file after a write that is still under way in a thread."""
        with self._file_lock:
            self._closed = True
            self._log.close()


def open_journal(
    path: str | os.PathLike[str], disk: Disk | None = None
) -> tuple[FileJournal, list[Entry]]:
    """Open the journal of a run, creating it if missing; return it with its entries. Blocks.

    Raises:
        JournalError: another process has it open, or it is damaged.
        StorageError: the file cannot be created, read or repaired.
    """
    log = RecordLog[Entry](Path(path), Entry, field="entry", disk=disk)
    if not log.try_lock():
        log.close()
        raise JournalError(
            f"Another process is running with the journal {log.path}. Wait until it has ended, "
            "or give this run a file of its own."
        )
    try:
        return FileJournal(log), log.read_new()
    except DamagedLogError as damage:
        log.close()
        raise JournalError(
            f"The journal {log.path} is damaged at line {damage.line}: {damage.cause}. It was left "
            "as it is; start the run again with a new journal."
        ) from damage
    except BaseException:
        log.close()
        raise


def read_journal(path: str | os.PathLike[str], language: Language | None = None) -> Result:
    """Return how far a journalled run has come, as the result of a run that stops there. Blocks.

    Raises:
        JournalError: another process has it open, or it is damaged.
        StorageError: the file cannot be read or repaired.
    """
    journal, entries = open_journal(path)
    journal.close()
    return make_result(replay(entries), texts(language))
