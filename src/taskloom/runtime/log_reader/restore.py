"""A Task from its log: all of it, what is new in it, or the state at some line."""

import gc
from collections.abc import Generator
from contextlib import contextmanager
from itertools import chain

from taskloom.board import Task
from taskloom.codec import ReferenceReplay, Replay
from taskloom.errors import DamagedLogError
from taskloom.ids import Seq
from taskloom.log import NO_TRANSACTION, ReadOnlyLog, Wal


def restore(
    wal: Wal | ReadOnlyLog,
    task: Task | None = None,
    *,
    until: Seq | None = None,
    check_rest: bool = False,
) -> Task:
    """Return the Task as the log has it; `task`, if given, is changed in place.

    Args:
        wal: the log.
        task: the Task that an earlier call returned for this log.
        until: the last line to apply.
        check_rest: read the lines behind `until` too, so that damage in them is found.

    Raises:
        DamagedLogError: The log is not what was written.
        StorageError: It cannot be read.
    """
    if task is None or task.seq != wal.position.seq:
        task = None  # An error closed the file: what was read of it may have changed.
        wal.rewind()
    chunks = wal.read_new()
    first = next(chunks, None)
    if first is None:
        if task is None:
            raise DamagedLogError(1, NO_TRANSACTION)
        return task
    replay = ReferenceReplay(task) if wal.is_reference_log else Replay(task)
    with gc_paused():
        for chunk in chain((first,), chunks):
            if until is None or replay.seq < until:
                replay.add(chunk, until=until)
            elif not check_rest:
                break
    if replay.task is None:
        raise DamagedLogError(1, NO_TRANSACTION)
    return replay.task


@contextmanager
def gc_paused() -> Generator[None]:
    """Pause garbage collection while a Task grows: the collector would walk it again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
