"""An agent as a tool of another.

The inner run happens inside the outer tool call: cancelling the outer run cancels it, its events
arrive as `NestedEvent`, and when it interrupts, the outer run does. The outer run keeps the state
of the inner one, so a resume continues where the inner run stopped.
"""

from collections.abc import Mapping
from contextvars import copy_context
from typing import Any

import msgspec

from taskloom.agent.chat_model import ToolInfo
from taskloom.agent.errors import RunInterrupt, ToolExecutionError
from taskloom.agent.events import Event, NestedEvent
from taskloom.agent.loop.config import AgentConfig
from taskloom.agent.loop.loop import Loop
from taskloom.agent.loop.run_context import (
    CALL_SITE,
    CURRENT_RUN,
    CallSite,
    RunContext,
    await_in_context,
)
from taskloom.agent.loop.run_source import RunSource
from taskloom.agent.loop.run_state import RunState
from taskloom.agent.messages import Message, new_id
from taskloom.agent.model_texts import texts
from taskloom.agent.result import Interrupt, Result
from taskloom.agent.tools.schema_check import check_schema
from taskloom.agent.tools.tool import Tool, ToolKind


def agent_tool(config: AgentConfig, name: str, description: str, *, idempotent: bool) -> Tool:
    """Return the tool that runs the agent with this configuration."""
    task = {"type": "string", "description": texts(config.language).agent_tool_task}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"task": task},
        "required": ["task"],
        "additionalProperties": False,
    }

    async def run(arguments: Mapping[str, Any]) -> str:
        return await _run(config, name, str(arguments["task"]))

    info = ToolInfo(name, description, schema)
    return Tool(info, ToolKind.TEXT, check_schema(schema), run, idempotent)


async def _run(config: AgentConfig, name: str, task: str) -> str:
    outer, site = CURRENT_RUN.get(), CALL_SITE.get()

    async def forward(event: Event) -> None:
        await outer.emit(NestedEvent(name, site.call_id, event))

    source = _source(outer, site, name, task)
    loop = await Loop.open(config, source, forward if outer.sink else None, stream=outer.stream)
    # In a context of its own: what the inner run's hooks set must not reach the outer wrappers.
    result = await await_in_context(loop.run(), copy_context())
    return _answer(result, loop.context.state, site, name)


def _source(outer: RunContext, site: CallSite, name: str, task: str) -> RunSource:
    if site.saved is None:
        return RunSource(new_id("run_"), name, (Message.user(task),))
    inner = msgspec.convert(site.saved, RunState)
    prefix = f"{site.address}/"
    answers = {
        id_.removeprefix(prefix): answer
        for id_, answer in outer.state.answers.items()
        if id_.startswith(prefix)
    }
    return RunSource(inner.run_id, name, saved=inner, answers=answers)


def _answer(result: Result, inner: RunState, site: CallSite, name: str) -> str:
    if result.stop_reason == "interrupted":
        asked = (
            Interrupt(f"{site.address}/{one.id}", f"{site.where} > {one.where}", one.info)
            for one in result.interrupts
        )
        raise RunInterrupt(*asked, state=msgspec.to_builtins(inner))
    if result.error is not None:
        raise ToolExecutionError(name, site.call_id, result.error) from result.error
    if result.message is None:
        raise RuntimeError(f"the agent stopped without an answer: {result.stop_reason}")
    return result.text
