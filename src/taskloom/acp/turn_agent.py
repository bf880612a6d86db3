"""The agent of one turn: its tools, middleware and instruction, by session and mode."""

from pathlib import Path
from typing import Final

from taskloom.acp.modes import Mode
from taskloom.acp.permissions import workspace_permit
from taskloom.acp.protocol.client import commands_of, files_of
from taskloom.acp.protocol.tool_calls import ToolCallTracker
from taskloom.acp.session import OpenSession
from taskloom.agent import Agent, ChatModel, Middleware, Tool
from taskloom.agent.workspace import Workspace, resolve_path
from taskloom.session import tool_reduction

NAME: Final = "taskloom"
LEFT_OUT: Final = (
    "The beginning of this conversation is left out here: it no longer fits. Look again at files "
    "you need, or ask."
)


async def build_agent(session: OpenSession, mode: Mode, model: ChatModel) -> Agent:
    """Return the agent of a turn in a mode.

    Raises:
        ConfigError: the mode needs workers, and they cannot be used as they are configured.
    """
    options = session.options
    tools = _workspace_tools(session, NAME, session.tool_calls, writes=mode.writes)
    middleware = _middleware(session)
    instruction = options.instruction
    if mode.plans:
        middleware.append(session.task_list.middleware)
        tools += session.published_plans.tools(
            lambda path: resolve_path(session.cwd, path, session.roots[1:])
        )
    tools += await _mcp_tools(session, mode)
    if mode.orchestrates:
        orchestrator = await session.workers.orchestrator(
            lambda worker: _workspace_tools(
                session, worker, session.workers.tool_calls(worker), writes=True
            )
        )
        tools += orchestrator.tools()
        middleware += orchestrator.middleware()
        instruction = options.orchestrator_instruction or instruction
    parts = [instruction, mode.instruction, f"The project is in {session.cwd}."]
    if session.has_left_out:
        parts.append(LEFT_OUT)
    return Agent(
        model,
        tools,
        middleware,
        "\n\n".join(part for part in parts if part),
        name=NAME,
        max_iterations=options.max_iterations,
        retry=options.retry,
        language=options.language,
    )


def _middleware(session: OpenSession) -> list[Middleware]:
    options, directory = session.options, session.directory
    if options.middleware is not None:
        return [*options.middleware(directory.root)]
    return [
        tool_reduction(
            session.cwd,
            directory.reduction,
            language=options.language,
            context_tokens=options.context_tokens,
        )
    ]


def _workspace_tools(
    session: OpenSession, who: str, tool_calls: ToolCallTracker, *, writes: bool
) -> list[Tool]:
    """Return the tools for the project's files and programs, for one agent."""
    also: list[Path] = session.roots[1:]
    workspace = Workspace(
        session.cwd,
        permit=workspace_permit(session.permissions, who, session.client, tool_calls),
        language=session.options.language,
        also=also,
        files=files_of(session.client, session.id),
        commands=commands_of(session.client, session.id, tool_calls),
    )
    return workspace.tools(writes=writes, commands=writes)


async def _mcp_tools(session: OpenSession, mode: Mode) -> list[Tool]:
    """Return the tools of MCP servers; a mode that does not write has the read-only ones."""
    if session.mcp is None:
        return []
    found = await session.mcp.tools()
    for failure in session.mcp.failures:
        await session.send_text(f"{failure}\n\n")
    session.mcp.failures.clear()
    session.tool_kinds |= {one.tool.name: one.kind for one in found}
    return [one.tool for one in found if mode.writes or one.is_read_only]
