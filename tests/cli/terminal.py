"""A terminal in memory around a real process: what stands on it, what was pressed, its size."""

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

from tests.cli.program import surroundings

PATIENCE_S = 30
"""Until a test gives up; what is waited for takes milliseconds."""


class Terminal:
    """A child of `tests.cli.watched` in a terminal of its own."""

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
        env = surroundings(TERM="xterm-256color", CONTROL_FD=str(reading), NO_COLOR="1")
        del env["COLUMNS"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.watched", kind, str(project), steps],
            cwd=Path(__file__).parents[2],
            env=env,
            stdin=follower,
            stdout=follower if out is None else out,
            stderr=follower,
            pass_fds=[reading],
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
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

    # What is seen.

    @property
    def lines(self) -> list[str]:
        """What stands on the screen, without blanks at the ends and empty lines at the bottom."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip().split("\n")

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def story(self) -> str:
        """What scrolled away above, and the screen."""
        rows = cast("list[Any]", list(self.screen.history.top))
        columns = range(self.screen.columns)
        above = ["".join(row[at].data for at in columns).rstrip() for row in rows]
        return "\n".join([*above, *self.lines])

    def until(self, *texts: str, gone: str = "") -> None:
        """Wait until all of this stands on the screen, and `gone` does not."""

        def found() -> bool:
            return all(text in self.text for text in texts) and (not gone or gone not in self.text)

        self._wait(found, f"{texts} and not {gone!r}")

    def _wait(self, found: Callable[[], bool], what: str) -> None:
        end = monotonic() + PATIENCE_S
        while not found():
            left = end - monotonic()
            if left <= 0 or not self._read(left):
                raise AssertionError(f"not seen: {what}; there is:\n{self.story}")

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

    # What is done.

    def order(self, line: str) -> None:
        """Tell the workers what to do."""
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
        """Wait for the end, and see that the terminal is as it was."""
        end = monotonic() + PATIENCE_S
        while self.process.poll() is None and monotonic() < end:
            self._read(0.05)
        self.read_rest()
        code = self.process.wait(1)
        self.check_given_back()
        return code

    def read_rest(self) -> None:
        """Read what was written until now."""
        while self._read(0):
            pass

    def check_given_back(self) -> None:
        """See that the terminal is as it was."""
        now = termios.tcgetattr(self._follower)
        assert now[:4] == self.modes[:4], "the terminal was not given back as it was"
        assert not self.screen.cursor.hidden, "the cursor is hidden"
