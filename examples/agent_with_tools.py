"""An agent with a tool, with its events printed as they come; runs without a network.

Pass the name of a real model to use it: python examples/agent_with_tools.py openai:gpt-…
"""

import sys

import anyio

from taskloom.agent import (
    Agent,
    ModelDelta,
    RunEnded,
    ScriptedModel,
    ToolResult,
    call_tool,
)


async def word_count(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


async def main() -> None:
    """Run the agent and print its events."""
    script = [call_tool("word_count", text="a plan that survives"), "That is four words."]
    model = sys.argv[1] if len(sys.argv) > 1 else ScriptedModel(script)
    agent = Agent(model, [word_count], instruction="Use the tool; answer in one sentence.")
    async for event in agent.run("How many words has 'a plan that survives'?"):
        match event:
            case ModelDelta():
                sys.stdout.write(event.delta.text)
            case ToolResult():
                sys.stdout.write(f"[{event.message.tool_name}: {event.message.text}]\n")
            case RunEnded():
                sys.stdout.write(f"\n({event.result.stop_reason})\n")
            case _:
                pass


if __name__ == "__main__":
    anyio.run(main)
