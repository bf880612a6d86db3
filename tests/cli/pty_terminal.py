"""A terminal in memory around a real process: its screen, its keys, its size."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Self, cast

import pyte

from tests.cli.run_taskloom import environment, restore_sigint

TIMEOUT_S = 30
"""Until a test gives up; what it waits for takes milliseconds."""


def _take_terminal() -> None:
    """Make the terminal the controlling one, in the new process."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    restore_sigint()


class Terminal:
    """A process of `tests.cli.scripted_run` in a terminal of its own."""

    def __init__(
        self,
        kind: str,
        project: Path,
        steps: str = "a b c:a,b",
        *,
        rows: int = 24,
        columns: int = 100,
        out: int | None = None,
    ) -> None:
        self._leader, follower = pty.openpty()
        self._follower = os.dup(follower)
        self.modes: list[Any] = termios.tcgetattr(follower)
        self.screen = pyte.HistoryScreen(columns, rows, history=1000)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self._size(rows, columns)
        reading, self._control = os.pipe()
        env = environment(TERM="xterm-256color", CONTROL_FD=str(reading), NO_COLOR="1")
        del env["COLUMNS"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.scripted_run", kind, str(project), steps],
            cwd=Path(__file__).parents[2],
            env=env,
            stdin=follower,
            stdout=follower if out is None else out,
            stderr=follower,
            pass_fds=[reading],
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(follower)
        os.close(reading)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for fd in (self._leader, self._follower, self._control):
            if fd >= 0:
                os.close(fd)

    # What is on it.

    @property
    def lines(self) -> list[str]:
        """The lines of the screen, without trailing blanks and empty lines."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip().split("\n")

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def scrollback(self) -> str:
        """The lines that scrolled away, and the screen."""
        rows = cast("list[Any]", list(self.screen.history.top))
        columns = range(self.screen.columns)
        above = ["".join(row[at].data for at in columns).rstrip() for row in rows]
        return "\n".join([*above, *self.lines])

    def wait_for(self, *texts: str, gone: str = "") -> None:
        """Wait until all texts are on the screen, and `gone` is not."""

        def found() -> bool:
            return all(text in self.text for text in texts) and (not gone or gone not in self.text)

        self._wait_until(found, f"{texts} and not {gone!r}")

    def _wait_until(self, found: Callable[[], bool], what: str) -> None:
        end = monotonic() + TIMEOUT_S
        while not found():
            left = end - monotonic()
            if left <= 0 or not self._read(left):
                raise AssertionError(f"not on the screen: {what}; there is:\n{self.scrollback}")

    def _read(self, timeout_s: float) -> bool:
        ready, _, _ = select.select([self._leader], [], [], timeout_s)
        if not ready:
            return False
        try:
            data = os.read(self._leader, 1 << 16)
        except OSError:
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data)

    # What a user does.

    def command(self, line: str) -> None:
        """Send a command to the workers."""
        os.write(self._control, line.encode() + b"\n")

    def press(self, keys: str) -> None:
        os.write(self._leader, keys.encode())

    def resize(self, rows: int, columns: int) -> None:
        self.screen.resize(rows, columns)
        self._size(rows, columns)
        os.killpg(self.process.pid, signal.SIGWINCH)

    def _size(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._leader, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def close(self) -> None:
        """Close the terminal, as a window is closed."""
        os.close(self._follower)
        os.close(self._leader)
        self._follower = self._leader = -1

    def end(self) -> int:
        """Wait for the process to end; check that the terminal is restored."""
        end = monotonic() + TIMEOUT_S
        while self.process.poll() is None and monotonic() < end:
            self._read(0.05)
        self.read_rest()
        code = self.process.wait(1)
        self.check_restored()
        return code

    def read_rest(self) -> None:
        """Read what has been written."""
        while self._read(0):
            pass

    def check_restored(self) -> None:
        """Check that the terminal is as it was before."""
        now = termios.tcgetattr(self._follower)
        assert now[:4] == self.modes[:4], "the modes of the terminal are not restored"
        assert not self.screen.cursor.hidden, "the cursor is hidden"
