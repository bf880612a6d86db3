"""Tools: how a function becomes one, its JSON schema, and the check of its arguments."""

from taskloom.agent.tools.function import check_struct
from taskloom.agent.tools.schema_check import check_schema
from taskloom.agent.tools.tool import Tool, ToolKind, ToolLike, ToolObject, as_tool, tool

__all__ = [
    "Tool",
    "ToolKind",
    "ToolLike",
    "ToolObject",
    "as_tool",
    "check_schema",
    "check_struct",
    "tool",
]
