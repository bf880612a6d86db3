"""What an agent was told to be, looked up and checked once, and never changed by a run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from taskloom.agent.chat_model import ChatModel, ToolInfo
from taskloom.agent.failures import ToolRefused
from taskloom.agent.hooks import Hooks
from taskloom.agent.retry import Attempt, Retry
from taskloom.agent.texts import Language
from taskloom.agent.tool import Tool, ToolLike, as_tool

Failover: TypeAlias = Sequence[ChatModel] | Callable[[Attempt], ChatModel | None]
"""Models to try after the first: a list, or a function that is told what failed."""

OnToolError: TypeAlias = Literal["report", "raise"]


class Kit(Struct, frozen=True):
    """What one run works with: the agent's own, or what `before_agent` made of it."""

    instruction: str
    tools: dict[str, Tool]
    infos: tuple[ToolInfo, ...]
    return_directly: frozenset[str]


class Plan(Struct, frozen=True, kw_only=True):
    """The agent's configuration."""

    name: str
    model: ChatModel
    kit: Kit
    hooks: Hooks
    max_iterations: int
    parallel_tools: bool
    on_tool_error: OnToolError
    retry: Retry | None
    failover: Failover
    language: Language | None
    settings: Mapping[str, Any]


def make_kit(instruction: str, tools: Iterable[ToolLike], return_directly: Iterable[str]) -> Kit:
    """Check the tools and name them.

    Raises:
        ToolRefused: one is no tool, or two have the same name.
    """
    named: dict[str, Tool] = {}
    for tool in map(as_tool, tools):
        if tool.name in named:
            raise ToolRefused(f"Two tools are called `{tool.name}`; give one another name.")
        named[tool.name] = tool
    infos = tuple(tool.info for tool in named.values())
    return Kit(instruction, named, infos, frozenset(return_directly))
