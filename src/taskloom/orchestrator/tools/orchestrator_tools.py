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
    summarise,
    validation,
)
from taskloom.ids import TaskId
from taskloom.orchestrator.dispatcher import Dispatcher
from taskloom.orchestrator.errors import shielded
from taskloom.orchestrator.tools.guide import task_guide
from taskloom.orchestrator.tools.results import receipt_of, tasks_of
from taskloom.orchestrator.tools.step_tools import StepTools
from taskloom.orchestrator.tools.tool_factory import command_id, make_tool
from taskloom.orchestrator.worker_run import WorkerRun
from taskloom.runtime import ListTasks

_TEMPLATE_ID = "template.task_dag.default"
_TEMPLATE_VERSION = "1"
_GOAL_BYTES_MAX = 8_000
"""A goal is given back beside the guide; a longer one belongs into a Task's summary."""


class OrchestratorTools(StepTools):
    """Handlers for whichever Orchestrator run calls them."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        actor: Callable[[], Actor],
        language: Language,
        created: Callable[[TaskId], None],
    ) -> None:
        """Keep the dispatcher; `created` is told of every new Task."""
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
            "content": task_guide(self._language),
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
        return tasks_of(page, self.most, query.offset)

    async def claim(self, given: dict[str, Any]) -> Any:
        """Let the board say that an Orchestrator claims nothing."""
        return await self.board.send(ClaimStep(**given), self.actor())

    async def complete(self, given: dict[str, Any]) -> Any:
        """End a Task well."""
        command = CompleteTask(**given, command_id=command_id())
        return await self._changed(await self.board.send(command, self.actor()))

    async def fail(self, given: dict[str, Any]) -> Any:
        """Give a Task up, its worker runs first."""
        return await self._end(FailTask(**given, command_id=command_id()))

    async def cancel(self, given: dict[str, Any]) -> Any:
        """End a Task that is no longer wanted, its worker runs first."""
        return await self._end(CancelTask(**given, command_id=command_id()))

    async def _end(self, command: FailTask | CancelTask) -> Any:
        actor, dispatcher = self.actor(), self._dispatcher
        most = self.board.rules.result_bytes_max
        validation.optional_text(command.reason, "$.reason", most_bytes=most)
        # Whether this may be at all is asked before anybody is stopped for it.
        over = await self.board.read(command.task_id, lambda task: task.is_terminal, actor)
        stopped = [] if over else dispatcher.under_way(command.task_id)
        why = command.reason or "the Task is ended"
        for worker_run in stopped:
            worker_run.keeps_step = True
            dispatcher.stop(worker_run, RunOutcome.CANCELLED, why)
        try:
            await dispatcher.wait(stopped)
            receipt = await self.board.send(command, actor)
        except BaseException:
            await shielded(self._give_back(stopped))
            raise
        for worker_run in dispatcher.under_way(command.task_id):
            dispatcher.stop(worker_run, RunOutcome.CANCELLED, why)  # It began while others stopped.
        answer = await self._changed(receipt)
        return {
            **answer,
            "terminated_worker_run_ids": [worker_run.run_id for worker_run in stopped],
        }

    async def _give_back(self, stopped: list[WorkerRun]) -> None:
        """See to the steps of stopped runs after all: the Task has not ended with them."""
        for worker_run in stopped:
            worker_run.keeps_step = False
            await self._dispatcher.worker_runner.let_go(worker_run, RunOutcome.CANCELLED, None)

    async def _changed(self, receipt: Receipt) -> dict[str, Any]:
        """Return the Task in a few lines, and the events that were written."""
        most = self.most // 4

        def look(task: Task) -> str:
            return summarise(task, budget_bytes=most).text

        text = await self.board.read(receipt.task_id, look, self.actor())
        return {
            "task_id": receipt.task_id,
            "status": receipt.status.value,
            "board": text,
            **receipt_of(receipt),
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
        return [make_tool(name, self._language, run, self.most) for name, run in handlers.items()]
