"""The standard streams, which may be closed, full, or read by nobody: no reason to crash."""

import os
import sys
from contextlib import suppress
from typing import TextIO


def lend_error_stream() -> None:
    """Give a program whose standard error is closed one that leads nowhere."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as we run


def say(text: str) -> None:
    """Write a line to standard error; if nobody can hear it, go on."""
    with suppress(OSError):
        sys.stderr.write(f"{text}\n")
    settle(sys.stderr)


def settle(stream: TextIO | None) -> None:
    """Write out what is held back, or drop it, so that the interpreter's end has nothing to say."""
    if stream is None:
        return
    try:
        stream.flush()
    except OSError:
        _mute(stream)


def _mute(stream: TextIO) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    finally:
        os.close(nowhere)
