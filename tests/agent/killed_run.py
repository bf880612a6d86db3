"""A program for test_kill: six tool calls with a journal, killed from inside one of them.

Usage: killed_run.py DIRECTORY KILL_AT PACE KIND. KILL_AT is never, callN (tool call N, after its
effect) or modelN (while the model thinks about reply N); there the process kills itself with
SIGKILL. PACE is instant or slow, KIND plain or idempotent. Effects and model calls are appended
to files at once, so that they outlive the process.
"""

import os
import signal
import sys
from pathlib import Path

import anyio

from taskloom.agent import Agent, Message, ModelRequest, call_tool, tool

DIRECTORY = Path(sys.argv[1])
KILL_AT, PACE, KIND = sys.argv[2:5]


def write(name: str, line: str) -> None:
    with (DIRECTORY / name).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def die_at(place: str) -> None:
    if place == KILL_AT:
        os.kill(os.getpid(), signal.SIGKILL)


@tool(idempotent=KIND == "idempotent")
async def act(number: int) -> str:
    """Have an effect."""
    write("effects", str(number))
    die_at(f"call{number}")
    if PACE == "slow":
        await anyio.sleep(0.02)
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
