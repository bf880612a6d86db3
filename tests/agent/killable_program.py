"""A program for test_killed_process: six tool calls with a journal, killed inside one of them.

Usage: killable_program.py DIRECTORY KILL_AT PACE KIND. The process kills itself with SIGKILL at
KILL_AT, which is never, callN (in tool call N, after its effect) or modelN (before reply N). PACE
is at_once or after_a_yield: whether a tool yields to the event loop before it returns. KIND is
plain or idempotent. Effects and model calls are appended to files at once, which outlive it.
"""

import os
import signal
import sys
from pathlib import Path

import anyio.lowlevel

from taskloom.agent import Agent, Message, ModelRequest, call_tool, tool

DIRECTORY = Path(sys.argv[1])
KILL_AT, PACE, KIND = sys.argv[2:5]


def write(name: str, line: str) -> None:
    with (DIRECTORY / name).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def die_at(point: str) -> None:
    if point == KILL_AT:
        os.kill(os.getpid(), signal.SIGKILL)


@tool(idempotent=KIND == "idempotent")
async def act(number: int) -> str:
    """Have an effect."""
    write("effects", str(number))
    die_at(f"call{number}")
    if PACE == "after_a_yield":
        await anyio.lowlevel.checkpoint()
    return f"did {number}"


class Model:
    """Asks for calls 0 to 5, one at a time, then tells what it read."""

    name = "model"

    async def generate(self, request: ModelRequest) -> Message:
        number = sum(message.role == "assistant" for message in request.messages)
        die_at(f"model{number}")
        write("asked", str(number))
        if number < 6:
            return call_tool("act", number=number)
        return Message.assistant(
            "|".join(message.text for message in request.messages if message.role == "tool")
        )


if __name__ == "__main__":
    agent = Agent(Model(), [act])
    sys.stdout.write(agent.invoke_sync("go", journal=DIRECTORY / "run.jsonl").text)
