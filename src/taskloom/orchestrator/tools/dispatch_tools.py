"""The tools that start, wait for and stop worker runs.

A dispatch that is asked for again after a crash starts no second worker for a step that its run
finished: the run's id comes from the call, and the board knows which step that run claimed.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final

from taskloom.agent import Language, Tool, call_address
from taskloom.board import Actor, RunOutcome, StepStatus, StepView, Task, validation
from taskloom.board.views import view_step
from taskloom.errors import Code, RefusedError, TaskloomError
from taskloom.ids import RunId
from taskloom.orchestrator.dispatch_request import DispatchRequest, read_dispatch_request
from taskloom.orchestrator.dispatcher import Dispatcher
from taskloom.orchestrator.tools.results import encoded, plain_data, within
from taskloom.orchestrator.tools.tool_factory import make_tool
from taskloom.orchestrator.worker_run import RunReport, WorkerRun
from taskloom.text import clip

_SETTLED: Final = frozenset(
    {StepStatus.COMPLETED, StepStatus.FAILED, StepStatus.BLOCKED, StepStatus.CANCELLED}
)
_ATTEMPTS_MAX: Final = 1_000
_RESULT_CHARS: Final = 4_000
"""Of a worker's last words, and of its step's result, which can be read whole on the board."""

_REASON_BYTES_MAX: Final = 4_000
_NAMED_MAX: Final = 20


class DispatchTools:
    """Handlers for whichever Orchestrator run calls them."""

    def __init__(
        self, dispatcher: Dispatcher, actor: Callable[[], Actor], language: Language
    ) -> None:
        """Keep the dispatcher."""
        self._dispatcher = dispatcher
        self._actor = actor
        self._language: Language = language
        self._most = dispatcher.settings.result_bytes_max
        self._background: dict[RunId, WorkerRun] = {}
        """Runs whose results nobody has collected yet."""

    async def list_workers(self, given: dict[str, Any]) -> Any:
        """List the workers."""
        pool_id = validation.optional_text(
            given.get("worker_pool_id"), "$.worker_pool_id", most_bytes=500
        )
        roster = self._dispatcher.roster
        slots = list(roster) if pool_id is None else roster.of_pool(pool_id)
        workers, rest = within(self._most, (slot.describe() for slot in slots))
        note = f"{rest} more workers are not shown; ask for one pool." if rest else None
        return {"workers": workers, "note": note}

    async def dispatch(self, given: dict[str, Any]) -> Any:
        """Start a run, and wait for its end unless it goes to the background."""
        order = read_dispatch_request(given)
        try:
            found = await self._attempt(order)
        except TaskloomError as error:
            self._dispatcher.tell_refused(order, None, error)
            raise
        if isinstance(found, RunReport):
            return _shown(found)
        started = await self._dispatcher.start(order, found)
        if isinstance(started, RunReport):
            return _shown(started)
        if order.background:
            self._background[started.run_id] = started
            return {
                "child_run_id": started.run_id,
                "worker_agent_id": started.agent_id,
                "selection_reason": started.selection_reason,
                "status": "running",
            }
        try:
            await started.done.wait()
        except BaseException:
            self._dispatcher.stop(started, RunOutcome.CANCELLED, "its Orchestrator was stopped")
            raise
        assert started.ending is not None
        return _shown(started.ending)

    async def wait(self, given: dict[str, Any]) -> Any:
        """Wait for runs, and return the results of those that ended."""
        ids = given.get("child_run_ids")
        timeout_ms = validation.number(
            given.get("timeout_ms", self._dispatcher.settings.default_child_timeout_ms),
            "$.timeout_ms",
            least=0,
            most=1 << 40,
        )
        if ids is not None:
            ids = validation.texts(ids, "$.child_run_ids", most=1_000, most_bytes=500)
        worker_runs, unknown = self._asked_for(ids)
        await self._dispatcher.wait(worker_runs, timeout_ms / 1000)
        running = [
            {"child_run_id": worker_run.run_id, "step_id": worker_run.step_id}
            for worker_run in worker_runs
            if worker_run.ending is None
        ]
        lost = [await self._lost(run_id) for run_id in unknown]
        over = [worker_run for worker_run in worker_runs if worker_run.ending is not None]
        most = self._most - len(encoded(running))
        results, rest = within(
            most, [*lost, *(_shown(one.ending) for one in over if one.ending is not None)]
        )
        # What had no room is not collected yet: the next call gives it.
        for worker_run in over[: len(over) - rest]:
            self._background.pop(worker_run.run_id, None)
        note = f"{rest} more have ended: call wait_workers again for them." if rest else None
        return {"results": results, "running": running, "count": len(results), "note": note}

    async def cancel(self, given: dict[str, Any]) -> Any:
        """Stop a run, and return how it ended."""
        run_id = validation.text(given["child_run_id"], "$.child_run_id", most_bytes=500)
        reason = validation.text(given.get("reason", ""), "$.reason", most_bytes=_REASON_BYTES_MAX)
        worker_run = self._dispatcher.worker_runs.get(run_id)
        if worker_run is None:
            under_way = [each.run_id for each in self._dispatcher.under_way()]
            raise RefusedError(
                Code.WORKER_NOT_AVAILABLE,
                f"There is no worker run {run_id!r} under way here. Under way: "
                f"{', '.join(under_way[:_NAMED_MAX]) or 'none'}.",
                {"child_run_id": run_id, "running": under_way[:_NAMED_MAX]},
            )
        self._dispatcher.stop(worker_run, RunOutcome.CANCELLED, reason)
        await worker_run.done.wait()
        self._background.pop(run_id, None)
        assert worker_run.ending is not None
        return _shown(worker_run.ending)

    def _asked_for(self, ids: tuple[RunId, ...] | None) -> tuple[list[WorkerRun], list[RunId]]:
        known = self._dispatcher.worker_runs
        if ids is None:
            wanted = {**self._background}
            wanted.update(
                (worker_run.run_id, worker_run) for worker_run in self._dispatcher.under_way()
            )
            return list(wanted.values()), []
        return [known[id_] for id_ in ids if id_ in known], [id_ for id_ in ids if id_ not in known]

    async def _attempt(self, order: DispatchRequest) -> RunId | RunReport:
        """Return the id of this call's run, or how its run ended before a crash."""
        first = f"run_worker_{sha256(call_address().encode('utf-8', 'replace')).hexdigest()[:20]}"
        actor, board = self._actor(), self._dispatcher.worker_runner.board

        def look(task: Task) -> RunId | tuple[RunId, StepView]:
            for attempt in range(1, _ATTEMPTS_MAX):
                run_id = first if attempt == 1 else f"{first}_{attempt}"
                step = task.steps.get(task.claims.get(run_id, ""))
                if run_id not in task.claims:
                    return run_id
                if step is not None and step.status in _SETTLED:
                    return run_id, view_step(step)
            raise RefusedError(Code.WORKER_NOT_AVAILABLE, "This dispatch was tried too often.")

        found = await board.read(order.task_id, look, actor)
        if isinstance(found, str):
            return found
        run_id, step = found
        return _from_board(run_id, order.worker_agent_id or "", step)

    async def _lost(self, run_id: RunId) -> Any:
        """Return what the board knows of a run that is not of this process."""
        board, actor = self._dispatcher.worker_runner.board, self._actor()

        def look(task: Task) -> StepView | None:
            step = task.steps.get(task.claims.get(run_id, ""))
            return view_step(step) if step is not None else None

        for line in (await board.list(actor)).tasks:
            if line.status == "unavailable":
                continue
            step = await board.read(line.task_id, look, actor)
            if step is not None:
                return _shown(_from_board(run_id, "", step))
        return {
            "child_run_id": run_id,
            "no_step_claimed": True,
            "note": "There is no such run here: it ended with an earlier process, or never was.",
        }

    def tools(self) -> list[Tool]:
        """Return the four tools."""
        handlers = {
            "dispatch_worker": self.dispatch,
            "list_workers": self.list_workers,
            "wait_workers": self.wait,
            "cancel_worker": self.cancel,
        }
        return [make_tool(name, self._language, run, self._most) for name, run in handlers.items()]


def _from_board(run_id: RunId, agent_id: str, step: StepView) -> RunReport:
    return RunReport(
        worker_agent_id=agent_id,
        child_run_id=run_id,
        selection_reason="recovered",
        claimed_step_id=step.step_id,
        step_status=step.status,
        step_result_summary=step.result_summary,
        no_step_claimed=False,
        outcome="completed" if step.status is StepStatus.COMPLETED else "failed",
        note="This run ended before a restart; this is what the board says of its step.",
    )


def _shown(ending: RunReport) -> dict[str, Any]:
    """Return a run's end as a model is shown it: every field of the contract, bounded."""
    shown: dict[str, Any] = plain_data(ending)
    result = shown["worker_result"]
    if result is not None:
        result["text"] = clip(str(result.get("text", "")), _RESULT_CHARS)
    for name in ("step_result_summary", "note"):
        shown[name] = clip(shown[name], _RESULT_CHARS) if shown[name] else None
    return shown
