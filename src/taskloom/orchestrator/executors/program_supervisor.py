"""Supervises one program: a script that runs between Taskloom and the program.

    python -I -S program_supervisor.py LIFE COMMAND…

LIFE is the descriptor of a pipe whose other end Taskloom alone holds, and never writes to. When
Taskloom dies, however it dies, the pipe ends, and the supervisor kills its whole process group: the
program, and what the program started. The system's signal for a parent's death reaches the program
alone, and exists on Linux only. The script imports nothing of Taskloom, so it starts fast.
"""

import _thread
import os
import signal
import sys

NOT_STARTED = 127
"""The exit code of a shell for a program that it cannot find."""


def watch(life: int) -> None:
    """Wait for the end of the pipe, then kill the process group."""
    os.read(life, 1)
    os.killpg(0, signal.SIGKILL)


def main(life: int, command: list[str]) -> int:
    """Run the program to its end and return its exit code as a shell does."""
    # SIGTERM to the group is for the program; the supervisor stays for its exit code.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        pid = os.posix_spawnp(
            command[0],
            command,
            os.environ,
            file_actions=[(os.POSIX_SPAWN_CLOSE, life)],
            setsigdef=[signal.SIGTERM],
        )
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]}: {error.strerror}\n")
        return NOT_STARTED
    _thread.start_new_thread(watch, (life,))
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    # Skip the interpreter's shutdown: Taskloom waits for the exit code.
    code = main(int(sys.argv[1]), sys.argv[2:])
    sys.stderr.flush()
    os._exit(code)
