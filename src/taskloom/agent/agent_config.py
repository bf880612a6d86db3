"""What an agent was told to be, looked up and checked once, and never changed by a run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from taskloom.agent.chat_model import ChatModel, ToolInfo
from taskloom.agent.errors import InvalidToolError
from taskloom.agent.middleware_chain import Hooks
from taskloom.agent.model_texts import Language
from taskloom.agent.retry import Attempt, Retry
from taskloom.agent.tools.tool import Tool, ToolLike, as_tool

Failover: TypeAlias = Sequence[ChatModel] | Callable[[Attempt], ChatModel | None]
"""Models to try after the first: a list, or a function that is told what failed."""

OnToolError: TypeAlias = Literal["report", "raise"]


class Toolset(Struct, frozen=True):
    """What one run works with: the agent's own, or what `before_agent` made of it."""

    instruction: str
    tools: dict[str, Tool]
    infos: tuple[ToolInfo, ...]
    return_directly: frozenset[str]


class AgentConfig(Struct, frozen=True, kw_only=True):
    """The agent's configuration."""

    name: str
    model: ChatModel
    kit: Toolset
    hooks: Hooks
    max_iterations: int
    parallel_tools: bool
    on_tool_error: OnToolError
    retry: Retry | None
    failover: Failover
    language: Language | None
    settings: Mapping[str, Any]


def make_toolset(
    instruction: str, tools: Iterable[ToolLike], return_directly: Iterable[str]
) -> Toolset:
    """Check the tools and name them.

    Raises:
        InvalidToolError: one is no tool, or two have the same name.
    """
    named: dict[str, Tool] = {}
    for tool in map(as_tool, tools):
        if tool.name in named:
            raise InvalidToolError(f"Two tools are called `{tool.name}`; give one another name.")
        named[tool.name] = tool
    infos = tuple(tool.info for tool in named.values())
    return Toolset(instruction, named, infos, frozenset(return_directly))
