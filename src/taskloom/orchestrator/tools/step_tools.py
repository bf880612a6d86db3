"""What Orchestrator and workers may both ask: read a Task, query steps, update a step."""

from collections.abc import Callable
from typing import Any, Final

from taskloom.board import Actor, QuerySteps, StepView, Task, UpdateStep, validation
from taskloom.board.views import view_step
from taskloom.ids import Seq, StepId, TaskId
from taskloom.orchestrator.settings import Settings
from taskloom.orchestrator.tools.results import gist_of, receipt_of, step_of, steps_of, task_of
from taskloom.orchestrator.tools.tool_factory import command_id
from taskloom.runtime import Board

_STEP_BYTES: Final = 100
"""A step's JSON is longer than this; so many more steps than fit are not even looked at."""


class StepTools:
    """Handlers of the shared tools, for one actor."""

    def __init__(self, board: Board, settings: Settings, actor: Callable[[], Actor]) -> None:
        """Keep the board and who asks."""
        self.board = board
        self.most = settings.result_bytes_max
        self.actor = actor

    def fence(self) -> Seq | None:
        """Return what a write of this actor must carry; an Orchestrator's carries nothing."""
        return None

    async def get(self, given: dict[str, Any]) -> Any:
        """Show a Task."""
        task_id, actor, most = given["task_id"], self.actor(), self.most

        def gist(task: Task) -> dict[str, Any] | None:
            return gist_of(task, most) if len(task.steps) > most // _STEP_BYTES else None

        shown = await self.board.read(task_id, gist, actor)
        if shown is None:
            whole = validation.flag(
                given.get("include_terminal_steps", True), "$.include_terminal_steps"
            )
            view = await self.board.get(task_id, actor, include_terminal_steps=whole)
            all_of_it = task_of(view, most)
            if all_of_it is not None:
                return all_of_it
            shown = await self.board.read(task_id, lambda task: gist_of(task, most), actor)
        note = "The steps are too many for one answer; ask for the ones you need with"
        return {**shown, "note": f"{note} task_query_steps, by status or page."}

    async def query(self, given: dict[str, Any]) -> Any:
        """Show a page of steps."""
        query = QuerySteps(**given)
        page = await self.board.query(query, self.actor())
        return steps_of(page, self.most, query.offset)

    async def update_step(self, given: dict[str, Any]) -> Any:
        """Write a step's state or result."""
        command = UpdateStep(**given, fence=self.fence(), command_id=command_id())
        receipt = await self.board.send(command, self.actor())
        step = await self.step(command.task_id, command.step_id)
        shown = step_of(step) if step is not None else None
        return {"step": shown, "task_status": receipt.status.value, **receipt_of(receipt)}

    async def step(self, task_id: TaskId, step_id: StepId) -> StepView | None:
        """Return a step as it is now."""

        def look(task: Task) -> StepView | None:
            step = task.steps.get(step_id)
            return view_step(step) if step is not None else None

        return await self.board.read(task_id, look, self.actor())
