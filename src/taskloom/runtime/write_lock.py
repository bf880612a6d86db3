"""The right to append to one log: among the threads of this process, and among processes.

The write lock belongs to the process, and all its threads share it: while one thread waits for a
sync, others decide and stage their lines behind. Among processes the log itself decides who holds
it (`Wal.acquire`). A process releases it after a few syncs even if it has more to write, so that
it does not keep the others out.
"""

import os
from contextlib import suppress
from enum import Enum, auto
from threading import Condition
from typing import Final, Protocol
from weakref import WeakSet

from taskloom.log import Wal

_SYNCS_MAX: Final = 4
"""Syncs while the lock is held: a millisecond or two on a quick disk."""


class WouldBlockError(Exception):
    """The request would have to wait, and its caller cannot: nothing was done.

    A signal to the caller on an event loop to make the same request on a thread. It never
    reaches a user, so it is no `TaskloomError`.
    """


class _State(Enum):
    FREE = auto()
    ACQUIRING = auto()
    """One thread waits for the other processes."""
    HELD = auto()


class WriteLock:
    """The write lock of one log. Every method is called with the condition's lock held."""

    def __init__(self, wal: Wal, condition: Condition) -> None:
        """Share the condition of the writer that owns the log."""
        self._wal = wal
        self._condition = condition
        self._state = _State.FREE
        self.is_open = False
        """Whether this process holds the lock and may use it for one more request."""
        self._syncs = 0
        self._waiting = 0
        """Threads to wake when the state changes; mostly none, and to wake none costs too."""

    @property
    def is_held(self) -> bool:
        """Whether this process may stage lines."""
        return self._state is _State.HELD

    def acquire(self, *, wait: bool) -> bool:
        """Return holding the lock; tell whether it was acquired just now, or held already.

        Raises:
            WouldBlockError: Others hold it, and `wait` is false.
        """
        while True:
            if self.is_open:
                return False
            if self._state is _State.FREE:
                if self._wal.acquire(wait=False):
                    return self._begin()
                if wait:
                    return self._acquire_waiting()
            if not wait:
                raise WouldBlockError
            self._waiting += 1
            self._condition.wait()
            self._waiting -= 1

    def _acquire_waiting(self) -> bool:
        self._state = _State.ACQUIRING
        self._condition.release()
        try:
            self._wal.acquire(wait=True)
        except BaseException:
            self._condition.acquire()
            self.release()
            raise
        self._condition.acquire()
        return self._begin()

    def _begin(self) -> bool:
        self._state = _State.HELD
        self.is_open = True
        self._syncs = 0
        if self._waiting:
            self._condition.notify_all()
        return True

    def count_sync(self) -> None:
        """Count a sync; after a few of them the lock takes no more requests until released."""
        self._syncs += 1
        if self._syncs >= _SYNCS_MAX:
            self.is_open = False

    def use_up(self) -> None:
        """Take no more requests until the lock is released and acquired again."""
        self.is_open = False

    def release(self) -> None:
        """Release the log."""
        self._wal.release()
        self._state = _State.FREE
        self.is_open = False
        if self._waiting:
            self._condition.notify_all()


class Forkable(Protocol):
    """An object with locks or open files that a forked child must not share with its parent."""

    def after_fork(self) -> None:
        """Replace them, in the child."""
        ...


_FORKABLE: Final[WeakSet[Forkable]] = WeakSet()


def reset_after_fork(one: Forkable) -> None:
    """Have `after_fork` called in every child process, for as long as the object exists.

    A lock on a file belongs to the open file, which parent and child share after a fork: without
    this both would think that they hold the write lock.
    """
    _FORKABLE.add(one)


def _reset_all() -> None:
    for one in list(_FORKABLE):
        # Whatever is wrong with one (a disk that fails), the others must not keep their locks.
        with suppress(BaseException):
            one.after_fork()


os.register_at_fork(after_in_child=_reset_all)
