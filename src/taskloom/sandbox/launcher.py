"""Start one program, confine it, and leave nothing of it behind.

Run as a script:

    python -I -S launcher.py LIFE ORDERS COMMAND…

LIFE is the descriptor of a pipe whose other end Taskloom alone holds and never writes to. When
Taskloom closes it, or dies however it dies, the pipe ends and the launcher kills the program with
all that it started. Descendants cannot hide in a session or a process group of their own: the
launcher is their subreaper, so that every orphan among them becomes its child.

SIGTERM to the launcher asks the program to end, and everything the program started.

ORDERS is a JSON object: `temporary` (a directory to make for the program and to remove after it),
`landlock` (see `confine`), `wrappers` (how many processes of a sandbox stand between the launcher
and the program), `placeholders` and `record` (see `Placeholders`).

Nothing of Taskloom is imported here, so that it starts quickly.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import stat
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ctypes
    from typing import Any

NOT_STARTED = 127
"""What a shell answers for a program that it cannot find."""
CONFINEMENT_FAILED = 126
"""The program was not started because it could not be confined."""

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
KILL_ATTEMPTS_MAX = 1000


def main(life: int, orders: dict[str, Any], command: list[str]) -> int:
    """Run the program to its end and return its exit code, as a shell counts it."""
    # The launcher stays to see how the program ends.
    wrappers = int(orders.get("wrappers") or 0)

    def ask_to_end(_number: int, _frame: object) -> None:
        _ask_to_end(wrappers)

    signal.signal(signal.SIGTERM, ask_to_end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    is_subreaper = _prctl(PR_SET_CHILD_SUBREAPER, 1)
    record = orders.get("record")
    placeholders = Placeholders(record, orders["placeholders"]) if record else None
    temporary = orders.get("temporary")
    if temporary:
        os.mkdir(temporary, 0o700)
    failed_read, failed_write = os.pipe()
    program = os.fork()
    if program == 0:
        os.close(failed_read)
        _become(life, failed_write, orders.get("landlock"), command)
    os.close(failed_write)
    _thread.start_new_thread(_end_with_taskloom, (life, program, is_subreaper))
    with os.fdopen(failed_read, "rb") as pipe:
        failure = pipe.read().decode("utf-8", "replace")
    _, status = os.waitpid(program, 0)
    kill_descendants(is_subreaper=is_subreaper)
    if temporary:
        _remove_tree(temporary)
    if placeholders is not None:
        placeholders.remove()
    if failure:
        sys.stderr.write(failure)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _become(life: int, failed: int, landlock: dict[str, Any] | None, command: list[str]) -> None:
    """In the child: confine this process, then become the program."""
    try:
        os.close(life)
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if landlock is not None:
            try:
                confine(landlock)
            except OSError as error:
                os.write(failed, f"sandbox: {error}. The program was not started.\n".encode())
                os._exit(CONFINEMENT_FAILED)
        try:
            os.execvp(command[0], command)  # noqa: S606  # the command was asked for; no shell reads it
        except OSError as error:
            os.write(failed, f"cannot start {command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(NOT_STARTED)


# Ending everything.


def _ask_to_end(wrappers: int) -> None:
    """Pass SIGTERM on to the program and what it started, not to the sandbox around it."""
    level = _children("self")
    for depth in range(64):
        if depth >= wrappers:
            for process in level:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGTERM)
        level = [child for process in level for child in _children(str(process))]
        if not level:
            return


def _end_with_taskloom(life: int, program: int, is_subreaper: bool) -> None:
    """Wait for the end of the pipe, then kill the program with all that it started."""
    with contextlib.suppress(OSError):
        os.read(life, 1)
    with contextlib.suppress(ProcessLookupError):
        os.kill(program, signal.SIGKILL)
    kill_descendants(is_subreaper=is_subreaper, keep=program)


def kill_descendants(*, is_subreaper: bool, keep: int = 0) -> None:
    """Kill every process below this one; `keep` is left for `main` to wait for.

    The orphans of a killed process become children of this one, so the loop ends when there are
    none. Without a subreaper (not Linux) the process group is all that can be reached.
    """
    if not is_subreaper:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        return
    for attempt in range(KILL_ATTEMPTS_MAX):
        below = [child for child in _children("self") if child != keep]
        for child in below:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        for child in below:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, os.WNOHANG)
        if not below:
            return
        time.sleep(min(0.0005 * (attempt + 1), 0.05))


def _children(process: str) -> list[int]:
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/children", "rb") as file:
                found += [int(pid) for pid in file.read().split()]
    except OSError:  # It has ended meanwhile, or this is no Linux.
        pass
    return found


def _remove_tree(path: str) -> None:
    import shutil

    shutil.rmtree(path, ignore_errors=True)


class Placeholders:
    """Empty files and directories that stand for missing protected paths under a sandbox's mounts.

    Several sandboxes of one tree share them: each holds a shared lock on `record` and writes down
    what it may have made; the last one, which gets the lock alone, removes all that is recorded,
    also what a killed launcher left behind.
    """

    def __init__(self, record: str, paths: list[str]) -> None:
        import fcntl

        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file = os.open(record, flags, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_SH)
        os.write(self._file, b"".join(os.fsencode(path) + b"\0" for path in paths))

    def remove(self) -> None:
        """Remove the recorded placeholders if no other sandbox of the tree runs."""
        import fcntl

        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return
        recorded = os.pread(self._file, os.fstat(self._file).st_size, 0)
        for path in set(recorded.split(b"\0")) - {b""}:
            try:
                status = os.lstat(path)
                if stat.S_ISDIR(status.st_mode):
                    os.rmdir(path)
                elif stat.S_ISREG(status.st_mode) and status.st_size == 0:
                    os.unlink(path)
            except OSError:
                continue
        os.ftruncate(self._file, 0)


# Landlock and seccomp.

PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 22, 24, 38
CAPABILITIES = 64
FILE_CAPABILITIES = {0, 1, 3, 4, 5, 6, 7}
"""What root needs to work with files of other owners; all others lead out of the sandbox: with
CAP_PERFMON, for one, the memory of any process can be read."""
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE, REFER, IOCTL_DEV = 1 << 14, 1 << 13, 1 << 15
WRITES = WRITE_FILE | TRUNCATE | REFER | sum(1 << bit for bit in range(4, 13))
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
TCP = 0b11
OUTSIDE = 0b11
"""Signals to and abstract sockets of processes outside the sandbox."""

ARCHITECTURES = {
    # name: (audit number, socket, ptrace, process_vm_readv, process_vm_writev)
    "x86_64": (0xC000003E, 41, 101, 310, 311),
    "aarch64": (0xC00000B7, 198, 117, 270, 271),
}
IO_URING = (425, 426, 427)
AF_INET, AF_INET6, AF_NETLINK = 2, 10, 16


def landlock_version() -> int:
    """Return the version of Landlock that the kernel has; 0 without it or on other machines."""
    if os.uname().machine not in ARCHITECTURES or sys.platform != "linux":
        return 0
    import ctypes

    found: int = ctypes.CDLL(None).syscall(CREATE_RULESET, None, 0, 1)
    return max(found, 0)


def confine(limits: dict[str, Any]) -> None:
    """Confine this process and all that it starts.

    `write` and `read` list files and directories, with all below them; `list` lists directories
    whose names may be read; `network` says whether internet sockets may be made.
    """
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    ruleset = _make_ruleset(libc, limits)
    for capability in set(range(CAPABILITIES)) - FILE_CAPABILITIES:
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # Only root has any to lose.
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError("no_new_privs cannot be set")
    _call(libc, RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    _filter_system_calls(libc, network=limits["network"])


def _make_ruleset(libc: ctypes.CDLL, limits: dict[str, Any]) -> int:
    """Return the descriptor of a Landlock ruleset."""
    import ctypes
    import struct

    version = landlock_version()
    reads = READ_FILE | READ_DIR | EXECUTE
    network = TCP if version >= 4 and not limits["network"] else 0
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    attributes = struct.pack("QQQ", WRITES | reads, network, OUTSIDE if version >= 6 else 0)[:size]
    ruleset = _call(libc, CREATE_RULESET, ctypes.c_char_p(attributes), size, 0)

    def allow(paths: list[str], access: int) -> None:
        for path in paths:
            try:
                descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue  # It is not there: there is nothing to allow.
            on_path = access if os.path.isdir(path) else access & ON_FILES
            rule = struct.pack("=Qi", on_path, descriptor)
            _call(libc, ADD_RULE, ruleset, 1, ctypes.c_char_p(rule), 0)
            os.close(descriptor)

    allow(limits["list"], READ_DIR)
    allow(limits["read"], reads)
    allow(limits["write"], WRITES | reads)
    return ruleset


def _call(libc: ctypes.CDLL, number: int, *arguments: object) -> int:
    import ctypes

    result: int = libc.syscall(number, *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _filter_system_calls(libc: ctypes.CDLL, *, network: bool) -> None:
    """Refuse sockets (all, or all but those of the internet) and ways round the rules.

    Landlock does not see UDP, sockets in the file system (a container engine's, a desktop bus) and
    io_uring; a socket that cannot be made needs no rule.
    """
    import ctypes
    import struct

    audit, socket, *refused = ARCHITECTURES[os.uname().machine]
    load, jump_equal, jump_least, answer = 0x20, 0x15, 0x35, 0x06
    allow, refuse, kill = 0x7FFF0000, 0x00050001, 0x80000000
    families = (AF_INET, AF_INET6, AF_NETLINK) if network else ()
    program: list[tuple[int, int, int, int]] = [
        (load, 0, 0, 4),
        (jump_equal, 1, 0, audit),
        (answer, 0, 0, kill),
        (load, 0, 0, 0),
        (jump_least, 0, 1, 0x40000000),  # the x32 numbers of x86_64
        (answer, 0, 0, refuse),
    ]
    for number in (*refused, *IO_URING):
        program += [(jump_equal, 0, 1, number), (answer, 0, 0, refuse)]
    program += [(jump_equal, 1, 0, socket), (answer, 0, 0, allow), (load, 0, 0, 16)]
    for family in families:
        program += [(jump_equal, 0, 1, family), (answer, 0, 0, allow)]
    program.append((answer, 0, 0, refuse))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    head = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    if libc.prctl(PR_SET_SECCOMP, 2, ctypes.c_char_p(head), 0, 0) != 0:
        raise OSError("the filter of system calls cannot be set")


def _prctl(option: int, value: int) -> bool:
    if sys.platform != "linux":
        return False
    import ctypes

    done: int = ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    return done == 0


if __name__ == "__main__":
    import json

    exit_code = main(int(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:])
    sys.stderr.flush()
    os._exit(exit_code)  # Taskloom waits for the exit code; nothing else is left to do.
