"""The tools that start, wait for and stop worker runs.

A dispatch call that is run again after a crash starts no second worker for a step that its run
finished: the run's id comes from the call, and the board knows which step that run claimed.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final

from taskloom.agent import Language, Tool, call_address
from taskloom.board import Actor, RunOutcome, StepStatus, StepView, Task, validation, view_step
from taskloom.errors import Code, RefusedError, TaskloomError
from taskloom.ids import RunId
from taskloom.orchestrator.dispatch_request import DispatchRequest, read_dispatch_request
from taskloom.orchestrator.dispatcher import Dispatcher
from taskloom.orchestrator.tools.results import encoded, plain_data, take_fitting
from taskloom.orchestrator.tools.tool_factory import make_tool
from taskloom.orchestrator.worker_run import RunReport, WorkerRun
from taskloom.text import clip

_REPORTED: Final = frozenset(
    {StepStatus.COMPLETED, StepStatus.FAILED, StepStatus.BLOCKED, StepStatus.CANCELLED}
)
_ATTEMPTS_MAX: Final = 1_000
_RESULT_CHARS: Final = 4_000
"""Of a worker's text and its step's result, which the board shows whole."""

_REASON_BYTES_MAX: Final = 4_000
_NAMED_MAX: Final = 20


class DispatchTools:
    """Handlers for the Orchestrator run that calls them."""

    def __init__(
        self, dispatcher: Dispatcher, actor: Callable[[], Actor], language: Language
    ) -> None:
        """Take the dispatcher and what returns the actor of the call."""
        self._dispatcher = dispatcher
        self._actor = actor
        self._language: Language = language
        self._max_bytes = dispatcher.settings.result_bytes_max
        self._background: dict[RunId, WorkerRun] = {}
        """Runs whose results wait_workers has not returned yet."""

    async def list_workers(self, given: dict[str, Any]) -> Any:
        """List the workers."""
        pool_id = validation.optional_text(
            given.get("worker_pool_id"), "$.worker_pool_id", most_bytes=500
        )
        slots = self._dispatcher.slots
        chosen = slots if pool_id is None else slots.of_pool(pool_id)
        workers, rest = take_fitting((slot.describe() for slot in chosen), self._max_bytes)
        note = f"{rest} more workers are not shown; ask for one pool." if rest else None
        return {"workers": workers, "note": note}

    async def dispatch(self, given: dict[str, Any]) -> Any:
        """Start a run, and wait for its end unless it runs in the background."""
        request = read_dispatch_request(given)
        try:
            found = await self._attempt(request)
        except TaskloomError as error:
            self._dispatcher.publish_refused(request, None, error)
            raise
        if isinstance(found, RunReport):
            return _report_result(found)
        started = await self._dispatcher.start(request, found)
        if isinstance(started, RunReport):
            return _report_result(started)
        if request.background:
            self._background[started.run_id] = started
            return {
                "child_run_id": started.run_id,
                "worker_agent_id": started.agent_id,
                "selection_reason": started.selection_reason,
                "status": "running",
            }
        try:
            return _report_result(await started.wait())
        except BaseException:
            self._dispatcher.stop(started, RunOutcome.CANCELLED, "its Orchestrator was stopped")
            raise

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
        runs, unknown = self._named(ids)
        await self._dispatcher.wait(runs, timeout_ms / 1000)
        running = [
            {"child_run_id": run.run_id, "step_id": run.step_id}
            for run in runs
            if run.report is None
        ]
        reports = [run.report for run in runs if run.report is not None]
        found = [await self._from_earlier_host(run_id) for run_id in unknown]
        found += [_report_result(report) for report in reports]
        results, rest = take_fitting(found, self._max_bytes - len(encoded(running)))
        # The next call returns the results that had no room.
        for report in reports[: len(reports) - rest]:
            self._background.pop(report.child_run_id or "", None)
        note = f"{rest} more have ended: call wait_workers again for them." if rest else None
        return {"results": results, "running": running, "count": len(results), "note": note}

    async def cancel(self, given: dict[str, Any]) -> Any:
        """Stop a run, and return how it ended."""
        run_id = validation.text(given["child_run_id"], "$.child_run_id", most_bytes=500)
        reason = validation.text(given.get("reason", ""), "$.reason", most_bytes=_REASON_BYTES_MAX)
        run = self._dispatcher.worker_runs.get(run_id)
        if run is None:
            active = [each.run_id for each in self._dispatcher.active()][:_NAMED_MAX]
            raise RefusedError(
                Code.WORKER_NOT_AVAILABLE,
                f"There is no active worker run {run_id!r}. Active: {', '.join(active) or 'none'}.",
                {"child_run_id": run_id, "running": active},
            )
        self._dispatcher.stop(run, RunOutcome.CANCELLED, reason)
        report = await run.wait()
        self._background.pop(run_id, None)
        return _report_result(report)

    def _named(self, ids: tuple[RunId, ...] | None) -> tuple[list[WorkerRun], list[RunId]]:
        known = self._dispatcher.worker_runs
        if ids is None:
            wanted = {**self._background}
            wanted.update((run.run_id, run) for run in self._dispatcher.active())
            return list(wanted.values()), []
        return [known[id_] for id_ in ids if id_ in known], [id_ for id_ in ids if id_ not in known]

    async def _attempt(self, request: DispatchRequest) -> RunId | RunReport:
        """Return the id of this call's run, or how its run ended before a crash."""
        first = f"run_worker_{sha256(call_address().encode('utf-8', 'replace')).hexdigest()[:20]}"
        actor, board = self._actor(), self._dispatcher.worker_runner.board

        def look(task: Task) -> RunId | tuple[RunId, StepView]:
            for attempt in range(1, _ATTEMPTS_MAX):
                run_id = first if attempt == 1 else f"{first}_{attempt}"
                step = task.steps.get(task.claims.get(run_id, ""))
                if run_id not in task.claims:
                    return run_id
                if step is not None and step.status in _REPORTED:
                    return run_id, view_step(step)
            raise RefusedError(Code.WORKER_NOT_AVAILABLE, "Too many attempts; change the plan.")

        found = await board.read(request.task_id, look, actor)
        if isinstance(found, str):
            return found
        run_id, step = found
        return _from_board(run_id, request.worker_agent_id or "", step)

    async def _from_earlier_host(self, run_id: RunId) -> Any:
        """Return what the board knows of a run of an earlier process."""
        board, actor = self._dispatcher.worker_runner.board, self._actor()

        def look(task: Task) -> StepView | None:
            step = task.steps.get(task.claims.get(run_id, ""))
            return view_step(step) if step is not None else None

        for line in (await board.list(actor)).tasks:
            if line.status == "unavailable":
                continue
            step = await board.read(line.task_id, look, actor)
            if step is not None:
                return _report_result(_from_board(run_id, "", step))
        return {
            "child_run_id": run_id,
            "no_step_claimed": True,
            "note": "There is no such run: it ended with an earlier process, or never existed.",
        }

    def tools(self) -> list[Tool]:
        """Return the four tools."""
        handlers = {
            "dispatch_worker": self.dispatch,
            "list_workers": self.list_workers,
            "wait_workers": self.wait,
            "cancel_worker": self.cancel,
        }
        return [
            make_tool(name, self._language, handle, self._max_bytes)
            for name, handle in handlers.items()
        ]


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
        note="This run ended before a restart; the board has the state of its step.",
    )


def _report_result(report: RunReport) -> dict[str, Any]:
    """Return a run's report for a model: every field of the contract, bounded."""
    shown: dict[str, Any] = plain_data(report)
    result = shown["worker_result"]
    if result is not None:
        result["text"] = clip(str(result.get("text", "")), _RESULT_CHARS)
    for name in ("step_result_summary", "note"):
        shown[name] = clip(shown[name], _RESULT_CHARS) if shown[name] else None
    return shown
