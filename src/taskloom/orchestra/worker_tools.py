"""The four Task tools of one worker run: all of them bound to it, none can name another."""

from typing import Any, Final

from taskloom.agent import Language, Tool
from taskloom.board.status import HELD
from taskloom.errors import Code, Refused
from taskloom.ids import Seq
from taskloom.orchestra.answers import step_of
from taskloom.orchestra.child import Child
from taskloom.orchestra.happening import RunEvent
from taskloom.orchestra.lives import Lives
from taskloom.orchestra.settings import Settings
from taskloom.orchestra.step_tools import StepTools
from taskloom.orchestra.tool_making import make_tool

_SKIPPED: Final = (Code.STEP_ALREADY_CLAIMED, Code.STEP_NOT_READY)


class WorkerTools(StepTools):
    """Handlers for one run."""

    def __init__(self, lives: Lives, settings: Settings, child: Child) -> None:
        """Bind the tools to a run."""
        super().__init__(lives.board, settings, lambda: child.actor)
        self._lives = lives
        self._child = child

    def fence(self) -> Seq | None:
        """Return the fence of the run's claim."""
        return self._child.fence

    async def claim(self, given: dict[str, Any]) -> Any:
        """Claim a step, and show all that is needed for it."""
        child, lives = self._child, self._lives
        try:
            await self.board.read(given["task_id"], lambda _: None, child.actor)
            step = await lives.claim(child, given["step_id"])
        except Refused as refused:
            if refused.code in _SKIPPED:
                lives.tell(RunEvent.STEP_CLAIM_SKIPPED, child, code=refused.code.value)
            raise
        inputs = await lives.inputs(child, step)
        return {"step": step_of(step), "results_of_dependencies": inputs or None}

    async def update_step(self, given: dict[str, Any]) -> Any:
        """Write the state or result of the run's own step."""
        child, fence = self._child, self._child.fence
        child.reporting += 1
        try:
            answer = await super().update_step(given)
            step = answer["step"]
            if step is not None and child.fence == fence and step["status"] not in HELD:
                child.fence = None  # Done with it: there is no lease to renew any more.
        finally:
            child.reporting -= 1
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
