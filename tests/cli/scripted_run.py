"""A run to watch, in a process of its own: a real host whose model and workers are scripted.

    python -m tests.cli.scripted_run KIND PROJECT STEPS

It reads commands from the descriptor CONTROL_FD, one per line:

    go STEP           the worker of that step finishes it
    fail STEP         ... fails
    say STEP TEXT     ... prints a line (`\\x1b` and the like are read as in Python)
    ask STEP COMMAND  ... asks for permission to run a command, and prints the answer
    break             the watcher is cancelled

Steps whose name starts with `deaf` do not stop when asked to.
"""

import asyncio
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import anyio

from taskloom.agent import Message, Say, ScriptedModel, call_tool, call_tools
from taskloom.agent.workspace import PermissionRequest, Permit
from taskloom.app.session_host import Host, HostOptions
from taskloom.cli.exit_codes import run_guarded
from taskloom.cli.watch import Kind, choose_kind, new_watcher
from taskloom.orchestrator import AgentDefinition, Emit, Job, Outcome, Pool, Worker
from taskloom.session import PermissionPolicy, SessionStore

SESSION = "s1"
GOAL = "Tidy up the parser"

PermitOf = Callable[[str], Permit]


class Commands:
    """The commands for the workers, as they come."""

    def __init__(self, fd: int) -> None:
        self._rest = b""
        self._queues: dict[str, asyncio.Queue[tuple[str, str]]] = {}
        self._fd = fd
        self._watcher_task: asyncio.Task[object] | None = None

    def open(self) -> None:
        self._watcher_task = asyncio.current_task()
        asyncio.get_running_loop().add_reader(self._fd, self._read)

    def queue(self, step_id: str) -> "asyncio.Queue[tuple[str, str]]":
        return self._queues.setdefault(step_id, asyncio.Queue())

    def _read(self) -> None:
        data = os.read(self._fd, 4096)
        if not data:
            asyncio.get_running_loop().remove_reader(self._fd)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            verb, step_id, text = (*line.decode().split(" ", 2), "", "")[:3]
            if verb == "break" and self._watcher_task is not None:
                self._watcher_task.cancel()
            self.queue(step_id).put_nowait((verb, text))


class ScriptedExecutor:
    """Starts workers that follow the commands."""

    claims = False
    tools: Sequence[str] = ()

    def __init__(self, commands: Commands, permit_of: PermitOf) -> None:
        self._commands = commands
        self._permit_of = permit_of

    def begin(self, job: Job, emit: Emit) -> "ScriptedWorker":
        assert job.step is not None
        return ScriptedWorker(job, emit, self._commands, self._permit_of)


class ScriptedWorker:
    def __init__(self, job: Job, emit: Emit, commands: Commands, permit_of: PermitOf) -> None:
        assert job.step is not None
        self._step_id = job.step.step_id
        self._emit = emit
        self._commands = commands.queue(self._step_id)
        self._permit = permit_of(job.worker_agent_id)

    async def result(self) -> Outcome:
        await self._emit(f"started {self._step_id}")
        while True:
            verb, text = await self._commands.get()
            match verb:
                case "go":
                    return Outcome(text=f"did {self._step_id}")
                case "fail":
                    raise ValueError(f"{self._step_id} broke")
                case "say":
                    await self._emit(text.encode().decode("unicode_escape"))
                case "ask":
                    request = PermissionRequest("run", command=tuple(shlex.split(text)))
                    allowed = await self._permit(request)
                    await self._emit(f"answered {'yes' if allowed else 'no'} for {text}"[:60])
                case _:
                    return Outcome(text="stopped")

    def stop(self) -> None:
        if not self._step_id.startswith("deaf"):
            self._commands.put_nowait(("stop", ""))


def plan(steps: str) -> list[dict[str, object]]:
    made: list[dict[str, object]] = []
    for each in steps.split():
        step_id, _, after = each.partition(":")
        made.append(
            {
                "step_id": step_id,
                "title": f"Do {step_id}",
                "depends_on_step_ids": after.split(",") if after else [],
            }
        )
    return made


def orchestrate(steps: str):  # noqa: ANN201 - a script is what the model takes
    """Plan, dispatch free workers until nothing is left, reopen failed steps, and complete."""

    def reply(messages: Sequence[Message]) -> Message | Say | str:
        turns = sum(message.role == "assistant" for message in messages)
        if turns == 0:
            about = {"task_id": "tidy", "wal_name": "tidy", "title": "Tidy up", "summary": "All"}
            made = call_tool("agent.task_create", **about, steps=plan(steps))
            return Say(text="I will plan it.", calls=made.tool_calls)
        at = max(at for at, message in enumerate(messages) if message.role == "assistant")
        results = [message for message in messages[at + 1 :] if message.role == "tool"]
        text = "".join(message.text for message in results)
        if results[0].tool_name == "agent.task_complete":
            if '"completed"' in text:
                return "All is tidy.\nThe parser has no dead code."
            arguments = {"task_id": "tidy", "instruction": "Do it."}
            dispatch = ("agent.dispatch_worker", arguments)
            return call_tools(dispatch, dispatch)
        failed = [
            {"op": "reopen_step", "step_id": each["step_id"]}
            for each in plan(steps)
            if f'"claimed_step_id":"{each["step_id"]}","step_status":"failed"' in text
        ]
        if failed:
            return call_tool("agent.task_update", task_id="tidy", operations=failed)
        return call_tool("agent.task_complete", task_id="tidy", result_summary="tidied")

    return reply


async def main(kind: Kind | None, project: Path, steps: str) -> int:
    watcher = new_watcher(kind or choose_kind(json=False, plain=False))
    permit_of = partial(PermissionPolicy().permit, asker=watcher.asker)
    commands = Commands(int(os.environ["CONTROL_FD"]))
    commands.open()
    session = SessionStore(project).open_or_create(SESSION, goal=GOAL)
    definition = AgentDefinition(id="scripted", name="Scripted", description="follows commands")
    workers = tuple(
        Worker(
            definition=definition, executor=ScriptedExecutor(commands, permit_of), worker_id=name
        )
        for name in ("ann", "bob")
    )
    options = HostOptions(
        session=session,
        model=ScriptedModel(orchestrate(steps)),
        pools=[Pool(pool_id="default", workers=workers)],
        instruction="Plan, dispatch, conclude.",
        max_iterations=30,
    )
    async with Host(options) as host:
        result = await watcher.show(host, host.work)
    sys.stderr.write(f"ended: {result.stop_reason} {watcher.was_quit}\n")
    return 0


if __name__ == "__main__":
    kinds: dict[str, Kind] = {"screen": "screen", "lines": "lines", "json": "json"}
    project = Path(sys.argv[2])
    # For any other kind the program chooses.
    sys.exit(
        run_guarded(
            lambda: anyio.run(main, kinds.get(sys.argv[1]), project, sys.argv[3]), as_json=False
        )
    )
