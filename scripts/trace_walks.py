"""Count the functions and files that five common operations visit; docs/design/walks.md lists them.

    .venv/bin/python scripts/trace_walks.py

A switch is a call into another file than that of the call before.
"""

import asyncio
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from taskloom import open_board, step
from taskloom.acp import AcpOptions, serve
from taskloom.acp.protocol.jsonrpc_transport import JsonRpcTransport
from taskloom.agent import Agent, Middleware, ScriptedModel, call_tool
from taskloom.board import ClaimStep
from taskloom.files import LocalFiles
from taskloom.middleware import PlanTasks
from taskloom.orchestrator import Orchestrator, agent_worker

SOURCE = str(Path(__file__).parent.parent / "src" / "taskloom")


class Walk:
    """The calls of taskloom's functions while it is entered."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self._frames: set[FrameType] = set()

    def note(self, frame: FrameType, event: str, _argument: object) -> None:
        """Take a call, as `sys.setprofile` reports it."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(SOURCE):
            return
        # A coroutine that goes on is no new call, and a comprehension is part of its function.
        if frame not in self._frames and not code.co_name.startswith("<"):
            self._frames.add(frame)
            self.calls.append((code.co_filename, code.co_qualname))

    @contextmanager
    def trace(self) -> Generator[None]:
        """Trace this thread and those that start meanwhile."""
        threading.setprofile(self.note)
        sys.setprofile(self.note)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def line(self, name: str, keep: Callable[[str], bool] = lambda _: True) -> str:
        """Return a row of the table: calls, functions, files and switches."""
        calls = [call for call in self.calls if keep(call[0].removeprefix(SOURCE))]
        files = [file for file, _ in calls]
        switches = sum(one != other for one, other in pairwise(files))
        return f"| {name} | {len(calls)} | {len(set(calls))} | {len(set(files))} | {switches} |"


async def claim(folder: Path) -> str:
    """Trace the first claim of a fresh Task, sent as a command."""
    walk = Walk()
    async with open_board(folder, session="s") as board:
        for task_id in ("before", "t"):  # Classes are compiled when they are first used.
            await board.create_task(task_id, "Task", [step("a", "Do a")])
            worker = board.worker("ann", run_id="r", task_id=task_id)
            walk = Walk()
            with walk.trace():
                await board.send(ClaimStep(task_id=task_id, step_id="a"), worker)
    return walk.line("a. `board.send(ClaimStep)`")


async def iteration(folder: Path) -> str:
    """Trace a run with one tool call, one middleware and a journal: two model calls."""

    def double(number: int) -> int:
        """Double a number."""
        return number * 2

    model = ScriptedModel([call_tool("double", number=2), "Four."])
    agent = Agent(model, [double], middleware=[Middleware()])
    walk = Walk()
    with walk.trace():
        await agent.invoke("Double two.", journal=folder / "run.jsonl")
    return walk.line("b. `agent.invoke`, one tool call, journal")


async def dispatch(folder: Path) -> str:
    """Trace a dispatch from the tool call to the end of a chat worker that completes its step."""
    worker = ScriptedModel(
        [
            call_tool("agent.task_query_steps", task_id="t"),
            call_tool("agent.task_claim_step", task_id="t", step_id="a"),
            call_tool(
                "agent.task_update_step",
                task_id="t",
                step_id="a",
                status="completed",
                result_summary="done",
            ),
            "Done.",
        ]
    )
    walk = Walk()
    workers = [agent_worker("cook", worker)]
    async with Orchestrator(folder, session="s", workers=workers) as orchestrator:
        await orchestrator.board.create_task("t", "Task", [step("a", "Do a")])
        model = ScriptedModel(
            [call_tool("agent.dispatch_worker", task_id="t", instruction="Do a."), "Done."]
        )
        agent = Agent(model, orchestrator.tools(), middleware=orchestrator.middleware())
        with walk.trace():
            await agent.invoke("Go.")
    return walk.line("c. `dispatch_worker` to a chat worker's end")


async def task_update(folder: Path) -> str:
    """Trace a TaskUpdate of the planning middleware; the agent's own frames are left out."""
    plan = PlanTasks(LocalFiles(folder), base_dir="plan")
    create = ScriptedModel([call_tool("TaskCreate", subject="One", description="It."), "ok"])
    await Agent(create, middleware=[plan]).invoke("Plan.")
    update = ScriptedModel([call_tool("TaskUpdate", taskId="1", status="in_progress"), "ok"])
    agent = Agent(update, middleware=[plan])
    walk = Walk()
    with walk.trace():
        await agent.invoke("Start.")
    return walk.line("d. `TaskUpdate` on `LocalFiles`", lambda file: not file.startswith("/agent"))


async def prompt(folder: Path) -> list[str]:
    """Trace an ACP prompt whose model changes the task list."""
    model = ScriptedModel([call_tool("TaskCreate", subject="One", description="It."), "Done."])
    options = AcpOptions(make_model=lambda _: model, index_dir=folder / "index")
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    source, sink = await asyncio.open_connection(sock=theirs)
    serving = asyncio.create_task(serve(options, JsonRpcTransport(source, sink)))

    async def ask(id_: int, method: str, **params: object) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
        writer.write(msgspec.json.encode(message) + b"\n")
        while True:
            answered = msgspec.json.decode(await reader.readline())
            if answered.get("id") == id_:
                return answered["result"]

    await ask(0, "initialize", protocolVersion=1)
    session = (await ask(1, "session/new", cwd=str(folder), mcpServers=[]))["sessionId"]
    walk = Walk()
    with walk.trace():
        block = {"type": "text", "text": "Plan it."}
        await ask(2, "session/prompt", sessionId=session, prompt=[block])
    writer.close()
    await serving
    return [
        walk.line("e. ACP prompt that changes the task list"),
        walk.line("e. the same, `acp` alone", lambda file: file.startswith("/acp/")),
    ]


async def main() -> None:
    """Print the table."""
    print("| walk | calls | functions | files | switches |\n| --- | ---: | ---: | ---: | ---: |")
    for walk in (claim, iteration, dispatch, task_update, prompt):
        with tempfile.TemporaryDirectory() as folder:
            lines = await walk(Path(folder))
        print(lines if isinstance(lines, str) else "\n".join(lines))


if __name__ == "__main__":
    asyncio.run(main())
