"""The host lock: one process at a time, by name, and free as soon as its holder is gone."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from taskloom.errors import Code, RefusedError, StorageError
from taskloom.session import SessionDirectory, SessionStore

HOLDER = Path(__file__).with_name("lock_holder.py")


@contextmanager
def held_by_another_process(session: SessionDirectory) -> Generator["subprocess.Popen[bytes]"]:
    """Run a process that holds a session's host lock; it is killed at the end."""
    project = session.root.parents[2]
    command = [sys.executable, str(HOLDER), str(project), session.session_id]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            yield holder
        finally:
            holder.kill()


def test_a_second_process_is_refused_with_the_pid_until_the_first_dies(tmp_path: Path) -> None:
    session = SessionStore(tmp_path).create("s1")
    with held_by_another_process(session) as holder:
        with pytest.raises(RefusedError) as refused:
            session.host_lock().acquire()
        assert refused.value.code is Code.SESSION_BUSY
        assert f"taskloom acp, in another process (pid {holder.pid})" in refused.value.message
        assert "end it there" in refused.value.message
        with pytest.raises(RefusedError):
            session.delete()
        assert session.root.exists()
    with session.host_lock() as lock:  # Its holder was killed and cleaned up nothing.
        assert lock.is_held


def test_two_locks_in_one_process_exclude_each_other(tmp_path: Path) -> None:
    session = SessionStore(tmp_path).create("s1")
    first, second = session.host_lock("one"), session.host_lock("two")
    first.acquire()
    with pytest.raises(RefusedError, match="one, in another process"):
        second.acquire()
    first.release()
    second.acquire()
    second.release()
    second.release()


def test_a_deleted_session_cannot_be_locked(tmp_path: Path) -> None:
    session = SessionStore(tmp_path).create("s1")
    session.delete()
    with pytest.raises(StorageError, match="Cannot open the lock"):
        session.host_lock().acquire()
