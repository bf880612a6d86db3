"""Steps carried out by a program: the job as one line of JSON in, lines of output out.

Nothing it started stays behind: neither when it ends, nor when it is cancelled, nor when this
process is killed with -9 (see `program_supervisor`).
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
from taskloom.errors import Code, ConfigError, TaskloomError
from taskloom.orchestrator.executors import program_supervisor
from taskloom.orchestrator.executors.executor import Emit, Job, Outcome
from taskloom.orchestrator.executors.program_protocol import (
    Failed,
    Gave,
    Lines,
    ProgramLineError,
    read_line,
    shorten,
)

GRACE_S: Final = 5.0
"""How long a program that was asked to end may take before it is killed."""
REST_S: Final = 1.0
"""How long after its end its output may take: what it wrote is in the pipe by then."""
KEPT_CHARS: Final = 4_000
"""So much of the end of its output and of its errors is kept for the report."""


class ProgramWorkerError(TaskloomError):
    """The program did not do it; the message has its last words."""

    def __init__(self, message: str, **details: object) -> None:
        """Raise with the code `tool_error`."""
        super().__init__(Code.TOOL_ERROR, message, details)


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
    ) -> None:
        """Name the program and its arguments; no shell reads them.

        `env` is added to the environment of this process without its keys and tokens.
        """
        if isinstance(command, str) or not command:
            raise ConfigError('A command is a list of words, such as ["python", "work.py"].')
        self._command = tuple(command)
        self._cwd = None if cwd is None else Path(cwd)
        self._env = dict(env or {})
        self._grace_s = grace_s

    def begin(self, job: Job, emit: Emit) -> "ProgramWork":
        """Make ready for one run; the program starts when its result is awaited."""
        environment = {**program_environment(), **self._env}
        return ProgramWork(self._command, self._cwd, environment, self._grace_s, job, emit)


class ProgramWork:
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
        """Keep what is needed to start it."""
        self._command = command
        self._cwd = cwd
        self._environment = environment
        self._grace_s = grace_s
        self._job = job
        self._emit = emit
        self._process: anyio.abc.Process | None = None
        self._asked_to_end = False
        self._last: Gave | Failed | None = None
        self._output = ""
        self._errors = ""

    def stop(self) -> None:
        """Ask the program to end: SIGTERM to it and to what it started."""
        self._asked_to_end = True
        self._signal(signal.SIGTERM)

    async def result(self) -> Outcome:
        """Run the program to its end.

        Raises:
            ProcessFailed: it could not be started, reported an error, or gave no result.
        """
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
            self._process = None  # Its number may soon be another's.
            os.close(ours)
        return self._outcome(process.returncode)

    async def _start(self, life: int) -> anyio.abc.Process:
        watched = [
            sys.executable,
            "-I",
            "-S",
            program_supervisor.__file__,
            str(life),
            *self._command,
        ]
        if not sys.executable:  # Python inside another program: there is nobody to keep watch.
            watched = [*self._command]
        try:
            return await anyio.open_process(
                watched,
                cwd=self._cwd,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # A group of its own, to be ended as a whole.
                pass_fds=(life,),
            )
        except (OSError, ValueError) as error:
            raise ProgramWorkerError(
                f"The program {self._command[0]} could not be started: {error}. Check `command` "
                "and `cwd` of the executor.",
                command=list(self._command),
            ) from error

    async def _follow(self, process: anyio.abc.Process) -> None:
        """Tell it its job, and listen until it has ended and all it wrote is read."""
        assert process.stdout is not None
        assert process.stderr is not None
        output = _Tap(process.stdout)
        errors = _Tap(process.stderr)
        async with anyio.create_task_group() as group:
            group.start_soon(self._tell_job, process)
            group.start_soon(self._listen, output)
            group.start_soon(self._keep_errors, errors)
            await process.wait()
            self._signal(signal.SIGKILL)  # What it left behind.
            output.source_ended()
            errors.source_ended()

    async def _tell_job(self, process: anyio.abc.Process) -> None:
        assert process.stdin is not None
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdin.send(job_line(self._job))
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdin.aclose()

    async def _listen(self, tap: "_Tap") -> None:
        lines = Lines()
        while data := await tap.receive():
            for line in lines.add(data):
                await self._heard(line)
        for line in lines.end():
            await self._heard(line)

    async def _heard(self, line: bytes) -> None:
        try:
            said = read_line(line)
        except ProgramLineError as error:
            raise ProgramWorkerError(f"{error}. Mend the program.") from error
        if isinstance(said, Gave | Failed):
            self._last = said
            return
        text = shorten(said.text)
        self._output = f"{self._output}{text}\n"[-KEPT_CHARS:]
        await self._emit(text)

    async def _keep_errors(self, tap: "_Tap") -> None:
        while data := await tap.receive():
            self._errors = (self._errors + data.decode("utf-8", "replace"))[-KEPT_CHARS:]

    async def _end(self, process: anyio.abc.Process) -> None:
        """End what is still alive: ask, wait, kill. After it was asked before, kill at once."""
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
            case Gave(text=text, data=data, artifact_ids=artifact_ids):
                return Outcome(text=text, data=data, artifact_ids=artifact_ids)
            case Failed(message=message):
                raise ProgramWorkerError(message, exit_code=code)
            case None:
                pass
        if code == 0:
            return Outcome(text=self._output.strip())
        words = self._errors.strip() or self._output.strip() or "it wrote nothing"
        how = "was ended" if self._asked_to_end else f"ended with exit code {code}"
        raise ProgramWorkerError(
            f"{self._command[0]} {how} and gave no result. Its last words: {words}", exit_code=code
        )


def _first(error: Exception) -> Exception:
    """Return what went wrong first: the others only fell with it."""
    while isinstance(error, ExceptionGroup):
        error = cast("ExceptionGroup[Exception]", error).exceptions[0]
    return error


class _Tap:
    """A stream of a program; once the program has ended, an idle stream is over as well.

    Somebody who left the group may hold the pipe open for ever. A slow listener is not idle.
    """

    def __init__(self, stream: anyio.abc.ByteReceiveStream) -> None:
        self._stream = stream
        self._ended = False
        self._waiting: anyio.CancelScope | None = None

    async def receive(self) -> bytes:
        """Return some bytes; none at the end."""
        with anyio.CancelScope() as scope:
            self._waiting = scope
            if self._ended:
                self.source_ended()
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                return await self._stream.receive()
        return b""

    def source_ended(self) -> None:
        self._ended = True
        if self._waiting is not None:
            self._waiting.deadline = anyio.current_time() + REST_S


def job_line(job: Job) -> bytes:
    """Return a job as a program reads it: one line of JSON."""
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
