"""The Task tools of the Orchestrator."""

from collections.abc import Callable
from typing import Any

from taskloom.agent import Language, Tool
from taskloom.board import (
    Actor,
    CancelTask,
    ClaimStep,
    CompleteTask,
    CreateTask,
    FailTask,
    Receipt,
    RunOutcome,
    Task,
    UpdateBoard,
    validation,
)
from taskloom.ids import TaskId
from taskloom.orchestrator.dispatcher import Dispatcher
from taskloom.orchestrator.prompt.render import render_task
from taskloom.orchestrator.prompt.texts import guide
from taskloom.orchestrator.tools.results import receipt_result, tasks_result
from taskloom.orchestrator.tools.step_tools import StepTools
from taskloom.orchestrator.tools.tool_factory import command_id, make_tool
from taskloom.orchestrator.worker_run import WorkerRun
from taskloom.orchestrator.worker_runner import shielded
from taskloom.runtime import ListTasks

_TEMPLATE_ID = "template.task_dag.default"
_TEMPLATE_VERSION = "1"
_GOAL_BYTES_MAX = 8_000
"""A goal is returned with the guide; a longer one belongs into a Task's summary."""


class OrchestratorTools(StepTools):
    """Handlers for the Orchestrator run that calls them."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        actor: Callable[[], Actor],
        language: Language,
        created: Callable[[TaskId], None],
    ) -> None:
        """Take the dispatcher; `created` is called with every new Task."""
        super().__init__(dispatcher.worker_runner.board, dispatcher.settings, actor)
        self._dispatcher = dispatcher
        self._language: Language = language
        self._created = created

    async def template(self, given: dict[str, Any]) -> Any:
        """Return the guide."""
        goal = validation.optional_text(given.get("goal"), "$.goal", most_bytes=_GOAL_BYTES_MAX)
        return {
            "template_id": _TEMPLATE_ID,
            "template_version": _TEMPLATE_VERSION,
            "goal": goal,
            "content": guide("task_dag", self._language),
        }

    async def create(self, given: dict[str, Any]) -> Any:
        """Create a Task."""
        command = CreateTask(**given, command_id=command_id())
        receipt = await self.board.send(command, self.actor())
        self._created(receipt.task_id)
        return await self._changed(receipt)

    async def update(self, given: dict[str, Any]) -> Any:
        """Change a Task's plan."""
        command = UpdateBoard(**given, command_id=command_id())
        return await self._changed(await self.board.send(command, self.actor()))

    async def list_tasks(self, given: dict[str, Any]) -> Any:
        """List the session's Tasks."""
        query = ListTasks(**given)
        page = await self.board.list(self.actor(), query)
        return tasks_result(page, self.max_bytes, query.offset)

    async def claim(self, given: dict[str, Any]) -> Any:
        """Let the board refuse: an Orchestrator claims nothing."""
        return await self.board.send(ClaimStep(**given), self.actor())

    async def complete(self, given: dict[str, Any]) -> Any:
        """Complete a Task."""
        command = CompleteTask(**given, command_id=command_id())
        return await self._changed(await self.board.send(command, self.actor()))

    async def fail(self, given: dict[str, Any]) -> Any:
        """Fail a Task, after stopping its worker runs."""
        return await self._end(FailTask(**given, command_id=command_id()))

    async def cancel(self, given: dict[str, Any]) -> Any:
        """Cancel a Task, after stopping its worker runs."""
        return await self._end(CancelTask(**given, command_id=command_id()))

    async def _end(self, command: FailTask | CancelTask) -> Any:
        actor, dispatcher = self.actor(), self._dispatcher
        most = self.board.rules.result_bytes_max
        validation.optional_text(command.reason, "$.reason", most_bytes=most)
        # A wrong argument or an ended Task is refused before any run is stopped.
        ended = await self.board.read(command.task_id, lambda task: task.is_terminal, actor)
        stopped = [] if ended else dispatcher.active(command.task_id)
        why = command.reason or "its Task is ended"
        for run in stopped:
            run.leaves_step = True
            dispatcher.stop(run, RunOutcome.CANCELLED, why)
        try:
            await dispatcher.wait(stopped)
            receipt = await self.board.send(command, actor)
        except BaseException:
            await shielded(self._release_steps(stopped))
            raise
        for run in dispatcher.active(command.task_id):
            dispatcher.stop(run, RunOutcome.CANCELLED, why)  # It started while others stopped.
        answer = await self._changed(receipt)
        return {**answer, "terminated_worker_run_ids": [run.run_id for run in stopped]}

    async def _release_steps(self, stopped: list[WorkerRun]) -> None:
        """Fail the steps of stopped runs, because the end of the Task did not."""
        for run in stopped:
            run.leaves_step = False
            await self._dispatcher.worker_runner.release_step(run, RunOutcome.CANCELLED, None)

    async def _changed(self, receipt: Receipt) -> dict[str, Any]:
        """Return a summary of the Task, and the events that were written."""
        budget = self.max_bytes // 4

        def look(task: Task) -> str:
            return render_task(task, budget)

        text = await self.board.read(receipt.task_id, look, self.actor())
        return {
            "task_id": receipt.task_id,
            "status": receipt.status.value,
            "board": text,
            **receipt_result(receipt),
        }

    def tools(self) -> list[Tool]:
        """Return the eleven tools."""
        handlers = {
            "task_template": self.template,
            "task_create": self.create,
            "task_get": self.get,
            "task_list": self.list_tasks,
            "task_update": self.update,
            "task_query_steps": self.query,
            "task_claim_step": self.claim,
            "task_update_step": self.update_step,
            "task_complete": self.complete,
            "task_fail": self.fail,
            "task_cancel": self.cancel,
        }
        return [
            make_tool(name, self._language, handle, self.max_bytes)
            for name, handle in handlers.items()
        ]
