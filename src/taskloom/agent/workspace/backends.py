"""How a workspace reads files and runs programs: on this machine, or through a client.

An editor provides its own: it knows text that is not saved yet, and shows the terminal that a
program runs in. Which paths are allowed is decided before, in `context`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import anyio.to_thread

from taskloom.agent.workspace.process import Finished, run_bounded
from taskloom.atomic_write import write_file


class TextFiles(Protocol):
    """Whole text files, by their resolved paths."""

    async def read(self, path: Path) -> str:
        """Return a file's text with its line ends unchanged; OSError or ValueError if it cannot."""
        ...

    async def write(self, path: Path, text: str) -> None:
        """Create a file or replace its text; OSError if it cannot."""
        ...


class Commands(Protocol):
    """Runs programs, each to its end."""

    async def run(
        self,
        command: Sequence[str],
        directory: Path,
        environment: Mapping[str, str],
        *,
        timeout_s: float,
    ) -> Finished:
        """Run a program until it ends or times out; no process it started outlives this call."""
        ...


class DiskFiles:
    """The files of this machine."""

    async def read(self, path: Path) -> str:
        """Read a file as bytes, so that line ends stay unchanged."""
        return (await anyio.to_thread.run_sync(path.read_bytes)).decode("utf-8")

    async def write(self, path: Path, text: str) -> None:
        """Replace a file's text in one step."""
        await anyio.to_thread.run_sync(write_file, path, text.encode("utf-8"))


class LocalCommands:
    """The programs of this machine."""

    async def run(
        self,
        command: Sequence[str],
        directory: Path,
        environment: Mapping[str, str],
        *,
        timeout_s: float,
    ) -> Finished:
        """Run a program in a process group of its own."""
        return await run_bounded(command, directory, environment, timeout_s=timeout_s)
