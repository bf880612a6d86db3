"""Carries out one worker run and writes its end on the board, whatever happens.

A chat-model agent claims its step itself with its Task tools. For every other executor the runner
claims the first ready step in scope, starts it, and completes or fails it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from taskloom.agent import Tool
from taskloom.board import (
    ClaimStep,
    EndRun,
    QuerySteps,
    RunOutcome,
    StepStatus,
    StepView,
    Task,
    UpdateStep,
    view_step,
)
from taskloom.errors import Code, RefusedError, TaskloomError
from taskloom.ids import AgentId, RunId, StepId, TaskId
from taskloom.orchestrator.errors import InvalidResultError, error_dict, result_text
from taskloom.orchestrator.event_bus import EventBus, RunEvent, RunOutput, SessionEvent
from taskloom.orchestrator.executors.executor import Emit, Job, Outcome, read_result
from taskloom.orchestrator.worker_run import RunReport, WorkerRun
from taskloom.orchestrator.worker_slots import WorkerSlot
from taskloom.runtime import Board

CLAIM_LOST: Final = (Code.STEP_ALREADY_CLAIMED, Code.STEP_NOT_READY)
"""Why a step that was ready cannot be claimed: another run was faster."""

_OUTCOMES: Final = {
    RunOutcome.FINISHED: "completed",
    RunOutcome.FAILED: "failed",
    RunOutcome.TIMEOUT: "timeout",
    RunOutcome.CANCELLED: "cancelled",
}

_END_EVENTS: Final = {
    RunOutcome.FINISHED: RunEvent.CHILD_COMPLETED,
    RunOutcome.CANCELLED: RunEvent.CHILD_CANCELLED,
}

MakeTaskTools: TypeAlias = Callable[[WorkerRun], Sequence[Tool]]
MakeBoardText: TypeAlias = Callable[[WorkerRun], Callable[[], Awaitable[str]]]

_T = TypeVar("_T")


async def shielded(work: Awaitable[_T]) -> _T:
    """Await something to its end, even while this task is being cancelled."""
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            continue  # The caller re-raises its own cancellation afterwards.
        except Exception:  # noqa: BLE001 - it is raised again below
            break
    return task.result()


class WorkerRunner:
    """Runs workers on a board; `run` is one run from its start to its end."""

    def __init__(
        self,
        board: Board,
        event_bus: EventBus,
        *,
        task_tools: MakeTaskTools,
        board_text: MakeBoardText,
        transcripts: Path | None,
    ) -> None:
        """Keep what every run needs."""
        self.board = board
        self.event_bus = event_bus
        self._task_tools = task_tools
        self._board_text = board_text
        self.transcripts = transcripts

    async def run(self, run: WorkerRun, slot: WorkerSlot, step: StepView | None = None) -> None:
        """Carry a run out to its end; `step` is one that was claimed for it already."""
        task = asyncio.current_task()
        assert task is not None
        run.start(task)
        slot.worker_run = run
        if self.event_bus.has_listeners:
            self.publish(RunEvent.CHILD_CREATED, run, worker_pool_id=slot.pool_id)
            self.publish(RunEvent.WORKER_DISPATCHED, run, selection=run.selection_reason)
        outcome: Outcome | None = None
        failure: BaseException | None = None
        try:
            outcome = await self._work(run, slot, step)
        except asyncio.CancelledError as cancelled:
            failure = cancelled
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a worker raises ends its run
            failure = error
            if _is_lost(error):
                # The step was lost before the result was written: the worker did nothing wrong.
                run.request_stop(RunOutcome.CANCELLED, str(error))
        from_outside = isinstance(failure, asyncio.CancelledError) and task.cancelling() > 0
        if run.is_abandoned:
            # Its end is written already; the cancellation was meant for the worker alone.
            slot.free(run)
            while task.cancelling():
                task.uncancel()
            return
        if from_outside:
            run.request_stop(RunOutcome.CANCELLED, "")
        try:
            # With a completed step there is nothing left to write, so nothing can be cut short.
            ending = self.end(run, outcome, failure, slot)
            await (ending if run.step_status is StepStatus.COMPLETED else shielded(ending))
        finally:
            slot.free(run)
        if from_outside:
            assert failure is not None
            raise failure

    async def _work(self, run: WorkerRun, slot: WorkerSlot, step: StepView | None) -> Outcome:
        executor = slot.worker.executor
        if run.stop_request is not None and step is None:
            return Outcome(text="The run was stopped before it started.")
        if not executor.claims and step is None:
            step = await self._claim_first(run)
            if step is None:
                return Outcome(text="No step in scope was ready any more.")
        inputs: Mapping[StepId, str] = {}
        if step is not None:
            starting = UpdateStep(
                task_id=run.task_id,
                step_id=step.step_id,
                status=StepStatus.RUNNING,
                fence=run.fence,
            )
            await self.board.send(starting, run.actor)
            if step.depends_on_step_ids:
                inputs = await self.inputs(run, step)
        handle = executor.begin(self._job(run, slot, step, inputs), self._emit(run))
        run.attach(handle)
        outcome = await handle.result()
        if step is not None and run.stop_request is None:
            await self._complete(run, step, outcome)
        return outcome

    def _job(
        self,
        run: WorkerRun,
        slot: WorkerSlot,
        step: StepView | None,
        inputs: Mapping[StepId, str],
    ) -> Job:
        request, claims = run.request, slot.worker.executor.claims
        transcripts = self.transcripts
        return Job(
            run_id=run.run_id,
            worker_agent_id=run.agent_id,
            definition=slot.worker.definition,
            task_id=run.task_id,
            task_title=run.task_title,
            worker_pool_id=slot.pool_id,
            instruction=request.instruction,
            context=request.context,
            constraints=request.constraints,
            allowed_step_ids=request.allowed_step_ids,
            expected_output_schema=request.expected_output_schema,
            allowed_tools=run.allowed_tools,
            step=step,
            inputs=inputs,
            task_tools=self._task_tools(run) if claims else (),
            board_text=self._board_text(run) if claims else None,
            transcript=transcripts / f"{run.run_id}.jsonl" if transcripts is not None else None,
        )

    def _emit(self, run: WorkerRun) -> Emit:
        event_bus, run_id = self.event_bus, run.run_id

        async def emit(output: RunOutput) -> None:
            event_bus.publish_output(run_id, output)

        return emit

    async def claim(self, run: WorkerRun, step_id: StepId) -> StepView:
        """Claim a step for a run.

        Raises:
            RefusedError: the step cannot be claimed.
        """
        command = ClaimStep(task_id=run.task_id, step_id=step_id)
        receipt = await self.board.send(command, run.actor)
        assert receipt.step is not None
        run.set_claim(step_id, receipt.fence)
        return receipt.step

    async def inputs(self, run: WorkerRun, step: StepView) -> dict[StepId, str]:
        """Return the results of the steps that a step depends on."""

        def look(task: Task) -> dict[StepId, str]:
            before = (task.steps[on] for on in step.depends_on_step_ids if on in task.steps)
            return {each.step_id: each.result_summary for each in before if each.result_summary}

        return await self.board.read(run.task_id, look, run.actor)

    async def _claim_first(self, run: WorkerRun) -> StepView | None:
        query = QuerySteps(task_id=run.task_id, statuses=(StepStatus.READY,))
        for step in (await self.board.query(query, run.actor)).steps:
            try:
                return await self.claim(run, step.step_id)
            except RefusedError as refused:
                if refused.code not in CLAIM_LOST:
                    raise
                self.publish(RunEvent.STEP_CLAIM_SKIPPED, run, code=refused.code.value)
        return None

    async def _complete(self, run: WorkerRun, step: StepView, outcome: Outcome) -> None:
        done = UpdateStep(
            task_id=run.task_id,
            step_id=step.step_id,
            status=StepStatus.COMPLETED,
            result_summary=result_text(outcome.text),
            artifact_ids=outcome.artifact_ids or None,
            result_data=outcome.data,
            fence=run.fence,
        )
        with run.reporting():
            try:
                await self.board.send(done, run.actor)
            except RefusedError as refused:
                # Data that is too big or not JSON is only in the run's report.
                if not str(refused.details.get("path")).startswith("$.result_data"):
                    raise
                await self.board.send(replace(done, result_data=None), run.actor)
            run.end_claim()
        run.set_step(step.step_id, StepStatus.COMPLETED, done.result_summary)

    async def end(
        self,
        run: WorkerRun,
        outcome: Outcome | None,
        failure: BaseException | None,
        slot: WorkerSlot | None = None,
    ) -> None:
        """Write a run's end on the board, then let those who wait for it continue. Once.

        `slot` is freed before anything else learns of the end, so that it can be dispatched again.
        """
        if not run.begin_end():
            return
        how = RunOutcome.FAILED if failure else RunOutcome.FINISHED
        if run.stop_request is not None:
            how = run.stop_request.outcome
        report: RunReport | None = None
        try:
            write_error: TaskloomError | None = None
            if not run.leaves_step and run.step_status is not StepStatus.COMPLETED:
                write_error = await self.release_step(run, how, failure)
            report = await self._report(run, how, outcome, failure or write_error)
        except Exception as error:  # noqa: BLE001 - every run gets a report
            failure = failure or error
        finally:
            report = report or run.make_report(_OUTCOMES[how], failure)
            run.finish(report)
            if slot is not None:
                slot.free(run)
            self.event_bus.end_run(run.run_id)
            run.notify()
        status = report.step_status
        self.publish(
            _END_EVENTS.get(how, RunEvent.CHILD_FAILED),
            run,
            outcome=report.outcome,
            step_status=status.value if status is not None else None,
            error=report.error,
        )

    async def release_step(
        self, run: WorkerRun, how: RunOutcome, failure: BaseException | None
    ) -> TaskloomError | None:
        """Fail the step that the run still holds; return the error if that cannot be written."""
        try:
            if how is RunOutcome.FAILED and run.fence is not None and failure is not None:
                # The reason is a fixed word of the log; the exception's text is the result.
                failed = UpdateStep(
                    task_id=run.task_id,
                    step_id=run.step_id or "",
                    status=StepStatus.FAILED,
                    reason=how.value,
                    result_summary=result_text(str(error_dict(failure)["message"])),
                    fence=run.fence,
                )
                await self.board.send(failed, run.actor)
            else:
                await self.board.send(EndRun(task_id=run.task_id, outcome=how), run.actor)
        except RefusedError:
            return None  # The run holds no step any more, or the Task has ended.
        except TaskloomError as error:
            return error  # The step becomes ready again when its lease expires.
        return None

    async def _report(
        self,
        run: WorkerRun,
        how: RunOutcome,
        outcome: Outcome | None,
        failure: BaseException | None,
    ) -> RunReport:
        if run.step_status is not StepStatus.COMPLETED:
            await self._read_step(run)
        result: Any = None
        error: dict[str, Any] | None = None
        if outcome is not None:
            result = {"text": outcome.text}
            if outcome.data is not None:
                result["data"] = outcome.data
            error = self._check_result(run, outcome, result)
        return run.make_report(_OUTCOMES[how], failure, result, error)

    async def _read_step(self, run: WorkerRun) -> None:
        """Take the step's state from the board, which decides, not the worker."""

        def look(task: Task) -> StepView | None:
            # By the run's id: it may have been cancelled inside its claim.
            step = task.steps.get(task.claims.get(run.run_id, ""))
            return view_step(step) if step is not None else None

        try:
            step = await self.board.read(run.task_id, look, run.actor)
        except TaskloomError:
            return
        if step is not None:
            run.set_step(step.step_id, step.status, step.result_summary)

    def _check_result(
        self, run: WorkerRun, outcome: Outcome, result: dict[str, Any]
    ) -> dict[str, Any] | None:
        schema = run.request.expected_output_schema
        if schema is None:
            return None
        try:
            result["data"] = read_result(outcome.text, outcome.data, schema)
        except InvalidResultError as invalid:
            self.publish(RunEvent.CHILD_SCHEMA_FAILED, run, error=invalid.message)
            return {
                "code": invalid.code.value,
                "message": "The worker's result does not match expected_output_schema: "
                f"{invalid.message}. Its text is in worker_result; read that, or dispatch again.",
                "details": {"reason": RunEvent.CHILD_SCHEMA_FAILED.value},
            }
        return None

    def publish(self, event: RunEvent, run: WorkerRun, **payload: Any) -> None:
        """Publish an event about a run."""
        self.publish_event(
            event,
            task_id=run.task_id,
            step_id=run.step_id,
            agent_id=run.agent_id,
            run_id=run.run_id,
            payload=payload,
        )

    def publish_event(
        self,
        event: RunEvent,
        *,
        task_id: TaskId,
        step_id: StepId | None = None,
        agent_id: AgentId | None = None,
        run_id: RunId | None = None,
        payload: dict[str, Any],
    ) -> None:
        """Publish an event of the session, if anything listens."""
        if self.event_bus.has_listeners:
            self.event_bus.publish(
                SessionEvent(
                    event_type=event.value,
                    session_id=self.board.session_id,
                    at=self.board.clock.now(),
                    task_id=task_id,
                    step_id=step_id,
                    agent_id=agent_id,
                    run_id=run_id,
                    payload=payload,
                )
            )


def _is_lost(error: BaseException) -> bool:
    """Return whether the step or its whole Task can no longer be written by the run."""
    return isinstance(error, RefusedError) and error.code in (Code.LEASE_LOST, Code.TASK_TERMINAL)
