"""Runs a program with limits on its output and time, and kills all that it started."""

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
import anyio.abc
from msgspec import Struct

from taskloom.sandbox import Sandbox, SandboxSpec, Unconfined, start_process

OUTPUT_BYTES_MAX: Final = 60_000
"""Of longer output the beginning and the end are kept: errors tend to be at either end."""

DRAIN_S: Final = 1.0
"""How long to read on after a program's end: what it wrote is in the pipe by then."""

HARMLESS_VARIABLES: Final = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TMPDIR", "TEMP", "TMP", "TZ"),
        *("LANG", "LANGUAGE", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"),
        *("CI", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"),
        *("VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "PYENV_VERSION", "PYTHONPATH", "PYTHONHOME"),
        *("PYTHONUNBUFFERED", "PYTHONUTF8", "PYTHONIOENCODING", "PYTHONDONTWRITEBYTECODE"),
        *("NVM_DIR", "NVM_BIN", "PNPM_HOME", "VOLTA_HOME", "NODE_ENV", "CARGO_HOME", "RUSTUP_HOME"),
        *("GOPATH", "GOROOT", "GOCACHE", "JAVA_HOME", "GRADLE_USER_HOME", "MAVEN_HOME"),
        *("RBENV_ROOT", "GEM_HOME", "GEM_PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
    }
)
"""What programs get of the environment. Names that are not here may hold secrets: no pattern
tells which."""


def program_environment(
    names: Iterable[str] = (), environ: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the harmless variables of this process, and those that are named."""
    variables = os.environ if environ is None else environ
    passed = HARMLESS_VARIABLES.union(names)
    return {name: value for name, value in variables.items() if name in passed or name[:3] == "LC_"}


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
    command: Sequence[str],
    directory: Path,
    environment: Mapping[str, str],
    *,
    timeout_s: float,
    sandbox: Sandbox | None = None,
    spec: SandboxSpec | None = None,
) -> Finished:
    """Run a program until it ends or times out; no process it started outlives this call.

    Raises:
        FileNotFoundError: there is no such program.
    """
    _check_program(command[0], directory, environment)
    started = await start_process(
        sandbox or Unconfined("none was given"),
        command,
        spec or SandboxSpec(tree=directory),
        cwd=directory,
        env=environment,
    )
    kept = _HeadAndTail(OUTPUT_BYTES_MAX)
    try:
        with anyio.move_on_after(timeout_s) as limit:
            await _follow(started.process, kept)
    finally:
        await started.end()
    return Finished(started.process.returncode, kept.text, limit.cancelled_caught, kept.left_out)


def _check_program(program: str, directory: Path, environment: Mapping[str, str]) -> None:
    """Raise FileNotFoundError for a program that cannot be found, as starting it would."""
    path = environment.get("PATH", os.defpath)
    if "/" in program:
        found = os.access(directory / program, os.X_OK) and (directory / program).is_file()
    else:
        found = shutil.which(program, path=path) is not None
    if not found:
        raise FileNotFoundError(f"there is no program {program!r}")


async def _follow(process: anyio.abc.Process, kept: _HeadAndTail) -> None:
    """Read until the program has ended, and then what is left in the pipe."""
    async with anyio.create_task_group() as group:
        group.start_soon(_read, process, kept)
        await process.wait()
        group.cancel_scope.deadline = anyio.current_time() + DRAIN_S


async def _read(process: anyio.abc.Process, kept: _HeadAndTail) -> None:
    assert process.stdout is not None
    with suppress(anyio.EndOfStream):
        while True:
            kept.add(await process.stdout.receive())
