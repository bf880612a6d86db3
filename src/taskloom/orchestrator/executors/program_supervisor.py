"""Keeps watch over one program: run as a script, between Taskloom and the program.

    python -I -S guard.py LIFE COMMAND…

LIFE is the descriptor of a pipe whose other end Taskloom alone holds, and never writes to. When
Taskloom dies, however it dies, the pipe ends, and the guard kills its whole process group: the
program, and what the program started. The operating system's own signal for a parent's death
reaches the program alone, and exists on Linux alone. Nothing of Taskloom is imported here, so that
it starts at once.
"""

import _thread
import os
import signal
import sys

NOT_STARTED = 127
"""What a shell answers for a program that it cannot find."""


def watch(life: int) -> None:
    """Wait for the end of the pipe, and then end everything."""
    os.read(life, 1)
    os.killpg(0, signal.SIGKILL)


def main(life: int, command: list[str]) -> int:
    """Run the program to its end and return its exit code, as a shell counts it."""
    # Asking the group to end shall reach the program; the guard stays to see how it ended.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        worker_run = os.posix_spawnp(
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
    _, status = os.waitpid(worker_run, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    # No time for tidying up: somebody waits for the exit code.
    code = main(int(sys.argv[1]), sys.argv[2:])
    sys.stderr.flush()
    os._exit(code)
