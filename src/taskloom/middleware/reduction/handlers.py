"""What a handler of one's own gets and gives: the names are those of the source."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from msgspec import Struct

from taskloom.agent import Part, State

ToolContent: TypeAlias = str | tuple[Part, ...]
"""A tool's result: text, or parts."""


class ToolDetail(Struct, frozen=True):
    """One tool call and what came out of it; `tool_argument` is JSON text."""

    tool_name: str
    call_id: str
    tool_argument: str
    tool_result: ToolContent


class TruncResult(Struct, frozen=True, kw_only=True):
    """What becomes of a result on its way to the model.

    With `need_trunc` the model gets `tool_result` instead. With `need_offload`, `offload_content`
    is saved to `offload_file_path` first; if that fails, the result stays whole.
    """

    need_trunc: bool = False
    tool_result: ToolContent | None = None
    need_offload: bool = False
    offload_file_path: str = ""
    offload_content: str = ""


class ClearResult(Struct, frozen=True, kw_only=True):
    """What becomes of an old call and its result; what is None stays as it is.

    `tool_argument` is the JSON text of an object. With `need_offload`, `offload_content` is saved
    to `offload_file_path` first; if that fails, everything stays whole.
    """

    need_clear: bool = False
    tool_argument: str | None = None
    tool_result: ToolContent | None = None
    need_offload: bool = False
    offload_file_path: str = ""
    offload_content: str = ""


TruncHandler: TypeAlias = Callable[[ToolDetail], TruncResult | Awaitable[TruncResult]]
ClearHandler: TypeAlias = Callable[[ToolDetail], ClearResult | Awaitable[ClearResult]]
PathOf: TypeAlias = Callable[[ToolDetail], str]
PostProcess: TypeAlias = Callable[[State], State | Awaitable[State | None] | None]


class ReductionWarning(Struct, frozen=True):
    """A result stayed whole because it could not be saved; sent as a `CustomEvent`."""

    phase: str
    tool_name: str
    call_id: str
    path: str
    reason: str
