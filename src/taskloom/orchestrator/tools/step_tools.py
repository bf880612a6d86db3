"""The Task tools that Orchestrator and workers share: read a Task, query and update steps."""

from collections.abc import Callable
from typing import Any, Final

from taskloom.board import Actor, QuerySteps, StepView, Task, UpdateStep, validation, view_step
from taskloom.ids import Seq, StepId, TaskId
from taskloom.orchestrator.pool import Settings
from taskloom.orchestrator.tools.results import (
    receipt_result,
    step_result,
    steps_result,
    summary_result,
    task_result,
)
from taskloom.orchestrator.tools.tool_factory import command_id
from taskloom.runtime import Board

_STEP_BYTES: Final = 100
"""A step's JSON is longer than this, so a Task with too many steps is not encoded at all."""


class StepTools:
    """Handlers of the shared tools, for one actor."""

    def __init__(self, board: Board, settings: Settings, actor: Callable[[], Actor]) -> None:
        """Take the board and what returns the actor of the call."""
        self.board = board
        self.max_bytes = settings.result_bytes_max
        self.actor = actor

    def fence(self) -> Seq | None:
        """Return the fence that a write of this actor must carry; an Orchestrator has none."""
        return None

    async def get(self, given: dict[str, Any]) -> Any:
        """Return a Task, or its summary if it is too long."""
        task_id, actor, most = given["task_id"], self.actor(), self.max_bytes

        def summarize_big(task: Task) -> dict[str, Any] | None:
            return summary_result(task, most) if len(task.steps) > most // _STEP_BYTES else None

        summary = await self.board.read(task_id, summarize_big, actor)
        if summary is None:
            terminal = validation.flag(
                given.get("include_terminal_steps", True), "$.include_terminal_steps"
            )
            view = await self.board.get(task_id, actor, include_terminal_steps=terminal)
            whole = task_result(view, most)
            if whole is not None:
                return whole
            summary = await self.board.read(task_id, lambda task: summary_result(task, most), actor)
        note = "The steps are too many for one answer; read the ones you need with"
        return {**summary, "note": f"{note} task_query_steps, by status or page."}

    async def query(self, given: dict[str, Any]) -> Any:
        """Return a page of steps."""
        query = QuerySteps(**given)
        page = await self.board.query(query, self.actor())
        return steps_result(page, self.max_bytes, query.offset)

    async def update_step(self, given: dict[str, Any]) -> Any:
        """Write a step's state or result."""
        command = UpdateStep(**given, fence=self.fence(), command_id=command_id())
        receipt = await self.board.send(command, self.actor())
        step = await self.step(command.task_id, command.step_id)
        shown = step_result(step) if step is not None else None
        return {"step": shown, "task_status": receipt.status.value, **receipt_result(receipt)}

    async def step(self, task_id: TaskId, step_id: StepId) -> StepView | None:
        """Return a step as it is now."""

        def look(task: Task) -> StepView | None:
            step = task.steps.get(step_id)
            return view_step(step) if step is not None else None

        return await self.board.read(task_id, look, self.actor())
