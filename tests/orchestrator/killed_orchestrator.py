"""A program for test_kill: an Orchestrator with a journal and two workers, killed on the way.

Usage: killed_orchestrator.py DIRECTORY KILL_AT. KILL_AT is never, or a kind of moment and a number:
before3 and after3 (the third sync of the board's log), model3 (the third model call), begin3 and
end3 (the third time a worker begins or is done). There the process kills itself with SIGKILL.
"""

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from taskloom.agent import Agent, Message, ScriptedModel, call_tools
from taskloom.log import JsonlLog, OsDisk
from taskloom.orchestrator import (
    AgentDefinition,
    Emit,
    Job,
    Orchestrator,
    Outcome,
    Pool,
    Worker,
)
from taskloom.runtime import open_board, session_dir

DIRECTORY, KILL_AT = Path(sys.argv[1]), sys.argv[2]
PLAN = {
    "task_id": "plan",
    "wal_name": "plan",
    "title": "The plan",
    "summary": "A diamond.",
    "steps": [
        {"step_id": "top", "title": "Top"},
        {"step_id": "left", "title": "Left", "depends_on_step_ids": ["top"]},
        {"step_id": "right", "title": "Right", "depends_on_step_ids": ["top"]},
        {"step_id": "end", "title": "End", "depends_on_step_ids": ["left", "right"]},
    ],
}
SEEN: Counter[str] = Counter()


def moment(kind: str) -> None:
    SEEN[kind] += 1
    if f"{kind}{SEEN[kind]}" == KILL_AT:
        os.kill(os.getpid(), signal.SIGKILL)


class Disk(OsDisk):
    """The real disk; it may be the last thing the process sees."""

    def sync_data(self, fd: int) -> None:
        moment("before")
        super().sync_data(fd)
        moment("after")


class Doing:
    """An executor: half of the work now, the other half a turn of the loop later."""

    claims = False
    tools: Sequence[str] = ()

    def begin(self, job: Job, emit: Emit) -> "Doing":
        made = Doing()
        made.job = job
        return made

    async def result(self) -> Outcome:
        moment("begin")
        await asyncio.sleep(0)
        assert self.job.step is not None
        moment("end")
        return Outcome(text=f"did {self.job.step.step_id} after {sorted(self.job.inputs)}")

    def stop(self) -> None: ...

    job: Job


def decide(messages: Sequence[Message]) -> Message | str:
    """Say what an Orchestrator would, knowing nothing but the conversation."""
    moment("model")
    last = messages[-1]
    if last.role == "user":
        return call_tools(("agent.task_create", PLAN))
    if last.tool_name != "agent.task_get":
        return call_tools(("agent.task_get", {"task_id": "plan"}))
    task = json.loads(last.text)["task"]
    if task["status"] == "completed":
        return "; ".join(f"{each['step_id']}: {each['result_summary']}" for each in task["steps"])
    failed = [each["step_id"] for each in task["steps"] if each["status"] == "failed"]
    ready = [each["step_id"] for each in task["steps"] if each["status"] == "ready"]
    if failed:
        again = [{"op": "reopen_step", "step_id": step_id} for step_id in failed]
        return call_tools(("agent.task_update", {"task_id": "plan", "operations": again}))
    if ready:
        order: dict[str, Any] = {"task_id": "plan", "instruction": "Do it."}
        return call_tools(*(("agent.dispatch_worker", order) for _ in ready))
    return call_tools(("agent.task_complete", {"task_id": "plan"}))


async def main() -> None:
    log = JsonlLog(session_dir(DIRECTORY, "s1"), torn_dir=DIRECTORY / "torn", disk=Disk())
    kind = AgentDefinition(id="kind", name="Kind", description="Does it.")
    workers = tuple(Worker(definition=kind, executor=Doing()) for _ in range(2))
    pools = [Pool(pool_id="default", workers=workers)]
    async with open_board(DIRECTORY, session="s1", log=log) as board:
        async with Orchestrator(board, pools) as orchestrator:
            await orchestrator.release_orphaned_steps()
            agent = Agent(ScriptedModel(decide), orchestrator.tools(), max_iterations=40)
            result = await agent.invoke("Carry it out.", journal=DIRECTORY / "run.jsonl")
    sys.stdout.write(result.text)


if __name__ == "__main__":
    asyncio.run(main())
