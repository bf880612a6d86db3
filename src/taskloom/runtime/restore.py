"""A Task from its log: all of it, what is new in it, or up to some line of it."""

import gc
from collections.abc import Generator
from contextlib import contextmanager

from taskloom.board import Task
from taskloom.codec import ReferenceReplay, Replay
from taskloom.errors import DamagedLogError
from taskloom.ids import Seq
from taskloom.log import Wal


def restore(wal: Wal, task: Task | None, *, until: Seq | None = None) -> Task:
    """Return the Task as the log says it is. `task` is changed where it is.

    Raises:
        DamagedLogError: The log is not what it was.
        StorageError: It cannot be read.
    """
    if task is None or task.seq != wal.position.seq:
        task = None  # An error closed the file; opened anew, it is read from the start.
        wal.rewind()
    pieces = wal.news()
    first = next(pieces, None)
    if first is None:
        if task is None:
            raise DamagedLogError(1, "the file holds no whole decision")
        return task
    replay = ReferenceReplay(task) if wal.is_foreign else Replay(task)
    with gc_paused():
        replay.add(first, until=until)
        for piece in pieces:
            if until is not None and replay.seq >= until:
                break
            replay.add(piece, until=until)
    assert replay.task is not None
    return replay.task


@contextmanager
def gc_paused() -> Generator[None]:
    """Collect no garbage while a Task grows: the collector would walk all of it again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
