"""A program started through the launcher: it ends as a whole, however this process ends."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
import anyio.abc

from taskloom.sandbox import launcher
from taskloom.sandbox.choose import Sandbox
from taskloom.sandbox.spec import SandboxSpec

_END_S: Final = 5.0
"""How long the launcher may take to kill what the program started; then it is killed itself."""


class SandboxedProcess:
    """A running program with all that it started."""

    def __init__(self, process: anyio.abc.Process, life: int) -> None:
        self.process = process
        self._life = life

    def ask_to_end(self) -> None:
        """Send SIGTERM to the program and what it started."""
        if self.process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                self.process.send_signal(signal.SIGTERM)

    async def end(self) -> None:
        """Kill what is left of it; return when nothing is."""
        with anyio.CancelScope(shield=True):
            self._close_life()
            with anyio.move_on_after(_END_S):
                await self.process.wait()
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            await self.process.aclose()

    def _close_life(self) -> None:
        if self._life >= 0:
            os.close(self._life)
            self._life = -1


async def start_process(
    sandbox: Sandbox,
    command: Iterable[str],
    spec: SandboxSpec,
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.STDOUT,
) -> SandboxedProcess:
    """Start a program in a sandbox; use `end` when it is no longer needed, also when it has ended.

    Raises:
        OSError: the launcher cannot be started. A program that cannot be found ends with 127.
    """
    plan, variables = sandbox.plan(command, spec)
    life, ours = os.pipe()
    try:
        process = await anyio.open_process(
            [
                *(sys.executable, "-I", "-S", launcher.__file__),
                *(str(life), json.dumps(plan.orders), *plan.command),
            ],
            cwd=cwd,
            env={**env, **variables},
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,  # Its own group, and no terminal.
            pass_fds=(life,),
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(life)
    return SandboxedProcess(process, ours)
