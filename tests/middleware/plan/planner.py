"""A program for test_processes: works on the plan in a directory, as one of several processes.

Usage: planner.py create ROOT NAME TIMES   adds tasks and prints their ids
       planner.py own ROOT NAME TIMES      adds a key of its own to the metadata of every task
       planner.py churn ROOT SEED          changes edges, statuses and tasks until it is killed
"""

import random
import sys
from typing import Any

import anyio

from taskloom.agent import Agent, Message, ModelRequest, call_tool
from taskloom.files import LocalFiles
from taskloom.middleware import PlanTasks

KIND, ROOT, NAME, *MORE = sys.argv[1:]
PLAN = PlanTasks(LocalFiles(ROOT), "s1", enforce_order=False, reminder_turns=None)


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


class Model:
    """Makes the next call as long as there is one; says what came of each."""

    name = "planner"

    def __init__(self) -> None:
        self.made = 0
        self.chance = random.Random(NAME)

    async def generate(self, request: ModelRequest) -> Message:
        if self.made:
            answer = request.messages[-1]
            say(f"{'refused' if answer.is_error else 'done'} {answer.text.split(':')[0]}")
        if MORE and self.made >= int(MORE[0]):
            return Message.assistant("finished")
        self.made += 1
        name, arguments = self.next_call()
        return call_tool(name, **arguments)

    def next_call(self) -> tuple[str, dict[str, Any]]:
        if KIND == "create":
            return "TaskCreate", {"subject": NAME, "description": "d"}
        if KIND == "own":
            return "TaskUpdate", {"taskId": "1", "metadata": {f"{NAME}-{self.made}": True}}
        return self.churn()

    def churn(self) -> tuple[str, dict[str, Any]]:
        some = [str(number) for number in self.chance.sample(range(1, 13), 4)]
        match self.chance.randrange(6):
            case 0:
                return "TaskCreate", {"subject": NAME, "description": "d"}
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
