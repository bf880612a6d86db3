"""The lock of a session: one process at a time runs its workers and prompt turns.

The lock is an advisory lock (`flock`) on the session's `host.lock`. The kernel releases it when the
process ends, however it ends, so a held lock proves a living host: steps that runs of an earlier
host still hold can be released at once (decision 0008).
"""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from taskloom.errors import Code, RefusedError, StorageError
from taskloom.ids import SessionId


class HostLock:
    """The right to run workers and prompt turns of one session.

    Use it as a context manager, or call `acquire` and `release`. Two instances exclude each other,
    also within one process.
    """

    def __init__(self, path: Path, session_id: SessionId, holder: str = "") -> None:
        """Name the lock file and, for messages to others, the program that will hold it."""
        self._path = path
        self._session_id = session_id
        self._holder = holder
        self._fd: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether this instance holds the lock."""
        return self._fd is not None

    def acquire(self) -> None:
        """Take the lock without waiting.

        Raises:
            RefusedError: another host holds it; the message names its process.
            StorageError: the lock file cannot be opened.
        """
        assert self._fd is None, "the lock is held already"
        try:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise StorageError(
                f"Cannot open the lock of session {self._session_id!r}, {self._path}: "
                f"{error.strerror or error}. Make the project's directory writable.",
                {"path": str(self._path)},
            ) from error
        try:
            self._lock(fd)
            os.ftruncate(fd, 0)
            os.write(fd, f"{os.getpid()}\n{self._holder}\n".encode())
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd

    def release(self) -> None:
        """Give the lock back; does nothing if it is not held."""
        if self._fd is not None:
            os.close(self._fd)  # The lock belongs to the open file and ends with it.
            self._fd = None

    def _lock(self, fd: int) -> None:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._busy(os.pread(fd, 200, 0)) from None
        try:
            is_named = os.path.samestat(os.fstat(fd), os.stat(self._path))
        except FileNotFoundError:
            is_named = False
        if not is_named:  # The session was deleted between open and lock.
            raise RefusedError(
                Code.VALIDATION_ERROR,
                f"Session {self._session_id!r} was deleted. `taskloom sessions` lists the others.",
            )

    def _busy(self, content: bytes) -> RefusedError:
        pid, _, rest = content.decode("utf-8", "replace").partition("\n")
        holder = rest.strip()
        where = f"{holder}, in another process" if holder else "another process"
        return RefusedError(
            Code.SESSION_BUSY,
            f"Session {self._session_id!r} is running in {where} (pid {pid.strip() or 'unknown'}). "
            "Wait until that has finished or end it there, then try again. "
            f"`taskloom board list --session {self._session_id}` shows its Tasks meanwhile.",
            {"session_id": self._session_id, "pid": pid.strip(), "holder": holder},
        )

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
