"""The lines of decisions on their way to one log: staged in memory, then committed in groups.

Between staging and commit memory is ahead of the disk (decision 0001): while one thread waits for
a sync, others decide on the state that is about to be durable and stage their lines, and the next
sync takes all of them. If a sync fails, all that was staged and not durable is lost, and every
caller who waits for a lost line gets the failure.
"""

from threading import Condition, Lock
from time import perf_counter
from typing import Final

from taskloom.codec import Chain
from taskloom.errors import StorageError, TaskloomError
from taskloom.ids import Seq
from taskloom.log import Position, Wal
from taskloom.runtime.write_lock import WouldBlockError, WriteLock

_FAILURES_KEPT: Final = 100
"""Of so many epochs the failure is known; their callers have asked long before."""


class WalWriter:
    """Stages and commits lines of one log.

    `enter` and `leave` stand around every request. `commit`, `is_committed` and `close` take the
    locks they need; all other methods are called between `enter` and `leave`.
    """

    def __init__(self, wal: Wal) -> None:
        """Write behind what has been read of an open log."""
        self.wal = wal
        self._reset_locks()
        self.chain = Chain(wal.position.crc)
        # Staged lines belong to events that are applied in memory and not yet appended. While
        # there are any, or while an append is in flight, the log's write lock stays ours: no
        # other process may append between a decision and its lines.
        self._staged: list[bytearray] = []
        self._end: Position = wal.position
        self._in_flight = False
        self._staged_seq: Seq = wal.position.seq
        self.durable_seq: Seq = wal.position.seq
        # An epoch is a time in which no line was lost. A failure ends it: the Task is read again
        # from the log, and the numbers of the lost lines will be given to other events. So a
        # line that somebody waits for is named by its number and its epoch. Of each epoch that
        # ended we know the last line that became durable in it, and the failure that everybody
        # gets who waits for a later one.
        self.epoch = 0
        self._failures: dict[int, tuple[Seq, TaskloomError]] = {}
        self.last_sync_s = 0.0

    def _reset_locks(self) -> None:
        # Two locks, so that others decide during a sync: `_sync_lock` is held for all of a sync,
        # `lock` only while memory is read or changed. Who needs both takes `_sync_lock` first.
        self.lock = Condition(Lock())
        self._sync_lock = Lock()
        self._write_lock = WriteLock(self.wal, self.lock)

    def after_fork(self) -> None:
        """In a forked child: drop the parent's locks and staged lines."""
        self._reset_locks()
        self._in_flight = False
        self.lose(_interrupted(self.wal.path))
        # A lock goes with the open file, which both processes share until one opens it again.
        self.wal.close()

    def enter(self, wait: bool) -> bool:
        """Take `lock` and hold the log's write lock; tell whether others may have appended since.

        Raises:
            WouldBlockError: Others hold one of the two, and `wait` is false.
        """
        if not self.lock.acquire(wait):
            raise WouldBlockError
        if self._write_lock.is_open:
            return False
        try:
            return self._write_lock.acquire(wait=wait)
        except BaseException:
            self.lock.release()
            raise

    def leave(self) -> None:
        """Release `lock`, and the log's write lock unless lines are staged or on their way."""
        if not self._staged:
            self._release_if_idle()
        self.lock.release()

    def _release_if_idle(self) -> None:
        if not self._staged and not self._in_flight and self._write_lock.is_held:
            self._write_lock.release()

    def read_on(self) -> None:
        """Continue behind what others appended, once it has been read."""
        self._end = self.wal.position
        self.chain.crc = self._end.crc
        self._staged_seq = self.durable_seq = self._end.seq

    @property
    def base(self) -> Seq:
        """The last line before the next append; every line of the append names it."""
        return self._end.seq

    def stage(self, lines: bytearray, chain: Chain, seq: Seq) -> None:
        """Take the lines of one decision, the last of them line `seq`."""
        self._staged.append(lines)
        self.chain = chain
        self._staged_seq = seq

    def commit(self, seq: Seq, epoch: int, *, wait: bool = True) -> bool:
        """Return when line `seq` is durable; tell whether this call synced.

        Raises:
            StorageError: It could not be made durable.
            WouldBlockError: Another thread is syncing, and `wait` is false.
        """
        if not self._sync_lock.acquire(blocking=wait):
            raise WouldBlockError
        try:
            if self.is_committed(seq, epoch):
                return False  # The sync that we waited for took it.
            self._sync()
            return True
        finally:
            self._sync_lock.release()

    def is_committed(self, seq: Seq, epoch: int) -> bool:
        """Return whether line `seq` is durable.

        Raises:
            StorageError: It was lost.
        """
        # This takes no lock, so the order of the reads matters: if the epoch is still the
        # caller's after `durable_seq` was read, then that number belongs to this epoch.
        durable = self.durable_seq
        if epoch != self.epoch:
            durable, failure = self._failures[epoch]
            if seq > durable:
                raise failure
        return seq <= durable

    def _sync(self) -> None:
        """Append all staged lines with one write and one sync. `_sync_lock` is held."""
        with self.lock:
            lines, self._staged = b"".join(self._staged), []
            after, then = self._end, Position(self._staged_seq, self.chain.crc)
            self._end = then
            self._in_flight = True
            epoch = self.epoch
        started = perf_counter()
        try:
            self.wal.append(lines, after=after, then=then)
        except BaseException as cause:
            self.wal.close()
            with self.lock:
                self._in_flight = False
                known = cause if isinstance(cause, TaskloomError) else None
                self.lose(known or _interrupted(self.wal.path))
            raise
        self.last_sync_s = perf_counter() - started
        with self.lock:
            self._in_flight = False
            self.durable_seq = then.seq
            if epoch != self.epoch:
                # A bug ended the epoch during the sync: what was staged behind these lines is
                # lost, but they are not.
                self._failures[epoch] = (then.seq, self._failures[epoch][1])
            self._write_lock.count_sync()
            self._release_if_idle()

    def lose(self, failure: TaskloomError) -> None:
        """End the epoch: everything staged is lost, and the log must be read again."""
        # `is_committed` takes no lock: the failure must be there before the epoch ends.
        self._failures[self.epoch] = (self.durable_seq, failure)
        self.epoch += 1
        self._failures.pop(self.epoch - _FAILURES_KEPT, None)
        self._staged = []
        self._write_lock.use_up()
        self._release_if_idle()

    def close(self) -> None:
        """Commit what is staged, then close the log."""
        with self._sync_lock:
            while True:
                with self.lock:
                    if not self._staged:
                        self._release_if_idle()
                        self.wal.close()
                        return
                self._sync()


def _interrupted(path: str) -> StorageError:
    return StorageError(
        f"Writing {path} was interrupted. Whether the change is there is not known; send it again "
        "with the same command_id.",
        {"wal_path": path, "outcome": "unknown"},
    )
