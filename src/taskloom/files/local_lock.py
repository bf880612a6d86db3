"""A lock on a directory between tasks, threads and processes; the system releases it at exit.

`flock` on a file in the directory excludes other processes, and a `CrossLoopLock` excludes the
other tasks and threads of this one. The file is never removed, so that all lock the same file.
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
import anyio.to_thread

from taskloom.atomic_write import make_directory
from taskloom.files.cross_loop_lock import CrossLoopLock

LOCK_NAME: Final = ".taskloom-lock"
_FIRST_WAIT_S: Final = 0.0005
_LONGEST_WAIT_S: Final = 0.01
"""Polling, because a thread that waits inside `flock` cannot be cancelled."""

_locks: dict[Path, CrossLoopLock] = {}
os.register_at_fork(after_in_child=_locks.clear)  # The child holds none of the parent's locks.


@asynccontextmanager
async def lock_directory(directory: Path) -> AsyncGenerator[None]:
    """Lock a directory, given by its resolved path; it is created if missing.

    Tasks of this process get the lock in the order in which they asked for it.
    """
    async with _locks.setdefault(directory, CrossLoopLock()):
        await anyio.to_thread.run_sync(make_directory, directory)
        lock = await _acquire(directory / LOCK_NAME)
        try:
            yield
        finally:
            # Unlock before closing: a forked child may have a copy of the descriptor.
            fcntl.flock(lock, fcntl.LOCK_UN)
            os.close(lock)


async def _acquire(path: Path) -> int:
    wait_s = _FIRST_WAIT_S
    while True:
        lock = _try(path)
        if lock is not None:
            return lock
        await anyio.sleep(wait_s * random.uniform(0.5, 1.0))
        wait_s = min(wait_s * 2, _LONGEST_WAIT_S)


def _try(path: Path) -> int | None:
    """Take the lock if it is free, without blocking."""
    lock = _open(path)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_current(lock, path):
            return lock
    except BlockingIOError:
        pass
    except BaseException:
        os.close(lock)
        raise
    os.close(lock)
    return None


def _open(path: Path) -> int:
    flags = os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags | os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EROFS):
            raise
    # A process that may only read the directory can still lock an existing file.
    try:
        return os.open(path, flags | os.O_RDONLY)
    except FileNotFoundError:
        raise PermissionError(f"`{path}` cannot be created: the directory is read-only.") from None


def _is_current(lock: int, path: Path) -> bool:
    """Return whether the path still names the locked file; the directory may have been replaced."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return False
    mine = os.fstat(lock)
    return (mine.st_dev, mine.st_ino) == (found.st_dev, found.st_ino)
