"""The four Task tools of one worker run; none of them can act for another run."""

from typing import Any

from taskloom.agent import Language, Tool
from taskloom.board import HELD
from taskloom.errors import RefusedError
from taskloom.ids import Seq
from taskloom.orchestrator.event_bus import RunEvent
from taskloom.orchestrator.pool import Settings
from taskloom.orchestrator.tools.results import step_result
from taskloom.orchestrator.tools.step_tools import StepTools
from taskloom.orchestrator.tools.tool_factory import make_tool
from taskloom.orchestrator.worker_run import WorkerRun
from taskloom.orchestrator.worker_runner import CLAIM_LOST, WorkerRunner


class WorkerTools(StepTools):
    """Handlers for one run."""

    def __init__(
        self, worker_runner: WorkerRunner, settings: Settings, worker_run: WorkerRun
    ) -> None:
        """Bind the tools to a run."""
        super().__init__(worker_runner.board, settings, lambda: worker_run.actor)
        self._runner = worker_runner
        self._run = worker_run

    def fence(self) -> Seq | None:
        """Return the fence of the run's claim."""
        return self._run.fence

    async def claim(self, given: dict[str, Any]) -> Any:
        """Claim a step; return it with the results it depends on."""
        run, runner = self._run, self._runner
        try:
            await self.board.read(given["task_id"], lambda _: None, run.actor)
            step = await runner.claim(run, given["step_id"])
        except RefusedError as refused:
            if refused.code in CLAIM_LOST:
                runner.publish(RunEvent.STEP_CLAIM_SKIPPED, run, code=refused.code.value)
            raise
        inputs = await runner.inputs(run, step)
        return {"step": step_result(step), "results_of_dependencies": inputs or None}

    async def update_step(self, given: dict[str, Any]) -> Any:
        """Write the state or result of the run's own step."""
        run, fence = self._run, self._run.fence
        with run.reporting():
            answer = await super().update_step(given)
            step = answer["step"]
            if step is not None and run.fence == fence and step["status"] not in HELD:
                run.end_claim()
        return answer

    def tools(self, language: Language) -> list[Tool]:
        """Return the tools."""
        handlers = {
            "task_get": self.get,
            "task_query_steps": self.query,
            "task_claim_step": self.claim,
            "task_update_step": self.update_step,
        }
        return [
            make_tool(name, language, handle, self.max_bytes) for name, handle in handlers.items()
        ]
