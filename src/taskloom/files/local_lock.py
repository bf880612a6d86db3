"""A lock on a directory that holds between tasks, threads and processes, and dies with its own.

`flock` on a file in the directory keeps other processes out, and a `CrossLoopLock` keeps out the
other tasks and threads of this one. The file is never removed: all contenders lock the same file.
"""

import errno
import fcntl
import os
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio

from taskloom.files.cross_loop_lock import CrossLoopLock

LOCK_NAME: Final = ".taskloom-lock"
_FIRST_WAIT_S: Final = 0.0005
_LONGEST_WAIT_S: Final = 0.01
"""Trying again is cheap; a thread that waits inside `flock` could not be cancelled."""

_gates: dict[Path, CrossLoopLock] = {}
os.register_at_fork(after_in_child=_gates.clear)  # What the parent holds is not held here.


@asynccontextmanager
async def hold(directory: Path) -> AsyncGenerator[None]:
    """Hold a directory, given by its real path."""
    async with _gates.setdefault(directory, CrossLoopLock()):
        lock = await _acquire(directory / LOCK_NAME)
        try:
            yield
        finally:
            # Not only closed: a forked child may have a copy, and would keep the lock with it.
            fcntl.flock(lock, fcntl.LOCK_UN)
            os.close(lock)


async def _acquire(place: Path) -> int:
    wait_s = _FIRST_WAIT_S
    while True:
        lock = _try(place)
        if lock is not None:
            return lock
        await anyio.sleep(wait_s * random.uniform(0.5, 1.0))
        wait_s = min(wait_s * 2, _LONGEST_WAIT_S)


def _try(place: Path) -> int | None:
    """Take the lock if it is free; a few system calls that do not wait."""
    lock = _open(place)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_still_there(lock, place):
            return lock
    except BlockingIOError:
        pass
    except BaseException:
        os.close(lock)
        raise
    os.close(lock)
    return None


def _open(place: Path) -> int:
    flags = os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(place, flags | os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EROFS):
            raise
    # One who may only read the directory may still look at it while nobody writes.
    try:
        return os.open(place, flags | os.O_RDONLY)
    except FileNotFoundError:
        raise PermissionError(f"`{place}` cannot be made: the directory is read-only.") from None


def _is_still_there(lock: int, place: Path) -> bool:
    """Tell whether the locked file is the one others will find: a directory may be made anew."""
    try:
        found = place.stat()
    except FileNotFoundError:
        return False
    mine = os.fstat(lock)
    return (mine.st_dev, mine.st_ino) == (found.st_dev, found.st_ino)
