"""An agent as a tool of another.

The inner run happens inside the outer tool call: cancelling the outer run cancels it, its
events are told as `NestedEvent`, and when it asks a person the outer run asks. Its state is
then kept with the outer run, so a resume goes on where the inner run stopped.
"""

from collections.abc import Mapping
from contextvars import copy_context
from typing import Any, Protocol

import msgspec

from taskloom.agent.chat_model import ToolInfo
from taskloom.agent.checkpoints import pack
from taskloom.agent.context import await_in_context
from taskloom.agent.errors import RunInterrupt, ToolExecutionError
from taskloom.agent.events import Event, NestedEvent
from taskloom.agent.loop import Loop
from taskloom.agent.messages import Message, new_id
from taskloom.agent.model_texts import Language, texts
from taskloom.agent.result import Interrupt, Result
from taskloom.agent.run_context import LIVE, SCOPE, CallSite, RunContext, Sink
from taskloom.agent.run_source import RunSource
from taskloom.agent.run_state import RunState
from taskloom.agent.tools.schema_check import check_schema
from taskloom.agent.tools.tool import Tool, ToolKind


class OpenLoop(Protocol):
    """How an agent opens a run of itself."""

    async def __call__(self, origin: RunSource, sink: Sink | None, *, stream: bool) -> Loop:
        """Return the loop, ready to drive."""
        ...


class _Kept:
    """A store with one checkpoint: the inner state that the outer run kept."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    async def save(self, run_id: str, data: bytes) -> None:
        raise AssertionError(f"{run_id}: the outer run keeps the state, not this: {len(data)}")

    async def load(self, run_id: str) -> bytes | None:
        assert run_id
        return self._data

    async def delete(self, run_id: str) -> None:
        raise AssertionError(f"{run_id}: the outer run keeps the state, not this")


def agent_tool(
    open_loop: OpenLoop,
    name: str,
    description: str,
    *,
    language: Language | None,
    idempotent: bool,
) -> Tool:
    """Return the tool; `open_loop` is the inner agent."""
    task = {"type": "string", "description": texts(language).agent_tool_task}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"task": task},
        "required": ["task"],
        "additionalProperties": False,
    }

    async def run(arguments: Mapping[str, Any]) -> str:
        return await _run(open_loop, name, str(arguments["task"]))

    info = ToolInfo(name, description, schema)
    return Tool(info, ToolKind.TEXT, check_schema(schema), run, idempotent)


async def _run(open_loop: OpenLoop, name: str, task: str) -> str:
    outer, scope = LIVE.get(), SCOPE.get()

    async def forward(event: Event) -> None:
        await outer.emit(NestedEvent(name, scope.call_id, event))

    origin = _origin(outer, scope, name, task)
    loop = await open_loop(origin, forward if outer.sink else None, stream=outer.stream)
    # What the inner run's hooks set must not reach the wrappers of the outer call.
    result = await await_in_context(_drive(loop), copy_context())
    return _answer(result, loop.live.progress, scope, name)


async def _drive(loop: Loop) -> Result:
    LIVE.set(loop.live)
    return await loop.drive()


def _origin(outer: RunContext, scope: CallSite, name: str, task: str) -> RunSource:
    if scope.saved is None:
        run_id = new_id("run_")
        return RunSource(run_id, name, (Message.user(task),), None, None, None)
    inner = msgspec.convert(scope.saved, RunState)
    prefix = f"{scope.address}/"
    answers = {
        id_.removeprefix(prefix): answer
        for id_, answer in outer.progress.answers.items()
        if id_.startswith(prefix)
    }
    return RunSource(inner.run_id, name, None, None, _Kept(pack(inner)), answers)


def _answer(result: Result, inner: RunState, scope: CallSite, name: str) -> str:
    if result.stop_reason == "interrupted":
        asked = (
            Interrupt(f"{scope.address}/{one.id}", f"{scope.where} > {one.where}", one.info)
            for one in result.interrupts
        )
        raise RunInterrupt(*asked, state=msgspec.to_builtins(inner))
    if result.error is not None:
        raise ToolExecutionError(name, scope.call_id, result.error) from result.error
    if result.message is None:
        raise RuntimeError(f"the agent stopped without an answer: {result.stop_reason}")
    return result.text
