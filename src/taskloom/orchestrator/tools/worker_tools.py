"""The four Task tools of one worker run: all of them bound to it, none can name another."""

from typing import Any, Final

from taskloom.agent import Language, Tool
from taskloom.board.status import HELD
from taskloom.errors import Code, RefusedError
from taskloom.ids import Seq
from taskloom.orchestrator.event_bus import RunEvent
from taskloom.orchestrator.settings import Settings
from taskloom.orchestrator.tools.results import step_of
from taskloom.orchestrator.tools.step_tools import StepTools
from taskloom.orchestrator.tools.tool_factory import make_tool
from taskloom.orchestrator.worker_run import WorkerRun
from taskloom.orchestrator.worker_runner import WorkerRunner

_SKIPPED: Final = (Code.STEP_ALREADY_CLAIMED, Code.STEP_NOT_READY)


class WorkerTools(StepTools):
    """Handlers for one run."""

    def __init__(
        self, worker_runner: WorkerRunner, settings: Settings, worker_run: WorkerRun
    ) -> None:
        """Bind the tools to a run."""
        super().__init__(worker_runner.board, settings, lambda: worker_run.actor)
        self._lives = worker_runner
        self._child = worker_run

    def fence(self) -> Seq | None:
        """Return the fence of the run's claim."""
        return self._child.fence

    async def claim(self, given: dict[str, Any]) -> Any:
        """Claim a step, and show all that is needed for it."""
        worker_run, worker_runner = self._child, self._lives
        try:
            await self.board.read(given["task_id"], lambda _: None, worker_run.actor)
            step = await worker_runner.claim(worker_run, given["step_id"])
        except RefusedError as refused:
            if refused.code in _SKIPPED:
                worker_runner.tell(RunEvent.STEP_CLAIM_SKIPPED, worker_run, code=refused.code.value)
            raise
        inputs = await worker_runner.inputs(worker_run, step)
        return {"step": step_of(step), "results_of_dependencies": inputs or None}

    async def update_step(self, given: dict[str, Any]) -> Any:
        """Write the state or result of the run's own step."""
        worker_run, fence = self._child, self._child.fence
        worker_run.reporting += 1
        try:
            answer = await super().update_step(given)
            step = answer["step"]
            if step is not None and worker_run.fence == fence and step["status"] not in HELD:
                worker_run.fence = None  # Done with it: there is no lease to renew any more.
        finally:
            worker_run.reporting -= 1
        return answer

    def tools(self, language: Language) -> list[Tool]:
        """Return the tools."""
        handlers = {
            "task_get": self.get,
            "task_query_steps": self.query,
            "task_claim_step": self.claim,
            "task_update_step": self.update_step,
        }
        return [make_tool(name, language, run, self.most) for name, run in handlers.items()]
