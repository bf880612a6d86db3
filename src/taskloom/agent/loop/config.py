"""The configuration of an agent, checked once and never changed by a run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from taskloom.agent.chat_model import ChatModel, ToolInfo
from taskloom.agent.errors import InvalidToolError
from taskloom.agent.language import Language
from taskloom.agent.loop.hooks import Hooks
from taskloom.agent.loop.tool_call import Endpoint, make_endpoint
from taskloom.agent.retry import Attempt, Retry
from taskloom.agent.tools.tool import Tool, ToolLike, as_tool

Failover: TypeAlias = Sequence[ChatModel] | Callable[[Attempt], ChatModel | None]
"""Models to try after the first: a list, or a function of the attempt that failed."""

OnToolError: TypeAlias = Literal["report", "raise"]


class Toolset(Struct, frozen=True):
    """The instruction and tools of one run: the agent's own, or what `before_agent` left."""

    instruction: str
    tools: dict[str, Tool]
    infos: tuple[ToolInfo, ...]
    endpoints: dict[str, Endpoint]
    return_directly: frozenset[str]


class AgentConfig(Struct, frozen=True, kw_only=True):
    """Everything an `Agent` was given."""

    name: str
    model: ChatModel
    toolset: Toolset
    hooks: Hooks
    max_iterations: int
    parallel_tools: bool
    on_tool_error: OnToolError
    retry: Retry | None
    failover: Failover
    language: Language | None
    settings: Mapping[str, Any]


def make_toolset(
    instruction: str, tools: Iterable[ToolLike], return_directly: Iterable[str], hooks: Hooks
) -> Toolset:
    """Return the tools by name, each with its wrappers.

    Raises:
        InvalidToolError: something in the list is not a tool, or two tools have the same name.
    """
    named: dict[str, Tool] = {}
    for tool in map(as_tool, tools):
        if tool.name in named:
            raise InvalidToolError(f"Two tools are called `{tool.name}`; rename one of them.")
        named[tool.name] = tool
    infos = tuple(tool.info for tool in named.values())
    endpoints = {
        name: make_endpoint(tool, hooks.wrap_tool[tool.kind]) for name, tool in named.items()
    }
    return Toolset(instruction, named, infos, endpoints, frozenset(return_directly))
