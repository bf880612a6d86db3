"""The keys of a terminal, read one by one without echo; the terminal is restored afterwards."""

import asyncio
import os
import select
import termios
from collections.abc import Callable
from contextlib import suppress
from typing import Final

_ESCAPE: Final = "\x1b"
_ESCAPE_WAIT_S: Final = 0.05
"""How long the rest of a sequence may take before an escape counts as the key."""

_PASTE_START: Final = "\x1b[200~"
_PASTE_END: Final = "\x1b[201~"

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


class KeyDecoder:
    """Turns bytes into keys. Pasted text, which the terminal marks, is no key."""

    def __init__(self) -> None:
        """Start with nothing half read."""
        self._rest = ""
        self._is_pasting = False

    @property
    def is_waiting(self) -> bool:
        """Whether an escape came that may be the start of a sequence."""
        return bool(self._rest)

    def feed(self, data: bytes) -> list[str]:
        """Return the keys that are complete."""
        text, self._rest = self._rest + data.decode("utf-8", "replace"), ""
        keys: list[str] = []
        while text:
            key, text = _first(text)
            if key is None:
                self._rest = text
                break
            if key in (_PASTE_START, _PASTE_END):
                self._is_pasting = key == _PASTE_START
            elif not self._is_pasting:
                keys.append(_NAMED.get(key, key))
        return keys

    def flush(self) -> list[str]:
        """Return an escape that stayed alone; half a sequence is dropped."""
        alone, self._rest = self._rest == _ESCAPE, ""
        return ["escape"] if alone else []


def _first(text: str) -> tuple[str | None, str]:
    """Split off the first key; None if it is incomplete."""
    if text[0] != _ESCAPE:
        return text[0], text[1:]
    if len(text) == 1:
        return None, text
    if text[1] == "O":
        return (text[:3], text[3:]) if len(text) > 2 else (None, text)
    if text[1] != "[":
        return text[:2], text[2:]  # A key with alt, which has no binding.
    for at in range(2, len(text)):
        if "@" <= text[at] <= "~":
            return text[: at + 1], text[at + 1 :]
    return None, text


class Keyboard:
    """The keys of one terminal."""

    def __init__(
        self, fd: int, on_keys: Callable[[list[str]], None], on_closed: Callable[[], None]
    ) -> None:
        """Call `on_keys` with keys that came together, `on_closed` when the terminal closes."""
        self._fd = fd
        self._on_keys = on_keys
        self._on_closed = on_closed
        self._decoder = KeyDecoder()
        self._saved_modes: list[int | list[bytes | int]] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_reading = False

    def open(self) -> None:
        """Start reading keys."""
        with suppress(termios.error, OSError):
            self._saved_modes = termios.tcgetattr(self._fd)
            self.set_modes()
        try:
            asyncio.get_running_loop().add_reader(self._fd, self._read)
            self._is_reading = True
        except OSError:  # A file, for example, which has no keys.
            self._is_reading = False

    def set_modes(self) -> None:
        """Turn echo and line editing off; also after another program had the terminal."""
        with suppress(termios.error, OSError):
            modes = termios.tcgetattr(self._fd)
            flags = modes[3]
            assert isinstance(flags, int)
            modes[3] = flags & ~(termios.ECHO | termios.ICANON)
            modes[6][termios.VMIN], modes[6][termios.VTIME] = 1, 0
            termios.tcsetattr(self._fd, termios.TCSANOW, modes)

    def restore_modes(self) -> None:
        """Restore the modes that the terminal had."""
        if self._saved_modes is not None:
            with suppress(termios.error, OSError):
                # At once: waiting for the output would hang on a terminal that is stopped.
                termios.tcsetattr(self._fd, termios.TCSANOW, self._saved_modes)

    def close(self) -> None:
        """Stop reading, and restore the terminal."""
        if self._timer is not None:
            self._timer.cancel()
        if self._is_reading:
            asyncio.get_running_loop().remove_reader(self._fd)
            self._is_reading = False
        self.restore_modes()

    def read_pending(self) -> None:
        """Handle now the keys that were pressed already and not read yet."""
        while self._is_reading and self._is_readable():
            self._read()

    def _is_readable(self) -> bool:
        return bool(select.select([self._fd], [], [], 0)[0])

    def _read(self) -> None:
        # The event loop may call this after `read_pending` has taken the keys: never block.
        if not self._is_readable():
            return
        try:
            data = os.read(self._fd, 4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            self._on_closed()
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
