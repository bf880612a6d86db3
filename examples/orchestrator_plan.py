"""An Orchestrator plans, two workers carry it out, and one of them fails first; no network needed.

Give it the name of a real model to use one: python examples/orchestrator_plan.py openai:gpt-…
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from taskloom.agent import Message, ScriptedModel, call_tools
from taskloom.orchestrator import Orchestrator, agent_worker

GOAL = "Write a haiku about plans, and have it checked."


def last_said(messages: Sequence[Message]) -> Message:
    """Return the last message but the board, which stands behind everything else."""
    return next(each for each in reversed(messages) if "<task_board>" not in each.text)


def orchestrator_model(messages: Sequence[Message]) -> Message | str:
    """Say what a model would: create the plan, dispatch what is ready, end it."""
    last = last_said(messages)
    if not last.tool_name:
        steps = [
            {"step_id": "write", "title": "Write the haiku"},
            {"step_id": "check", "title": "Count syllables", "depends_on_step_ids": ["write"]},
        ]
        plan = {"task_id": "haiku", "wal_name": "haiku", "title": "A haiku", "summary": GOAL}
        return call_tools(("agent.task_create", {**plan, "steps": steps}))
    if last.tool_name == "agent.task_complete":
        return "The haiku is written and checked."
    if '"failed"' in last.text and last.tool_name == "agent.dispatch_worker":
        again = [{"op": "reopen_step", "step_id": json.loads(last.text)["claimed_step_id"]}]
        return call_tools(("agent.task_update", {"task_id": "haiku", "operations": again}))
    if '"claimed_step_id":"check"' in last.text:
        done = {"task_id": "haiku", "result_summary": "17 syllables"}
        return call_tools(("agent.task_complete", done))
    order = {"task_id": "haiku", "instruction": "Do your step."}
    return call_tools(("agent.dispatch_worker", order))


FAILED_ONCE: list[str] = []


def worker_model(messages: Sequence[Message]) -> Message | str:
    """Claim the step that is ready; fail the first time, complete it afterwards."""
    last = last_said(messages)
    if last.tool_name == "agent.task_query_steps":
        step_id = json.loads(last.text)["steps"][0]["step_id"]
        return call_tools(("agent.task_claim_step", {"task_id": "haiku", "step_id": step_id}))
    if last.tool_name == "agent.task_claim_step":
        step_id = json.loads(last.text)["step"]["step_id"]
        report = {"task_id": "haiku", "step_id": step_id, "status": "completed"}
        if not FAILED_ONCE:
            FAILED_ONCE.append(step_id)
            report = {**report, "status": "failed", "reason": "six syllables"}
        return call_tools(("agent.task_update_step", report))
    if last.tool_name == "agent.task_update_step":
        return "That is all."
    ready = {"task_id": "haiku", "statuses": ["ready"]}
    return call_tools(("agent.task_query_steps", ready))


async def main(project: Path, model: str | None) -> None:
    """Carry out the goal, and print what happened."""
    workers = [agent_worker("poet", model or ScriptedModel(worker_model), count=2)]
    async with Orchestrator(project, workers, session="s1") as orchestrator:
        events = orchestrator.events()
        result = await orchestrator.run(GOAL, model=model or ScriptedModel(orchestrator_model))
        for each in events.take():
            sys.stdout.write(f"{each.event_type} {each.step_id or ''} {each.agent_id or ''}\n")
    sys.stdout.write(f"{result.text}\n")


if __name__ == "__main__":
    with TemporaryDirectory() as directory:
        anyio.run(main, Path(directory), sys.argv[1] if len(sys.argv) > 1 else None)
