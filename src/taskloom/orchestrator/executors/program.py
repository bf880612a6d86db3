"""A worker that is a program: it reads the job as one line of JSON and writes lines.

No process that it started outlives it: neither when it ends, nor when it is cancelled, nor when
this process is killed with SIGKILL (see `program_supervisor`).
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

import anyio
import anyio.abc
import msgspec

from taskloom.agent.workspace import program_environment
from taskloom.errors import ConfigError
from taskloom.orchestrator.errors import ProgramWorkerError
from taskloom.orchestrator.executors import program_supervisor
from taskloom.orchestrator.executors.executor import Emit, Job, Outcome
from taskloom.orchestrator.executors.program_protocol import (
    ErrorLine,
    LineSplitter,
    ResultLine,
    read_line,
    shorten,
)

GRACE_S: Final = 5.0
"""How long a program has after SIGTERM before it is killed."""
REST_S: Final = 1.0
"""How long its output is read after its end: what it wrote is in the pipe by then."""
KEPT_CHARS: Final = 4_000
"""How much of the end of its output and of its stderr is kept for the report."""


class ProgramExecutor:
    """An `Executor` that starts a program for each step."""

    claims = False
    tools: Sequence[str] = ()

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        grace_s: float = GRACE_S,
        messages: bool = False,
    ) -> None:
        """Name the program and its arguments; no shell interprets them.

        Args:
            command: the program and its arguments.
            cwd: its directory; by default that of this process.
            env: added to the environment of this process without its keys and tokens.
            grace_s: how long it has after SIGTERM before it is killed.
            messages: keep its standard input open, so that it can receive messages of people.
                Without this its input ends after the job, as programs that read all of it expect.
        """
        if isinstance(command, str) or not command:
            raise ConfigError('`command` must be a list, such as ["python", "work.py"].')
        self._command = tuple(command)
        self._cwd = None if cwd is None else Path(cwd)
        self._env = dict(env or {})
        self._grace_s = grace_s
        self._messages = messages

    def begin(self, job: Job, emit: Emit) -> "_ProgramRun":
        """Return a run; the program starts when its result is awaited."""
        environment = {**program_environment(), **self._env}
        run = _ProgramRun if not self._messages else _ListeningProgramRun
        return run(self._command, self._cwd, environment, self._grace_s, job, emit)


class _ProgramRun:
    """One run of the program."""

    def __init__(
        self,
        command: tuple[str, ...],
        cwd: Path | None,
        environment: Mapping[str, str],
        grace_s: float,
        job: Job,
        emit: Emit,
    ) -> None:
        self._command = command
        self._cwd = cwd
        self._environment = environment
        self._grace_s = grace_s
        self._job = job
        self._emit = emit
        self._process: anyio.abc.Process | None = None
        self._asked_to_end = False
        self._last: ResultLine | ErrorLine | None = None
        self._output = ""
        self._stderr = ""

    def stop(self) -> None:
        self._asked_to_end = True
        self._signal(signal.SIGTERM)

    async def result(self) -> Outcome:
        # The supervisor holds the read end; it ends the program when this process dies.
        life, ours = os.pipe()
        try:
            process = self._process = await self._start(life)
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(life)
        try:
            if self._asked_to_end:
                self._signal(signal.SIGTERM)
            await self._follow(process)
        except ExceptionGroup as several:
            raise _first(several) from several
        finally:
            with anyio.CancelScope(shield=True):
                await self._end(process)
            self._process = None  # The system may reuse its process id.
            os.close(ours)
        return self._outcome(process.returncode)

    async def _start(self, life: int) -> anyio.abc.Process:
        supervised = [
            sys.executable,
            "-I",
            "-S",
            program_supervisor.__file__,
            str(life),
            *self._command,
        ]
        if not sys.executable:  # Python embedded in another program has no interpreter to start.
            supervised = [*self._command]
        try:
            return await anyio.open_process(
                supervised,
                cwd=self._cwd,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # A process group of its own, to be killed as a whole.
                pass_fds=(life,),
            )
        except (OSError, ValueError) as error:
            raise ProgramWorkerError(
                f"The program {self._command[0]} could not be started: {error}. Check `command` "
                "and `cwd` of the executor.",
                command=list(self._command),
            ) from error

    async def _follow(self, process: anyio.abc.Process) -> None:
        """Send the job, and read until the program has ended and its pipes are empty."""
        assert process.stdout is not None
        assert process.stderr is not None
        stdout = _PipeReader(process.stdout)
        stderr = _PipeReader(process.stderr)
        async with anyio.create_task_group() as group:
            group.start_soon(self._send_job, process)
            group.start_soon(self._read_output, stdout)
            group.start_soon(self._read_stderr, stderr)
            await process.wait()
            self._signal(signal.SIGKILL)  # Processes that it started and left behind.
            stdout.program_ended()
            stderr.program_ended()

    async def _send_job(self, process: anyio.abc.Process) -> None:
        await _send(process, job_line(self._job))
        assert process.stdin is not None
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdin.aclose()

    async def _read_output(self, pipe: "_PipeReader") -> None:
        lines = LineSplitter()
        while data := await pipe.receive():
            for line in lines.add(data):
                await self._take(line)
        for line in lines.end():
            await self._take(line)

    async def _take(self, line: bytes) -> None:
        read = read_line(line)
        if isinstance(read, ResultLine | ErrorLine):
            self._last = read
            return
        text = shorten(read.text)
        self._output = f"{self._output}{text}\n"[-KEPT_CHARS:]
        await self._emit(text)

    async def _read_stderr(self, pipe: "_PipeReader") -> None:
        while data := await pipe.receive():
            self._stderr = (self._stderr + data.decode("utf-8", "replace"))[-KEPT_CHARS:]

    async def _end(self, process: anyio.abc.Process) -> None:
        """End the program: SIGTERM, wait, SIGKILL; at once if it was asked to end before."""
        if process.returncode is None and not self._asked_to_end:
            self._signal(signal.SIGTERM)
            with anyio.move_on_after(self._grace_s):
                await process.wait()
        self._signal(signal.SIGKILL)
        await process.aclose()

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def _outcome(self, code: int | None) -> Outcome:
        match self._last:
            case ResultLine(text=text, data=data, artifact_ids=artifact_ids):
                return Outcome(text=text, data=data, artifact_ids=artifact_ids)
            case ErrorLine(message=message):
                raise ProgramWorkerError(message, exit_code=code)
            case None:
                pass
        if code == 0:
            return Outcome(text=self._output.strip())
        wrote = "it wrote nothing"
        if self._stderr.strip():
            wrote = f"stderr: {self._stderr.strip()}"
        elif self._output.strip():
            wrote = f"stdout: {self._output.strip()}"
        how = "was ended" if self._asked_to_end else f"ended with exit code {code}"
        raise ProgramWorkerError(
            f"{self._command[0]} {how} and gave no result; {wrote}", exit_code=code
        )


class _ListeningProgramRun(_ProgramRun):
    """A run whose program keeps reading its standard input."""

    _has_job = False

    async def message(self, text: str) -> bool:
        process = self._process
        if process is None or not self._has_job:
            return False
        return await _send(process, msgspec.json.encode({"type": "message", "text": text}) + b"\n")

    async def _send_job(self, process: anyio.abc.Process) -> None:
        self._has_job = await _send(process, job_line(self._job))


async def _send(process: anyio.abc.Process, line: bytes) -> bool:
    assert process.stdin is not None
    try:
        await process.stdin.send(line)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return False
    return True


def _first(error: Exception) -> Exception:
    """Return the first exception of a group: it caused the others."""
    while isinstance(error, ExceptionGroup):
        error = cast("ExceptionGroup[Exception]", error).exceptions[0]
    return error


class _PipeReader:
    """Reads a pipe of a program; once the program has ended, an idle pipe ends as well.

    A process that left the program's group may hold the pipe open for ever. Only waiting for bytes
    counts as idle, not a slow `emit`.
    """

    def __init__(self, stream: anyio.abc.ByteReceiveStream) -> None:
        self._stream = stream
        self._ended = False
        self._waiting: anyio.CancelScope | None = None

    async def receive(self) -> bytes:
        """Return the next bytes; empty at the end."""
        with anyio.CancelScope() as scope:
            self._waiting = scope
            if self._ended:
                self.program_ended()
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                return await self._stream.receive()
        return b""

    def program_ended(self) -> None:
        self._ended = True
        if self._waiting is not None:
            self._waiting.deadline = anyio.current_time() + REST_S


def job_line(job: Job) -> bytes:
    """Return a job as one line of JSON."""
    return (
        msgspec.json.encode(
            {
                "type": "job",
                "run_id": job.run_id,
                "worker_agent_id": job.worker_agent_id,
                "worker_pool_id": job.worker_pool_id,
                "task_id": job.task_id,
                "task_title": job.task_title,
                "instruction": job.instruction,
                "context": job.context,
                "constraints": job.constraints,
                "expected_output_schema": job.expected_output_schema,
                "allowed_tools": sorted(job.allowed_tools) if job.allowed_tools else None,
                "step": job.step,
                "inputs": job.inputs,
                "definition": {"id": job.definition.id, "body": job.definition.body},
            },
            enc_hook=str,
        )
        + b"\n"
    )
