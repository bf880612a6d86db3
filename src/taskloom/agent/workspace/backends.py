"""How a workspace reaches files and runs programs: here on the disk, or wherever its owner says.

An editor's door gives its own: the editor knows text that was not saved yet, and shows the
terminal a program runs in. What may be reached at all is decided before, in `ground`.
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
        """Return a file's text, with its line ends as they are; OSError or ValueError if not."""
        ...

    async def write(self, path: Path, text: str) -> None:
        """Make a file or replace its text; OSError if it cannot be."""
        ...


class Commands(Protocol):
    """Programs, each run to its end."""

    async def run(
        self,
        command: Sequence[str],
        directory: Path,
        environment: Mapping[str, str],
        *,
        timeout_s: float,
    ) -> Finished:
        """Run a program to its end or its time; nothing it started outlives this call."""
        ...


class DiskFiles:
    """The files of this machine."""

    async def read(self, path: Path) -> str:
        """Read a file; bytes and not text, so that line ends stay what they are."""
        return (await anyio.to_thread.run_sync(path.read_bytes)).decode("utf-8")

    async def write(self, path: Path, text: str) -> None:
        """Put new text in place of a file in one step."""
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
