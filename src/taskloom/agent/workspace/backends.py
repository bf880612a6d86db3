"""How a workspace reads files and runs programs: on this machine, or through a client.

An editor provides its own: it knows text that is not saved yet, and shows the terminal that a
program runs in. Which paths are allowed is decided before, in `context`.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import anyio.to_thread

from taskloom.agent.workspace.link_safe_files import read_resolved, write_resolved
from taskloom.agent.workspace.process import Finished, run_bounded
from taskloom.sandbox import Sandbox, SandboxSpec, Unconfined


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

    @property
    def sandbox(self) -> str:
        """The name of the sandbox that confines programs; empty if none does."""
        ...

    async def run(
        self,
        command: Sequence[str],
        directory: Path,
        environment: Mapping[str, str],
        *,
        timeout_s: float,
        outside_sandbox: bool = False,
    ) -> Finished:
        """Run a program until it ends or times out; no process it started outlives this call."""
        ...


class DiskFiles:
    """The files of this machine."""

    async def read(self, path: Path) -> str:
        """Read a file as bytes, so that line ends stay unchanged."""
        return (await anyio.to_thread.run_sync(read_resolved, path)).decode("utf-8")

    async def write(self, path: Path, text: str) -> None:
        """Replace a file's text in one step."""
        await anyio.to_thread.run_sync(write_resolved, path, text.encode("utf-8"))


class LocalCommands:
    """The programs of this machine, in a sandbox if one is given."""

    def __init__(
        self,
        sandbox: Sandbox | None = None,
        make_spec: Callable[[Path], SandboxSpec] | None = None,
    ) -> None:
        """Run programs in a sandbox; `make_spec` returns the limits of one in a directory."""
        self._sandbox = sandbox or Unconfined("none was given")
        self._make_spec = make_spec or _only_this_directory

    @property
    def sandbox(self) -> str:
        """The name of the sandbox that confines programs; empty if none does."""
        return self._sandbox.name if self._sandbox.confines else ""

    async def run(
        self,
        command: Sequence[str],
        directory: Path,
        environment: Mapping[str, str],
        *,
        timeout_s: float,
        outside_sandbox: bool = False,
    ) -> Finished:
        """Run a program; all that it starts ends with it."""
        sandbox = Unconfined("it was left") if outside_sandbox else self._sandbox
        # The limits name the secret files of the project: finding them walks the tree.
        spec = await anyio.to_thread.run_sync(self._make_spec, directory)
        return await run_bounded(
            command, directory, environment, timeout_s=timeout_s, sandbox=sandbox, spec=spec
        )


def _only_this_directory(directory: Path) -> SandboxSpec:
    return SandboxSpec(tree=directory)
