"""What must begin anew in a child process: locks that a thread of the parent held, open files.

A lock on a file goes with the open file, which parent and child share after a fork; without
this both would think that the turn is theirs.
"""

import os
from typing import Final, Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """Something that a forked child cannot go on using as it is."""

    def after_fork(self) -> None:
        """Begin anew, in the child."""
        ...


_WATCHED: Final[WeakSet[Forkable]] = WeakSet()


def reset_after_fork(one: Forkable) -> None:
    """Have `after_fork` called in every child process, for as long as the object lives."""
    _WATCHED.add(one)


def _renew_all() -> None:
    for one in list(_WATCHED):
        one.after_fork()


os.register_at_fork(after_in_child=_renew_all)
