"""Putting the board into a prompt: as the last message of a model call, kept nowhere.

It is made anew for each call and stands behind everything else, so that what was sent before
stays as it was and a provider's prompt cache goes on working.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from taskloom.agent import Message, Middleware, ModelHandler, ModelRequest
from taskloom.board import Actor, Role, Task
from taskloom.errors import TaskloomError
from taskloom.orchestrator.prompt.rendering import (
    Glance,
    Reader,
    TokenCount,
    about_tokens,
    compose,
    lines_max,
    look,
)
from taskloom.orchestrator.settings import Settings
from taskloom.runtime import Board


class BoardInPrompt(Middleware):
    """Shows every model call the board as it is at that moment."""

    def __init__(self, text: Callable[[], Awaitable[str]]) -> None:
        """Take what makes the text; an empty one is not shown."""
        self._text = text

    async def wrap_model(self, request: ModelRequest, call: ModelHandler) -> Message:
        """Add the board to the request."""
        text = await self._text()
        if text:
            request = request.replace(messages=(*request.messages, Message.user(text)))
        return await call(request)


async def board_text(
    board: Board, actor: Actor, settings: Settings, count: TokenCount = about_tokens
) -> str:
    """Return the board as this actor may see it, within its budget; empty if there is none."""
    scope = actor.scope
    if actor.role is Role.WORKER and scope is not None:
        reader = Reader(actor.agent_id, scope.worker_pool_id, scope.allowed_step_ids, actor.run_id)
        task_ids = [scope.task_id]
    else:
        reader = Reader(actor.agent_id)
        try:
            lines = (await board.list(actor)).tasks
        except TaskloomError:
            return ""  # A disk that cannot be read now is told by the tools; the run goes on.
        task_ids = [line.task_id for line in lines if line.status != "unavailable"]
    glances: list[Glance] = []
    most = lines_max(settings.task_board_token_budget)
    for task_id in task_ids:
        left = max(1, most - sum(len(each.urgent) for each in glances))

        def glance(task: Task, left: int = left) -> Glance:
            return look(task, reader, left)

        try:
            glances.append(await board.read(task_id, glance, actor))
        except TaskloomError:
            continue  # It ended or broke a moment ago; whoever asks for it is told.
    window = timedelta(minutes=settings.task_recent_changes_window_minutes)
    changes = await board.recent(
        since=board.clock.now() - window, limit=settings.task_recent_changes_limit
    )
    if actor.role is Role.WORKER:
        changes = [change for change in changes if change.task_id in task_ids]
    return compose(glances, changes, settings.task_board_token_budget, count)
