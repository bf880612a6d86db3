"""Adds the board to every model call, as the last message and in no conversation.

The text is made for each call and follows everything else, so the messages before it stay as they
were and a provider's prompt cache still applies.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from taskloom.agent import Message, Middleware, ModelHandler, ModelRequest
from taskloom.board import Actor, Role, Task
from taskloom.errors import TaskloomError
from taskloom.orchestrator.pool import Settings
from taskloom.orchestrator.prompt.render import (
    Reader,
    TaskLines,
    TokenCount,
    estimate_tokens,
    max_lines,
    render_board,
    task_lines,
)
from taskloom.runtime import Board


class BoardInPrompt(Middleware):
    """Shows every model call the board as it is at that moment."""

    def __init__(self, text: Callable[[], Awaitable[str]]) -> None:
        """Take what makes the text; an empty text is not shown."""
        self._text = text

    async def wrap_model(self, request: ModelRequest, call: ModelHandler) -> Message:
        """Add the board to the request."""
        text = await self._text()
        if text:
            request = request.replace(messages=(*request.messages, Message.user(text)))
        return await call(request)


async def board_text(
    board: Board, actor: Actor, settings: Settings, count: TokenCount = estimate_tokens
) -> str:
    """Return the board as this actor may see it, within its budget; empty without a Task."""
    scope = actor.scope
    if actor.role is Role.WORKER and scope is not None:
        reader = Reader(actor.agent_id, scope.worker_pool_id, scope.allowed_step_ids, actor.run_id)
        task_ids = [scope.task_id]
    else:
        reader = Reader(actor.agent_id)
        try:
            lines = (await board.list(actor)).tasks
        except TaskloomError:
            return ""  # The Task tools report a disk that cannot be read; the run continues.
        task_ids = [line.task_id for line in lines if line.status != "unavailable"]
    tasks: list[TaskLines] = []
    left = max_lines(settings.task_board_token_budget)
    for task_id in task_ids:

        def look(task: Task, limit: int = max(1, left)) -> TaskLines:
            return task_lines(task, reader, limit)

        try:
            tasks.append(await board.read(task_id, look, actor))
        except TaskloomError:
            continue  # It ended or broke a moment ago; the Task tools report that.
        left -= len(tasks[-1].urgent)
    window = timedelta(minutes=settings.task_recent_changes_window_minutes)
    changes = await board.recent(
        since=board.clock.now() - window, limit=settings.task_recent_changes_limit
    )
    if reader.is_worker:
        changes = [change for change in changes if change.task_id in task_ids]
    return render_board(tasks, changes, settings.task_board_token_budget, count)
