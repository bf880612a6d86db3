"""What the door itself answers to a slash command: the plans, the board, the task list."""

from typing import Final

from taskloom.acp.plans.encoding import entry_on_wire
from taskloom.acp.plans.plan import FilePlan, ItemsPlan, MarkdownPlan, Plan
from taskloom.acp.session import LiveSession
from taskloom.acp.slash_commands import SlashCommand
from taskloom.board import TaskView
from taskloom.errors import TaskloomError
from taskloom.runtime import Board, ListTasks

_MARKS: Final = {"completed": "[x]", "in_progress": "[~]", "pending": "[ ]"}


async def answer(session: LiveSession, command: SlashCommand) -> str:
    """Carry out a command and return what the person is told."""
    match command.name:
        case "tasks":
            return await session.tasks.text()
        case "plan":
            await session.tasks.show()
            await session.staff.show()
            return "\n\n".join(_plan(plan) for plan in session.publisher.plans) or _NO_PLAN
        case "board":
            return await _board(session, command.rest)


_NO_PLAN: Final = "There is no plan yet. `/plan` with a goal makes one."
_NO_BOARD: Final = "There is no board in this session yet. Workers plan on one in orchestrate mode."


async def _board(session: LiveSession, word: str) -> str:
    if word in ("show", "hide"):
        await session.change(show_board=word == "show")
        return f"The board's Tasks are {'shown' if word == 'show' else 'not shown'} as plans now."
    board = await session.staff.board()
    if board is None:
        return _NO_BOARD
    actor = board.orchestrator("taskloom_acp", run_id="run_view")
    if word:
        try:
            return _task(await board.get(word, actor))
        except TaskloomError as error:
            return error.message
    return await _list(board)


async def _list(board: Board) -> str:
    actor = board.orchestrator("taskloom_acp", run_id="run_view")
    page = await board.list(actor, ListTasks())
    lines = [
        f"- **{line.title or line.task_id}** (`{line.task_id}`, {line.status}): "
        + ", ".join(f"{count} {status}" for status, count in line.counts.items())
        for line in page.tasks
    ]
    more = "\n- and more: `taskloom board list` shows all" if page.has_more else ""
    return ("\n".join(lines) + more) or "No Task is active on the board."


def _task(view: TaskView) -> str:
    lines = [f"**{view.title}** ({view.status.value})", ""]
    for step in view.steps:
        who = f", {step.claimed_by_agent_id}" if step.claimed_by_agent_id else ""
        lines.append(f"- {step.title} (`{step.step_id}`, {step.status.value}{who})")
    return "\n".join(lines)


def _plan(plan: Plan) -> str:
    match plan:
        case ItemsPlan():
            head = [f"**{plan.title}**", ""] if plan.title else []
            entries = [entry_on_wire(entry) for entry in plan.entries]
            lines = [f"- {_MARKS[entry['status']]} {entry['content']}" for entry in entries]
            return "\n".join([*head, *lines])
        case MarkdownPlan():
            return plan.content
        case FilePlan():
            return f"[{plan.title or plan.id}]({plan.uri})"
