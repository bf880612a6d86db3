"""A program for test_concurrency: one of several processes that change one plan.

Usage: plan_process.py create ROOT NAME TIMES   adds tasks and prints their ids
       plan_process.py own ROOT NAME TIMES      adds a key of its own to the metadata of every task
       plan_process.py churn ROOT SEED          changes edges, statuses and tasks until killed
"""

import random
import sys
from typing import Any

import anyio

from taskloom.agent import Agent, Message, ModelRequest, call_tool
from taskloom.files import LocalFiles
from taskloom.middleware import PlanTasks

KIND, ROOT, NAME, *MORE = sys.argv[1:]
PLAN = PlanTasks(
    LocalFiles(ROOT), "s1", enforce_order=False, keep_completed=True, reminder_turns=None
)


def print_line(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Model:
    """Makes the next call as long as there is one; prints each result."""

    name = "planner"

    def __init__(self) -> None:
        self.made = 0
        self.chance = random.Random(NAME)

    async def generate(self, request: ModelRequest) -> Message:
        if self.made:
            answer = request.messages[-1]
            print_line(f"{'refused' if answer.is_error else 'done'} {answer.text.split(':')[0]}")
        if MORE and self.made >= int(MORE[0]):
            return Message.assistant("finished")
        self.made += 1
        name, arguments = await self.next_call()
        return call_tool(name, **arguments)

    async def next_call(self) -> tuple[str, dict[str, Any]]:
        if KIND == "create":
            return "TaskCreate", {"subject": NAME, "description": "d"}
        if KIND == "own":
            return "TaskUpdate", {"taskId": "1", "metadata": {f"{NAME}-{self.made}": True}}
        return self.churn([item.id for item in await PLAN.tasks()])

    def churn(self, ids: list[str]) -> tuple[str, dict[str, Any]]:
        what = self.chance.randrange(6)
        if what == 0 or len(ids) < 6:
            return "TaskCreate", {"subject": NAME, "description": "d"}
        some = self.chance.sample(ids, 4)
        match what:
            case 1:
                return "TaskUpdate", {"taskId": some[0], "status": "deleted"}
            case 2:
                return "TaskUpdate", {"taskId": some[0], "removeBlocks": some[1:]}
            case 3:
                status = self.chance.choice(["completed", "pending", "in_progress"])
                return "TaskUpdate", {"taskId": some[0], "status": status}
            case _:
                given = {"addBlocks": some[1:3], "addBlockedBy": some[3:]}
                return "TaskUpdate", {"taskId": some[0], **given}


if __name__ == "__main__":
    agent = Agent(Model(), middleware=[PLAN], max_iterations=1_000_000)
    anyio.run(agent.invoke, "go")
