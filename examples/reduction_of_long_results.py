"""A tool with a very long result, of which the model reads one line; needs no network."""

import re
import sys
from collections.abc import Sequence

import anyio

from taskloom.agent import Agent, Message, ScriptedModel, call_tool
from taskloom.files import MemoryFiles
from taskloom.middleware import ToolReduction


async def build_log() -> str:
    """Return the log of the last build."""
    lines = [f"{n:05} compiled module_{n}" for n in range(20_000)]
    lines[12_344] = "12344 error: module_12344 does not compile"
    return "\n".join(lines)


def think(messages: Sequence[Message]) -> Message | str:
    """Play the model: request the log, then the line with the error."""
    last = messages[-1]
    if last.role == "user":
        return call_tool("build_log")
    saved = re.search(r"saved to: (\S+)", last.text)
    if saved:
        return call_tool("read_file", path=saved[1], offset=12_345, limit=1)
    return f"It is this: {last.text.splitlines()[0]}"


async def main() -> None:
    """Run the agent, and print how much the model had to read."""
    model = ScriptedModel(think)
    agent = Agent(model, [build_log], [ToolReduction(MemoryFiles())])
    result = await agent.invoke("Why did the build fail?")
    read = sum(len(message.text) for message in model.requests[-1].messages)
    sys.stdout.write(f"{result.text}\n({len(await build_log())} characters of log, {read} sent)\n")


if __name__ == "__main__":
    anyio.run(main)
