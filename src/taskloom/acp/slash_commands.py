"""Slash commands at the beginning of a prompt: `/plan`, `/board`, `/tasks`."""

from typing import Any, Final, Literal, TypeAlias, cast

from msgspec import Struct

from taskloom.acp.plans import FilePlan, ItemsPlan, MarkdownPlan, Plan, entry_update
from taskloom.acp.session import OpenSession
from taskloom.board import Actor, TaskView
from taskloom.errors import TaskloomError
from taskloom.runtime import Board, ListTasks

Name: TypeAlias = Literal["plan", "board", "tasks"]


class SlashCommand(Struct, frozen=True):
    """A command as a person typed it."""

    name: Name
    argument: str


COMMANDS: Final[tuple[dict[str, Any], ...]] = (
    {
        "name": "plan",
        "description": "Make a plan for something without changing files, or show the plans",
        "input": {"hint": "what to plan; nothing shows the plans there are"},
    },
    {
        "name": "board",
        "description": "Show the Tasks on the board, or turn their plan view on or off",
        "input": {"hint": "show, hide, a task_id, or nothing"},
    },
    {"name": "tasks", "description": "Show the agent's own task list"},
)

_NAMES: Final = frozenset(command["name"] for command in COMMANDS)
_MARKS: Final = {"completed": "[x]", "in_progress": "[~]", "pending": "[ ]"}
_NO_PLAN: Final = "There is no plan yet. `/plan` with a goal makes one."
_NO_BOARD: Final = "This session has no board yet. Workers plan on one in orchestrate mode."


def read_command(text: str) -> SlashCommand | None:
    """Return the command in a prompt; None if it is an ordinary prompt."""
    if not text.startswith("/"):
        return None
    name, _, rest = text[1:].partition(" ")
    name, _, more = name.partition("\n")
    if name not in _NAMES:
        return None
    return SlashCommand(cast("Name", name), f"{more} {rest}".strip())


def commands_update() -> dict[str, Any]:
    """Return the update that announces the commands."""
    return {
        "sessionUpdate": "available_commands_update",
        "availableCommands": [dict(command) for command in COMMANDS],
    }


async def answer_command(session: OpenSession, command: SlashCommand) -> str:
    """Execute a command; return the answer as Markdown."""
    match command.name:
        case "tasks":
            return await session.task_list.text()
        case "plan":
            await session.refresh_plans()
            return "\n\n".join(map(_plan_text, session.publisher.plans)) or _NO_PLAN
        case "board":
            return await _answer_board(session, command.argument)


async def _answer_board(session: OpenSession, argument: str) -> str:
    if argument in ("show", "hide"):
        await session.update(show_board=argument == "show")
        shown = "shown" if argument == "show" else "not shown"
        return f"The board's Tasks are {shown} as plans now."
    board = await session.workers.board()
    if board is None:
        return _NO_BOARD
    if not argument:
        return await _list_text(board)
    try:
        return _task_text(await board.get(argument, _viewer(board)))
    except TaskloomError as error:
        return error.message


def _viewer(board: Board) -> Actor:
    return board.orchestrator("taskloom_acp", run_id="run_view")


async def _list_text(board: Board) -> str:
    page = await board.list(_viewer(board), ListTasks())
    lines = [
        f"- **{line.title or line.task_id}** (`{line.task_id}`, {line.status}): "
        + ", ".join(f"{count} {status}" for status, count in line.counts.items())
        for line in page.tasks
    ]
    more = "\n- and more: `taskloom board list` shows all" if page.has_more else ""
    return ("\n".join(lines) + more) or "No Task is active on the board."


def _task_text(view: TaskView) -> str:
    lines = [f"**{view.title}** ({view.status.value})", ""]
    for step in view.steps:
        worker = f", {step.claimed_by_agent_id}" if step.claimed_by_agent_id else ""
        lines.append(f"- {step.title} (`{step.step_id}`, {step.status.value}{worker})")
    return "\n".join(lines)


def _plan_text(plan: Plan) -> str:
    match plan:
        case ItemsPlan():
            head = [f"**{plan.title}**", ""] if plan.title else []
            entries = [entry_update(entry) for entry in plan.entries]
            lines = [f"- {_MARKS[entry['status']]} {entry['content']}" for entry in entries]
            return "\n".join([*head, *lines])
        case MarkdownPlan():
            return plan.content
        case FilePlan():
            return f"[{plan.title or plan.id}]({plan.uri})"
