"""Runs the real program in a process of its own: piped, or in a terminal."""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "taskloom.cli.main"]
TIMEOUT_S = 60


def environment(**more: str) -> dict[str, str]:
    """The environment without the variables that change the output."""
    loud = {"NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "LINES"}
    kept = {name: value for name, value in os.environ.items() if name not in loud}
    return {**kept, "PYTHONUTF8": "1", "COLUMNS": "100", **more}


def restore_sigint() -> None:
    """For `preexec_fn`: a test that runs in the background of a shell inherits SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@dataclass(frozen=True)
class ProgramResult:
    """The exit code and the output of a program."""

    code: int
    out: str
    err: str

    def json(self) -> Any:  # noqa: ANN401 - whatever the program printed
        return json.loads(self.out)

    def json_lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


def taskloom(*words: str | Path, cwd: Path, **env: str) -> ProgramResult:
    """Run it with pipes, as a program would."""
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        cwd=cwd,
        env=environment(**env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return ProgramResult(done.returncode, done.stdout.decode(), done.stderr.decode())


def taskloom_in_terminal(*words: str | Path, cwd: Path, **env: str) -> ProgramResult:
    """Run it in a terminal of 100 columns; both output streams come as one."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    with subprocess.Popen(
        [*COMMAND, *map(str, words)],
        cwd=cwd,
        env=environment(TERM="xterm-256color", **env),
        stdin=follower,
        stdout=follower,
        stderr=follower,
    ) as process:
        os.close(follower)
        written = b"".join(iter(lambda: _read(leader), b""))
        os.close(leader)
        code = process.wait(TIMEOUT_S)
    return ProgramResult(code, written.decode(), "")


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 1 << 16)
    except OSError:  # Linux says so when the other side has closed.
        return b""
