"""The standard streams, which may be closed, full, or without a reader."""

import os
import sys
from contextlib import suppress
from typing import TextIO


def ensure_stderr() -> None:
    """Replace a closed standard error with the null device, so that nothing crashes on it."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until we exit


def print_error(text: str) -> None:
    """Write a line to standard error; ignore that it cannot be written."""
    with suppress(OSError):
        sys.stderr.write(f"{text}\n")
    flush(sys.stderr)


def flush(stream: TextIO | None) -> None:
    """Flush a stream, or drop what it buffers, so that the interpreter's exit cannot fail on it."""
    if stream is None:
        return
    try:
        stream.flush()
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, stream.fileno())
        finally:
            os.close(null)
