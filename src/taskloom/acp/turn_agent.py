"""From a session and a mode to the kit of a turn: tools, hooks, and words."""

from pathlib import Path
from typing import Final

from taskloom.acp.client_workspace import commands_of, files_of
from taskloom.acp.modes import Mode
from taskloom.acp.options import MakeTools
from taskloom.acp.permissions import workspace_permit
from taskloom.acp.plans.tools import plan_tools
from taskloom.acp.session import LiveSession
from taskloom.acp.tool_call_tracker import ToolCallTracker
from taskloom.acp.turn_kit import TurnAgent
from taskloom.agent import Middleware, Tool
from taskloom.agent.workspace import Workspace, resolve_path
from taskloom.middleware import PlanChanged
from taskloom.session import tool_reduction

LEFT_OUT: Final = (
    "\n\nThe beginning of this conversation is left out here: it no longer fits. Look again at "
    "files you need, or ask."
)


async def build_turn_agent(session: LiveSession, mode: Mode) -> TurnAgent:
    """Return what the agent of a turn in this mode is given."""
    setup = session.setup
    tools = _workspace(session, "taskloom", session.desk, writes=mode.writes)
    if setup.middleware is not None:
        middleware: list[Middleware] = [*setup.middleware(session.folder)]
    else:
        middleware = [
            tool_reduction(
                session.cwd,
                session.directory.reduction,
                language=setup.language,
                context_tokens=setup.context_tokens,
            )
        ]
    instruction = setup.instruction

    def inside(path: str) -> Path:
        return resolve_path(session.cwd, path, session.roots[1:])

    if mode.plans:
        middleware.append(session.tasks.middleware)
        tools += plan_tools(session.shelf.publish, session.shelf.dismiss, inside)
    tools += await _server_tools(session, mode)
    if mode.orchestrates:
        crew = await session.staff.hire(_worker_tools(session))
        tools += crew.orchestrator.tools()
        middleware += crew.orchestrator.middleware()
        instruction = setup.orchestrator_instruction or instruction

    async def hear(data: object) -> None:
        if isinstance(data, PlanChanged):
            session.tasks.hear(data)

    words = [instruction, mode.instruction, f"The project is in {session.cwd}."]
    return TurnAgent(
        tools=tools,
        middleware=middleware,
        instruction="\n\n".join(word for word in words if word)
        + (LEFT_OUT if session.has_left_out else ""),
        kinds=session.kinds,
        heard=hear,
    )


def _workspace(
    session: LiveSession, who: str, desk: ToolCallTracker, *, writes: bool
) -> list[Tool]:
    """Return the tools for the project's files and programs; their calls are known at a desk."""
    workspace = Workspace(
        session.cwd,
        permit=workspace_permit(session.permissions, who, session.client, desk),
        language=session.setup.language,
        also=session.roots[1:],
        files=files_of(session.client, session.id),
        commands=commands_of(session.client, session.id, desk),
    )
    return workspace.tools(writes=writes, commands=writes)


def _worker_tools(session: LiveSession) -> MakeTools:
    """Return what makes the working tools of a worker; its questions carry its own calls."""

    def make(worker: str) -> list[Tool]:
        crew = session.staff.crew
        desk = session.desk if crew is None else crew.desk(worker)
        return _workspace(session, worker, desk, writes=True)

    return make


async def _server_tools(session: LiveSession, mode: Mode) -> list[Tool]:
    """Return the tools of MCP servers; a mode that does not write has those that only read."""
    if session.mcp is None:
        return []
    found = await session.mcp.tools()
    for failure in session.mcp.failures:
        await session.say(f"{failure}\n\n")
    session.mcp.failures.clear()
    session.kinds |= {one.tool.name: one.kind for one in found}
    return [one.tool for one in found if mode.writes or one.is_read_only]
