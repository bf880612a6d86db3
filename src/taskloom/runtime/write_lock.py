"""Whose turn it is to append to one log: among threads of this process, and among processes.

A turn belongs to the process, and all its threads share it: while one thread waits for the
disk the others decide and put their lines behind. Between processes the log itself is the
judge (`Wal.acquire`). A turn is given back after a few syncs even if there is more to do, so
that a busy process does not keep the others out.
"""

from enum import Enum, auto
from threading import Condition
from typing import Final

from taskloom.log import Wal

_SYNCS_MAX: Final = 4
"""Syncs in one turn while others may be waiting: a millisecond or two on a quick disk."""


class _State(Enum):
    FREE = auto()
    ASKING = auto()
    """One thread waits for the other processes."""
    OURS = auto()


class WriteLock:
    """The turn on one log. Every method is called with the condition's lock held."""

    def __init__(self, wal: Wal, condition: Condition) -> None:
        """Share the lock of whoever owns the log."""
        self._wal = wal
        self._condition = condition
        self._state = _State.FREE
        self._syncs = 0
        self._waiting = 0
        """Threads to wake when something changes; mostly none, and waking nobody costs too."""

    @property
    def is_ours(self) -> bool:
        """Whether lines may be staged."""
        return self._state is _State.OURS

    def enter(self, *, wait: bool) -> bool | None:
        """Get or join the turn. True: it has just begun. False: it was ours. None: not now."""
        while True:
            if self._state is _State.OURS and self._syncs < _SYNCS_MAX:
                return False
            if self._state is _State.FREE:
                if self._wal.acquire(wait=False):
                    return self._begin()
                if wait:
                    return self._ask()
            if not wait:
                return None
            self._waiting += 1
            self._condition.wait()
            self._waiting -= 1

    def _ask(self) -> bool:
        self._state = _State.ASKING
        self._condition.release()
        try:
            self._wal.acquire(wait=True)
        except BaseException:
            self._condition.acquire()
            self.leave()
            raise
        self._condition.acquire()
        return self._begin()

    def _begin(self) -> bool:
        self._state = _State.OURS
        self._syncs = 0
        if self._waiting:
            self._condition.notify_all()
        return True

    def count_sync(self) -> None:
        """Note that the turn has lasted one sync longer."""
        self._syncs += 1

    def use_up(self) -> None:
        """Let nobody join this turn any more: whoever comes waits for the next."""
        self._syncs = _SYNCS_MAX

    def leave(self) -> None:
        """Give the turn back."""
        self._wal.release()
        self._state = _State.FREE
        if self._waiting:
            self._condition.notify_all()
