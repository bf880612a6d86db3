"""An agent whose plan survives its process; needs no network.

Run it twice in one directory: the second run resumes the plan of the first.
"""

import sys

import anyio

from taskloom.agent import Agent, CustomEvent, ScriptedModel, call_tool
from taskloom.files import LocalFiles
from taskloom.middleware import PlanChanged, PlanTasks

MARKS = {"pending": " ", "in_progress": ">", "completed": "x"}


async def main() -> None:
    """Create the plan in the first run; resume it in the second."""
    plan = PlanTasks(LocalFiles(".plans"), "example")
    if await plan.tasks():
        script = [
            call_tool("TaskUpdate", taskId="1", status="completed"),
            call_tool("TaskUpdate", taskId="2", status="in_progress"),
            "Continuing with task 2.",
        ]
    else:
        script = [
            call_tool("TaskCreate", subject="Read the code", description="All of it."),
            call_tool(
                "TaskCreate",
                subject="Write the fix",
                description="And a test.",
                activeForm="Writing the fix",
            ),
            call_tool("TaskUpdate", taskId="2", addBlockedBy=["1"]),
            call_tool("TaskUpdate", taskId="1", status="in_progress"),
            "Planned.",
        ]
    async for event in Agent(ScriptedModel(script), middleware=[plan]).run("Continue."):
        if isinstance(event, CustomEvent) and isinstance(event.data, PlanChanged):
            lines = [f"[{MARKS.get(task.status, '?')}] {task.subject}" for task in event.data.tasks]
            sys.stdout.write("\n".join(lines) + "\n\n")


if __name__ == "__main__":
    anyio.run(main)
