"""Runs a program with limits on its output and time, and kills its whole process group."""

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
import anyio.abc
from msgspec import Struct

OUTPUT_BYTES_MAX: Final = 60_000
"""Of longer output the beginning and the end are kept: errors tend to be at either end."""

DRAIN_S: Final = 1.0
"""How long to read on after a program's end: what it wrote is in the pipe by then."""

SECRET_VARIABLE: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)


def harmless_environment() -> dict[str, str]:
    """Return the environment of this process without variables that look like secrets."""
    return {name: value for name, value in os.environ.items() if not SECRET_VARIABLE.search(name)}


class Finished(Struct, frozen=True):
    """The end of a program: exit code, output, and whether it timed out."""

    code: int | None
    output: str
    timed_out: bool
    left_out_bytes: int


class _HeadAndTail:
    """Keeps the beginning and the end of a stream."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = b""
        self._tail = b""
        self.total = 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        free = self._half - len(self._head)
        self._head += data[:free]
        self._tail = (self._tail + data[free:])[-self._half :]

    @property
    def left_out(self) -> int:
        return self.total - len(self._head) - len(self._tail)

    @property
    def text(self) -> str:
        head, tail = (part.decode("utf-8", errors="replace") for part in (self._head, self._tail))
        return f"{head}\n[… {self.left_out} bytes …]\n{tail}" if self.left_out else head + tail


async def run_bounded(
    command: Sequence[str], directory: Path, environment: Mapping[str, str], *, timeout_s: float
) -> Finished:
    """Run a program until it ends or times out; no process it started outlives this call."""
    process = await anyio.open_process(
        command,
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # A group of its own, to kill it with all its children.
    )
    kept = _HeadAndTail(OUTPUT_BYTES_MAX)
    try:
        with anyio.move_on_after(timeout_s) as limit:
            await _follow(process, kept)
    finally:
        await _end_group(process)
    return Finished(process.returncode, kept.text, limit.cancelled_caught, kept.left_out)


async def _follow(process: anyio.abc.Process, kept: _HeadAndTail) -> None:
    """Read until the program has ended, and then what is left in the pipe.

    Children that it left behind hold the pipe open; do not wait for them.
    """
    async with anyio.create_task_group() as group:
        group.start_soon(_read, process, kept)
        await process.wait()
        _kill_group(process)
        group.cancel_scope.deadline = anyio.current_time() + DRAIN_S


async def _read(process: anyio.abc.Process, kept: _HeadAndTail) -> None:
    assert process.stdout is not None
    with suppress(anyio.EndOfStream):
        while True:
            kept.add(await process.stdout.receive())


async def _end_group(process: anyio.abc.Process) -> None:
    """Kill the rest of the group and wait for the program itself."""
    _kill_group(process)
    with anyio.CancelScope(shield=True):
        await process.aclose()


def _kill_group(process: anyio.abc.Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
