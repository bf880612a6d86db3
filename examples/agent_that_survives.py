"""A run with a journal: stop it with Ctrl-C or kill -9 at any time and start it again.

python examples/agent_that_survives.py run.jsonl
"""

import sys
import time

from taskloom.agent import Agent, Message, ModelRequest, call_tool


def step(number: int) -> str:
    """Do one step of the work; it takes a second."""
    sys.stdout.write(f"step {number}\n")
    time.sleep(1)
    return f"step {number} is done"


class FiveSteps:
    """A model that calls the tool five times, one after the other."""

    name = "five-steps"

    async def generate(self, request: ModelRequest) -> Message:
        """Call the tool for the next step, or return the results."""
        results = [message.text for message in request.messages if message.role == "tool"]
        if len(results) < 5:
            return call_tool("step", number=len(results) + 1)
        return Message.assistant("\n".join(results))


if __name__ == "__main__":
    journal = sys.argv[1] if len(sys.argv) > 1 else "run.jsonl"
    result = Agent(FiveSteps(), [step]).invoke_sync("Do the five steps.", journal=journal)
    sys.stdout.write(result.text + "\n")
