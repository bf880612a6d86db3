"""Options with workers: an orchestrator and workers that each follow a script."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from taskloom.acp import AcpOptions, MakeTools
from taskloom.agent import Message, ScriptedModel, call_tool
from taskloom.agent.scripted import Reply
from taskloom.orchestrator import AgentDefinition, AgentExecutor, Pool, Worker

DEFINITION = AgentDefinition(id="maker", name="Maker", description="Makes things.")


def worker(messages: Sequence[Message]) -> Reply:
    """Claim the first step, write a file, and report."""
    done = sum(message.role == "tool" for message in messages)
    step = "one" if "step one" in messages[0].text else "two"
    turns: list[Reply] = [
        call_tool("agent.task_query_steps", task_id="release"),
        call_tool("agent.task_claim_step", task_id="release", step_id=step),
        call_tool("write_file", path=f"{step}.txt", content=step),
        call_tool(
            "agent.task_update_step",
            task_id="release",
            step_id=step,
            status="completed",
            result_summary=f"wrote {step}",
        ),
        "done",
    ]
    return turns[done] if done < len(turns) else "done"


def orchestrator(*, background: bool = False) -> Any:
    """Create a Task of two steps, dispatch a worker to each, and complete it.

    In the background only one is dispatched, and the orchestrator stops without waiting for it.
    """
    steps = [
        {"step_id": "one", "title": "Make one"},
        {"step_id": "two", "title": "Make two", "depends_on_step_ids": ["one"]},
    ]
    plan: list[Reply] = [
        call_tool(
            "agent.task_create",
            task_id="release",
            wal_name="release",
            title="Release",
            summary="",
            steps=steps,
        ),
        call_tool("agent.dispatch_worker", task_id="release", instruction="Do step one."),
        call_tool("agent.dispatch_worker", task_id="release", instruction="Do step two."),
        call_tool("agent.task_complete", task_id="release", result_summary="all made"),
        "Everything is made.",
    ]

    if background:
        one = {"task_id": "release", "instruction": "Do step one.", "background": True}
        plan[1:] = [call_tool("agent.dispatch_worker", **one), "Somebody is at it."]

    def follow(messages: Sequence[Message]) -> Reply:
        done = sum(message.role == "tool" for message in messages)
        return plan[done] if done < len(plan) else "Everything is made."

    return follow


def worker_options(folder: Path, script: Any = None, work: Any = worker, **more: Any) -> AcpOptions:
    """Options with two workers."""
    model = ScriptedModel(script or orchestrator())

    def make_pools(_: object, make_tools: MakeTools, __: object) -> list[Pool]:
        executor = AgentExecutor(ScriptedModel(work), make_tools)
        workers = tuple(
            Worker(definition=DEFINITION, executor=executor, worker_id=f"maker_{n}")
            for n in range(2)
        )
        return [Pool(pool_id="default", workers=workers)]

    return AcpOptions(
        make_model=lambda _: model, make_pools=make_pools, index_dir=folder / "index", **more
    )
