"""A program for test_killed_runs: a run with a journal and a reduction that kills itself.

Usage: killed_run.py DIRECTORY KILL_AT [NAME]. At model call KILL_AT the process kills itself with
SIGKILL, if it gets there. Runs of other names share the storage. At the end it prints the messages
of the run as JSON.
"""

import os
import signal
import sys
from pathlib import Path

import msgspec

from taskloom.agent import Agent, Message, ModelRequest, ToolCall, tool
from taskloom.files import LocalFiles
from taskloom.middleware.reduction import ToolReduction

DIRECTORY, KILL_AT = Path(sys.argv[1]), int(sys.argv[2])
NAME = sys.argv[3] if len(sys.argv) > 3 else "result"


class Model:
    """Asks for ten looks, always with the same few call ids, then ends."""

    name = "model"

    async def generate(self, request: ModelRequest) -> Message:
        number = sum(message.role == "assistant" for message in request.messages)
        if number == KILL_AT:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == 10:
            return Message.assistant("done")
        return Message.assistant("", ToolCall(f"call_{number % 3}", "look", f'{{"n":{number}}}'))


@tool(idempotent=True)
async def look(n: int) -> str:
    """Look."""
    return f"{NAME} {n}\n" * (50 + n * 40)


if __name__ == "__main__":
    reduction = ToolReduction(
        LocalFiles(DIRECTORY), max_length_for_trunc=3_000, max_tokens_for_clear=1_200
    )
    agent = Agent(Model(), [look], [reduction])
    result = agent.invoke_sync("go", journal=DIRECTORY / f"{NAME}.jsonl")
    sys.stdout.buffer.write(msgspec.json.encode(result.messages))
