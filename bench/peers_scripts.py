"""What each peer runs in an environment of its own: the same loop, with a model that is instant.

Each script defines `async def run(turns, look)`, which lets the peer's agent make so many calls of
the tool `look`; the opening and the end are shared. They are text and not modules because the
peers are not dependencies of this project and are never imported here.
"""

from typing import Final

OPENING: Final = """
import asyncio, json, os, sys, time, warnings, logging
warnings.simplefilter("ignore"); logging.disable(logging.CRITICAL)
os.environ.setdefault("OPENAI_API_KEY", "none")
RESULT = "x" * 200
STAMPS = []
def stamp():
    STAMPS.append(time.process_time())
    return RESULT
"""

ENDING: Final = """
async def main():
    figures = {}
    await run(3)
    for turns in (10, 200):
        best, growth = float("inf"), float("inf")
        for _ in range(5 if turns == 10 else 3):
            STAMPS.clear()
            start = time.process_time()
            await run(turns)
            best = min(best, (time.process_time() - start) / turns * 1e6)
            assert len(STAMPS) == turns, len(STAMPS)
            steps = [b - a for a, b in zip(STAMPS, STAMPS[1:])]
            if turns == 200:
                first, last = sorted(steps[5:25])[10], sorted(steps[-20:])[10]
                growth = min(growth, last / first)
        figures[str(turns)] = best
    figures["growth"] = growth
    print("FIGURES " + json.dumps(figures))
asyncio.run(main())
"""

LANGCHAIN: Final = """
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
@tool
async def look(q: str) -> str:
    "Look something up."
    return stamp()
class Model(BaseChatModel):
    turns: int
    @property
    def _llm_type(self): return "instant"
    def bind_tools(self, tools, **options): return self
    def _reply(self, messages):
        turn = sum(m.type == "ai" for m in messages)
        call = {"name": "look", "args": {"q": "a"}, "id": f"c{turn}"}
        calls = [call] if turn < self.turns else []
        return ChatResult(generations=[ChatGeneration(message=AIMessage("", tool_calls=calls))])
    def _generate(self, messages, stop=None, run_manager=None, **more): return self._reply(messages)
    async def _agenerate(self, messages, stop=None, run_manager=None, **more):
        return self._reply(messages)
async def run(turns):
    agent = create_agent(Model(turns=turns), [look])
    start = {"messages": [("user", "go")]}
    await agent.ainvoke(start, {"recursion_limit": turns * 3 + 10})
"""

PYDANTIC_AI: Final = """
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage, UsageLimits
async def run(turns):
    async def reply(messages, info):
        turn = sum(m.kind == "response" for m in messages)
        part = ToolCallPart("look", '{"q":"a"}', f"c{turn}") if turn < turns else TextPart("done")
        return ModelResponse(parts=[part], usage=RequestUsage(input_tokens=1, output_tokens=1))
    agent = Agent(FunctionModel(reply))
    @agent.tool_plain
    async def look(q: str) -> str:
        "Look something up."
        return stamp()
    await agent.run("go", usage_limits=UsageLimits(request_limit=None))
"""

OPENAI_AGENTS: Final = """
from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
from openai.types.responses import (ResponseFunctionToolCall, ResponseOutputMessage,
    ResponseOutputText)
set_tracing_disabled(True)
@function_tool
async def look(q: str) -> str:
    "Look something up."
    return stamp()
class Instant(Model):
    def __init__(self, turns): self.turns, self.turn = turns, 0
    async def get_response(self, *args, **more):
        self.turn += 1
        if self.turn <= self.turns:
            item = ResponseFunctionToolCall(arguments='{"q":"a"}', call_id=f"c{self.turn}",
                name="look", type="function_call", id=f"f{self.turn}")
        else:
            text = ResponseOutputText(text="done", type="output_text", annotations=[], logprobs=[])
            item = ResponseOutputMessage(id="m", content=[text], role="assistant",
                status="completed", type="message")
        return ModelResponse(output=[item], usage=Usage(), response_id=None)
    def stream_response(self, *args, **more): raise NotImplementedError
async def run(turns):
    agent = Agent(name="a", model=Instant(turns), tools=[look])
    await Runner.run(agent, "go", max_turns=turns + 5)
"""

AGNO: Final = """
from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse
class Instant(Model):
    def __init__(self, turns):
        super().__init__(id="instant", name="instant", provider="none")
        self.turns, self.turn = turns, 0
    def _next(self):
        self.turn += 1
        if self.turn > self.turns:
            return ModelResponse(role="assistant", content="done")
        function = {"name": "look", "arguments": '{"q":"a"}'}
        call = {"id": f"c{self.turn}", "type": "function", "function": function}
        return ModelResponse(role="assistant", content="", tool_calls=[call])
    def invoke(self, *args, **more): return self._next()
    async def ainvoke(self, *args, **more): return self._next()
    def invoke_stream(self, *args, **more): yield self._next()
    async def ainvoke_stream(self, *args, **more): yield self._next()
    def _parse_provider_response(self, response, **more): return response
    def _parse_provider_response_delta(self, response): return response
async def look(q: str) -> str:
    "Look something up."
    return stamp()
async def run(turns):
    await Agent(model=Instant(turns), tools=[look], telemetry=False).arun("go")
"""

OURS: Final = """
from taskloom.agent import Agent, Message, ToolCall
class Model:
    name = "instant"
    def __init__(self, turns): self.turns = turns
    async def generate(self, request):
        turn = len(request.messages) // 2
        if turn < self.turns:
            return Message.assistant("", ToolCall(f"c{turn}", "look", '{"q":"a"}'))
        return Message.assistant("done")
async def look(q: str) -> str:
    "Look something up."
    return stamp()
async def run(turns):
    await Agent(Model(turns), [look], max_iterations=turns + 1).invoke("go")
"""

PEERS: Final = {
    "langchain": ("langchain", LANGCHAIN),
    "pydantic-ai": ("pydantic-ai-slim", PYDANTIC_AI),
    "openai-agents": ("openai-agents", OPENAI_AGENTS),
    "agno": ("agno", AGNO),
}
"""For each peer, what pip installs and what is run."""
