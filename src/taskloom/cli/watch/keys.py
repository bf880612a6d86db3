"""Keys of a terminal, one at a time and unseen; the terminal is given back as it was."""

import asyncio
import os
import termios
from collections.abc import Callable
from contextlib import suppress
from typing import Final

_ESCAPE: Final = "\x1b"
_ESCAPE_WAIT_S: Final = 0.05
"""How long the rest of an arrow key may take before an escape is one."""

_NAMED: Final = {
    "\x1b[A": "up",
    "\x1bOA": "up",
    "\x1b[B": "down",
    "\x1bOB": "down",
    "\x1b[5~": "page up",
    "\x1b[6~": "page down",
    "\r": "enter",
    "\n": "enter",
    "\x03": "ctrl-c",
    "\x04": "ctrl-d",
    "\x0c": "ctrl-l",
}


class Decoder:
    """From bytes to keys."""

    def __init__(self) -> None:
        """Begin with nothing half read."""
        self._rest = ""

    @property
    def is_waiting(self) -> bool:
        """Whether an escape came that may be the beginning of more."""
        return bool(self._rest)

    def feed(self, data: bytes) -> list[str]:
        """Return the keys that are whole."""
        text, self._rest = self._rest + data.decode("utf-8", "replace"), ""
        keys: list[str] = []
        while text:
            key, text = _first(text)
            if key is None:
                self._rest = text
                break
            keys.append(_NAMED.get(key, key))
        return keys

    def flush(self) -> list[str]:
        """Return what was waited for in vain: an escape alone; half a sequence is nothing."""
        alone, self._rest = self._rest == _ESCAPE, ""
        return ["escape"] if alone else []


def _first(text: str) -> tuple[str | None, str]:
    """Split the first key off; None if more of it must come."""
    if text[0] != _ESCAPE:
        return text[0], text[1:]
    if len(text) == 1:
        return None, text
    if text[1] == "O":
        return (text[:3], text[3:]) if len(text) > 2 else (None, text)
    if text[1] != "[":
        return text[:2], text[2:]  # With alt; none of ours.
    for at in range(2, len(text)):
        if "@" <= text[at] <= "~":
            return text[: at + 1], text[at + 1 :]
    return None, text


class Keyboard:
    """The keys of one terminal."""

    def __init__(
        self, fd: int, on_keys: Callable[[list[str]], None], on_gone: Callable[[], None]
    ) -> None:
        """Take who is told of keys that came together, and of the terminal's end."""
        self._fd = fd
        self._on_keys = on_keys
        self._on_gone = on_gone
        self._decoder = Decoder()
        self._was: list[int | list[bytes | int]] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_reading = False

    def open(self) -> None:
        """Take keys as they come, without showing them."""
        with suppress(termios.error, OSError):
            self._was = termios.tcgetattr(self._fd)
            self.take()
        try:
            asyncio.get_running_loop().add_reader(self._fd, self._read)
            self._is_reading = True
        except OSError:  # A file, for example: there are no keys then.
            self._is_reading = False

    def take(self) -> None:
        """Make the terminal give single keys; also after somebody else had it."""
        with suppress(termios.error, OSError):
            modes = termios.tcgetattr(self._fd)
            flags = modes[3]
            assert isinstance(flags, int)
            modes[3] = flags & ~(termios.ECHO | termios.ICANON)
            modes[6][termios.VMIN], modes[6][termios.VTIME] = 1, 0
            termios.tcsetattr(self._fd, termios.TCSANOW, modes)

    def release_orphaned_steps(self) -> None:
        """Let the terminal be as it was."""
        if self._was is not None:
            with suppress(termios.error, OSError):
                # Now, and not once the output is through: it may have been stopped.
                termios.tcsetattr(self._fd, termios.TCSANOW, self._was)

    def close(self) -> None:
        """Stop reading, and give the terminal back."""
        if self._timer is not None:
            self._timer.cancel()
        if self._is_reading:
            asyncio.get_running_loop().remove_reader(self._fd)
            self._is_reading = False
        self.release_orphaned_steps()

    def _read(self) -> None:
        try:
            data = os.read(self._fd, 4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            self._on_gone()
            return
        if self._timer is not None:
            self._timer.cancel()
        keys = self._decoder.feed(data)
        if self._decoder.is_waiting:
            later = asyncio.get_running_loop().call_later
            self._timer = later(_ESCAPE_WAIT_S, self._flush)
        if keys:
            self._on_keys(keys)

    def _flush(self) -> None:
        keys = self._decoder.flush()
        if keys:
            self._on_keys(keys)
