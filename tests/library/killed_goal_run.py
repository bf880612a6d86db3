"""A program for test_orchestrator: carries out a goal, and kills itself on the way.

Usage: killed_goal_run.py PROJECT KILL_AT. At the KILL_AT-th sync of a file the process ends with
SIGKILL; 0 is never. It prints the answer and the number of syncs.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from taskloom import StepView
from taskloom.agent import Message, ScriptedModel, call_tools
from taskloom.orchestrator import Orchestrator, function_worker

PROJECT, KILL_AT = Path(sys.argv[1]), int(sys.argv[2])
GOAL = "Make tea."
PLAN = {
    "task_id": "tea",
    "wal_name": "tea",
    "title": "Tea",
    "summary": "A pot of tea.",
    "steps": [
        {"step_id": "boil", "title": "Boil water"},
        {"step_id": "warm", "title": "Warm the pot"},
        {"step_id": "brew", "title": "Brew", "depends_on_step_ids": ["boil", "warm"]},
    ],
}
syncs = 0


def counted(sync: Callable[[int], None]) -> Callable[[int], None]:
    def count(fd: int) -> None:
        global syncs
        syncs += 1
        if syncs == KILL_AT:
            os.kill(os.getpid(), signal.SIGKILL)
        sync(fd)

    return count


def plans(messages: Sequence[Message]) -> Message | str:
    """Say what a model would, knowing nothing but the conversation."""
    last = next(each for each in reversed(messages) if "<task_board>" not in each.text)
    if last.role == "user":
        return call_tools(("agent.task_create", PLAN))
    if last.tool_name == "agent.task_complete":
        return "There is tea."
    if last.tool_name != "agent.task_get":
        return call_tools(("agent.task_get", {"task_id": "tea"}))
    steps = {each["step_id"]: each["status"] for each in json.loads(last.text)["task"]["steps"]}
    failed = [step_id for step_id, status in steps.items() if status == "failed"]
    if failed:
        again = [{"op": "reopen_step", "step_id": step_id} for step_id in failed]
        return call_tools(("agent.task_update", {"task_id": "tea", "operations": again}))
    ready = [step_id for step_id, status in steps.items() if status == "ready"]
    if ready:
        request = {"task_id": "tea", "instruction": "Do it."}
        return call_tools(*(("agent.dispatch_worker", request) for _ in ready))
    return call_tools(("agent.task_complete", {"task_id": "tea"}))


async def work(step: StepView, inputs: dict[str, str]) -> str:
    await asyncio.sleep(0)
    return f"{step.title}: done after {sorted(inputs)}"


async def main() -> None:
    workers = [function_worker("cook", work, count=2)]
    async with Orchestrator(PROJECT, workers, session="s1") as orchestrator:
        result = await orchestrator.run(GOAL, model=ScriptedModel(plans), max_iterations=60)
    sys.stdout.write(f"{result.text}\n{syncs}")


if __name__ == "__main__":
    os.fsync = counted(os.fsync)
    os.fdatasync = counted(os.fdatasync)
    asyncio.run(main())
