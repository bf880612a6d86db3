"""A worker that is another agent, over the Agent Client Protocol on standard streams.

Needs the extra `acp`. Each run starts the agent's process and sends it one prompt; its last message
is the result. It uses its own file and terminal access; `permit` answers its permission requests.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from acp import PROTOCOL_VERSION, RequestError, spawn_agent_process
from acp.schema import (
    AgentMessageChunk,
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    Implementation,
    PermissionOption,
    RequestPermissionResponse,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
)

from taskloom.agent.workspace import program_environment
from taskloom.orchestrator.errors import AcpWorkerError
from taskloom.orchestrator.executors.executor import Emit, Job, Outcome

_TEXT_CHARS: Final = 200_000
"""How much text of one run is kept for the result; all of it is emitted."""

PermitTitle: TypeAlias = Callable[[str], Awaitable[bool]]
"""Answers a permission request, which is described in the agent's own words."""


async def refuse_title(_: str) -> bool:
    """Refuse every request: the default of `permit`."""
    return False


class AcpExecutor:
    """An `Executor` that gives each step to an agent that speaks ACP."""

    claims = False
    tools: Sequence[str] = ()

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | os.PathLike[str],
        env: Mapping[str, str] | None = None,
        permit: PermitTitle = refuse_title,
    ) -> None:
        """Name the program and the directory it works in.

        `env` is added to the environment of this process without its keys and tokens: an agent
        that needs a key gets it here.
        """
        if not command:
            raise ValueError("command must name a program")
        self._command = tuple(command)
        self._cwd = Path(cwd).absolute()
        self._env = {**program_environment(), **(env or {})}
        self._permit = permit

    def begin(self, job: Job, emit: Emit) -> "_AcpRun":
        """Return a run that has not started."""
        return _AcpRun(self._command, self._cwd, self._env, self._permit, job, emit)


class _AcpRun:
    """One run, and the ACP client of the agent."""

    def __init__(
        self,
        command: tuple[str, ...],
        cwd: Path,
        env: Mapping[str, str],
        permit: PermitTitle,
        job: Job,
        emit: Emit,
    ) -> None:
        self._command = command
        self._cwd = cwd
        self._env = env
        self._permit = permit
        self._job = job
        self._emit = emit
        self._text: list[str] = []
        self._size = 0
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        self._stopping.set()

    async def result(self) -> Outcome:
        program, *arguments = self._command
        try:
            async with spawn_agent_process(
                cast("Any", self),  # A client by shape; it announces no further capability.
                program,
                *arguments,
                env=self._env,
                cwd=self._cwd,
                transport_kwargs={"stderr": asyncio.subprocess.DEVNULL},
            ) as (connection, _):
                return await self._prompt_turn(connection)
        except FileNotFoundError as error:
            raise AcpWorkerError(f"There is no program {program!r}: {error}") from error
        except RequestError as error:
            raise AcpWorkerError(f"{program} answered with an error: {error}") from error
        except ConnectionError as error:
            raise AcpWorkerError(f"{program} ended in the middle of the step: {error}") from error

    async def _prompt_turn(self, connection: Any) -> Outcome:
        await connection.initialize(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities(),
            client_info=Implementation(name="taskloom", version="0"),
        )
        session = await connection.new_session(cwd=str(self._cwd), mcp_servers=[])
        asked = asyncio.ensure_future(
            connection.prompt(
                session_id=session.session_id,
                prompt=[TextContentBlock(type="text", text=_prompt(self._job))],
            )
        )
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({asked, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                await connection.cancel(session_id=session.session_id)
            answer = await asked
        finally:
            stopping.cancel()
            asked.cancel()
        if answer.stop_reason != "end_turn":
            raise AcpWorkerError(
                f"The agent stopped: {answer.stop_reason}.", stop_reason=str(answer.stop_reason)
            )
        return Outcome(text="".join(self._text).strip())

    # Requests of the agent to its client.

    async def session_update(self, session_id: str, update: object, **_: Any) -> None:
        """Emit what the agent says and does."""
        assert session_id
        match update:
            case AgentMessageChunk(content=TextContentBlock(text=text)):
                self._size += len(text)
                if self._size <= _TEXT_CHARS:
                    self._text.append(text)
                await self._emit(text)
            case ToolCallStart(title=title):
                self._text.clear()  # Text before a tool call is not the result.
                await self._emit(f"> {title}")
            case ToolCallProgress(title=str(title), status="failed"):
                await self._emit(f"> {title}: failed")
            case _:
                pass

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        """Answer as `permit` does; anything but a clear yes is a no."""
        assert session_id
        wanted = "allow_once" if await self._permit(tool_call.title or "something") else ""
        for option in options:
            if wanted and option.kind == wanted:
                outcome = AllowedOutcome(outcome="selected", option_id=option.option_id)
                return RequestPermissionResponse(outcome=outcome)
        for option in options:
            if option.kind == "reject_once":
                outcome = AllowedOutcome(outcome="selected", option_id=option.option_id)
                return RequestPermissionResponse(outcome=outcome)
        return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))

    def on_connect(self, conn: object) -> None:
        """Do nothing with the connection."""


def _prompt(job: Job) -> str:
    step = job.step
    assert step is not None
    parts = [f"Task: {job.task_title}", f"Step: {step.title}"]
    parts += [text for text in (step.summary, job.instruction, job.context) if text]
    for step_id, result in job.inputs.items():
        parts.append(f"Result of {step_id}: {result}")
    parts.append("End with a short report of what was done and where it is.")
    return "\n\n".join(parts)
