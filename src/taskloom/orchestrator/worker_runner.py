"""The life of one worker run: it works, and its end is written down whatever happens.

A chat-model agent claims by itself with its Task tools; for every other executor core claims the
first ready step in scope, starts it, and completes or fails it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

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
)
from taskloom.board.views import view_step
from taskloom.errors import Code, RefusedError, TaskloomError
from taskloom.ids import StepId
from taskloom.orchestrator.errors import error_of, shielded, short
from taskloom.orchestrator.event_bus import EventBus, RunEvent, RunOutput, SessionEvent
from taskloom.orchestrator.executors.executor import Emit, Job, Outcome
from taskloom.orchestrator.executors.result_check import InvalidResultError, read_result
from taskloom.orchestrator.worker_run import RunReport, WorkerRun
from taskloom.orchestrator.worker_slots import WorkerSlot
from taskloom.runtime import Board

_OUTCOMES: Final = {
    RunOutcome.FINISHED: "completed",
    RunOutcome.FAILED: "failed",
    RunOutcome.TIMEOUT: "timeout",
    RunOutcome.CANCELLED: "cancelled",
}

MakeTaskTools: TypeAlias = Callable[[WorkerRun], Sequence[Tool]]
MakeBoardText: TypeAlias = Callable[[WorkerRun], Callable[[], Awaitable[str]]]


class WorkerRunner:
    """Runs workers on a board, one call of `live` for each run."""

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
        self._transcripts = transcripts

    async def live(self, run: WorkerRun, slot: WorkerSlot, step: StepView | None = None) -> None:
        """Let a run live, from here to its end; `step` is one that was claimed for it already."""
        task = run.task = asyncio.current_task()
        assert task is not None
        self._seat(run, slot)
        if self.event_bus.has_listeners:
            self.tell(RunEvent.CHILD_CREATED, run, worker_pool_id=slot.pool_id)
            self.tell(RunEvent.WORKER_DISPATCHED, run, selection=run.selection_reason)
        outcome: Outcome | None = None
        failure: BaseException | None = None
        try:
            outcome = await self._work(run, slot, step)
        except asyncio.CancelledError as cancelled:
            failure = cancelled
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a worker's run has an end, whatever it raises
            failure = error
            if _is_lost(error) and run.stop_reason is None:
                # Core's own write came too late: the run did nothing wrong.
                run.stop_reason, run.why = RunOutcome.CANCELLED, str(error)
        from_outside = isinstance(failure, asyncio.CancelledError) and task.cancelling() > 0
        if run.is_given_up:
            # Its end is written already; the cancellation was meant for the worker alone.
            _free(run, slot)
            while task.cancelling():
                task.uncancel()
            return
        if from_outside and run.stop_reason is None:
            run.stop_reason = RunOutcome.CANCELLED
        try:
            if failure is None:
                await self.end(run, outcome, None)
            else:
                await shielded(self.end(run, outcome, failure))
        finally:
            _free(run, slot)
        if from_outside:
            assert failure is not None
            raise failure

    def _seat(self, run: WorkerRun, slot: WorkerSlot) -> None:
        slot.worker_run = run

        def release() -> None:
            if not run.is_given_up:
                _free(run, slot)

        run.release = release

    async def _work(self, run: WorkerRun, slot: WorkerSlot, step: StepView | None) -> Outcome:
        executor = slot.worker.executor
        if run.stop_reason is not None and step is None:
            return Outcome(text="It was stopped before it began.")
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
        working = executor.begin(self._job(run, slot, step, inputs), self._emit(run))
        run.working = working
        if run.stop_reason is not None:
            working.stop()
        outcome = await working.result()
        if step is not None and run.stop_reason is None:
            await self._complete(run, step, outcome)
        return outcome

    def _job(
        self,
        run: WorkerRun,
        slot: WorkerSlot,
        step: StepView | None,
        inputs: Mapping[StepId, str],
    ) -> Job:
        order, claims = run.order, slot.worker.executor.claims
        transcript = self._transcripts
        return Job(
            run_id=run.run_id,
            worker_agent_id=run.agent_id,
            definition=slot.worker.definition,
            task_id=run.task_id,
            task_title=run.task_title,
            worker_pool_id=slot.pool_id,
            instruction=order.instruction,
            context=order.context,
            constraints=order.constraints,
            allowed_step_ids=order.allowed_step_ids,
            expected_output_schema=order.expected_output_schema,
            allowed_tools=run.allowed_tools,
            step=step,
            inputs=inputs,
            task_tools=self._task_tools(run) if claims else (),
            board_text=self._board_text(run) if claims else None,
            transcript=transcript / f"{run.run_id}.jsonl" if transcript is not None else None,
        )

    def _emit(self, run: WorkerRun) -> Emit:
        event_bus, run_id = self.event_bus, run.run_id

        async def emit(said: RunOutput) -> None:
            event_bus.publish_output(run_id, said)

        return emit

    async def claim(self, run: WorkerRun, step_id: StepId) -> StepView:
        """Claim a step for a run, and keep what its later writes must carry.

        Raises:
            RefusedError: the step is not to be had.
        """
        claiming = ClaimStep(task_id=run.task_id, step_id=step_id)
        receipt = await self.board.send(claiming, run.actor)
        assert receipt.step is not None
        run.step_id, run.fence = step_id, receipt.fence
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
                if refused.code not in (Code.STEP_ALREADY_CLAIMED, Code.STEP_NOT_READY):
                    raise
                self.tell(RunEvent.STEP_CLAIM_SKIPPED, run, code=refused.code.value)
        return None

    async def _complete(self, run: WorkerRun, step: StepView, outcome: Outcome) -> None:
        done = UpdateStep(
            task_id=run.task_id,
            step_id=step.step_id,
            status=StepStatus.COMPLETED,
            result_summary=short(outcome.text),
            artifact_ids=outcome.artifact_ids or None,
            fence=run.fence,
        )
        run.reporting += 1
        try:
            await self.board.send(done, run.actor)
            run.fence = None
        finally:
            run.reporting -= 1
        run.step_status, run.step_result = StepStatus.COMPLETED, done.result_summary

    async def end(
        self, run: WorkerRun, outcome: Outcome | None, failure: BaseException | None
    ) -> None:
        """Write down how a run ended: first on the board, then for whoever waits. Once."""
        if run.is_ending:
            return
        run.is_ending = True
        run.drop_timers()
        how = run.stop_reason or (RunOutcome.FAILED if failure else RunOutcome.FINISHED)
        try:
            trouble: TaskloomError | None = None
            if not run.keeps_step and run.step_status is not StepStatus.COMPLETED:
                trouble = await self.let_go(run, how, failure)
            run.ending = await self._ending(run, how, outcome, failure or trouble)
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of an end
            run.ending = _without_outcome(run, how, failure or error)
        finally:
            run.ending = run.ending or _without_outcome(run, how, failure)
            run.fence = None
            if run.release is not None:
                run.release()  # First of all: who hears of the end may dispatch again.
            self.event_bus.end_run(run.run_id)
            run.done.set()
        self._tell_end(run, how)

    async def let_go(
        self, run: WorkerRun, how: RunOutcome, failure: BaseException | None
    ) -> TaskloomError | None:
        """Fail the step that the run still holds; return what kept that from being written."""
        try:
            if how is RunOutcome.FAILED and run.fence is not None and failure is not None:
                # The reason is a word of the log; what was raised goes beside it.
                failed = UpdateStep(
                    task_id=run.task_id,
                    step_id=run.step_id or "",
                    status=StepStatus.FAILED,
                    reason=how.value,
                    result_summary=short(str(error_of(failure)["message"])),
                    fence=run.fence,
                )
                await self.board.send(failed, run.actor)
            else:
                await self.board.send(EndRun(task_id=run.task_id, outcome=how), run.actor)
        except RefusedError:
            return None  # It no longer held anything, or the Task is over.
        except TaskloomError as error:
            return error  # The lease will run out, and the step comes back by itself.
        return None

    async def _ending(
        self,
        run: WorkerRun,
        how: RunOutcome,
        outcome: Outcome | None,
        failure: BaseException | None,
    ) -> RunReport:
        if run.step_status is not StepStatus.COMPLETED:
            await self._look_at_step(run)
        error = error_of(failure) if failure is not None else None
        result: Any = None
        if outcome is not None:
            result = {"text": outcome.text}
            if outcome.data is not None:
                result["data"] = outcome.data
            error = self._check_result(run, outcome, result) or error
        return RunReport(
            worker_agent_id=run.agent_id,
            child_run_id=run.run_id,
            selection_reason=run.selection_reason,
            claimed_step_id=run.step_id,
            step_status=run.step_status,
            step_result_summary=run.step_result,
            no_step_claimed=run.step_id is None,
            worker_result=result,
            outcome=_OUTCOMES[how],
            error=error,
            note=run.why,
        )

    async def _look_at_step(self, run: WorkerRun) -> None:
        """Take the step's state from the board: its word stands, not the worker's."""

        def look(task: Task) -> StepView | None:
            # By the run, not by what it knows: it may have been cancelled inside its claim.
            step = task.steps.get(task.claims.get(run.run_id, ""))
            return view_step(step) if step is not None else None

        try:
            step = await self.board.read(run.task_id, look, run.actor)
        except TaskloomError:
            return
        if step is not None:
            run.step_id = step.step_id
            run.step_status, run.step_result = step.status, step.result_summary

    def _check_result(
        self, run: WorkerRun, outcome: Outcome, result: dict[str, Any]
    ) -> dict[str, Any] | None:
        schema = run.order.expected_output_schema
        if schema is None:
            return None
        try:
            result["data"] = read_result(outcome.text, outcome.data, schema)
        except InvalidResultError as wrong:
            self.tell(RunEvent.CHILD_SCHEMA_FAILED, run, error=str(wrong))
            return {
                "code": Code.VALIDATION_ERROR.value,
                "message": f"The worker's result does not fit expected_output_schema: {wrong}. "
                "Its text is in worker_result; read that, or dispatch again.",
                "details": {"reason": RunEvent.CHILD_SCHEMA_FAILED.value},
            }
        return None

    def tell(self, event: RunEvent, run: WorkerRun, **payload: Any) -> None:
        """Publish an event about a run."""
        if self.event_bus.has_listeners:
            self.event_bus.publish(
                SessionEvent(
                    event_type=event.value,
                    session_id=run.actor.session_id,
                    at=self.board.clock.now(),
                    task_id=run.task_id,
                    step_id=run.step_id,
                    agent_id=run.agent_id,
                    run_id=run.run_id,
                    payload=payload,
                )
            )

    def _tell_end(self, run: WorkerRun, how: RunOutcome) -> None:
        ending = run.ending
        if ending is None or not self.event_bus.has_listeners:
            return
        events = {
            RunOutcome.FINISHED: RunEvent.CHILD_COMPLETED,
            RunOutcome.CANCELLED: RunEvent.CHILD_CANCELLED,
        }
        status = ending.step_status.value if ending.step_status is not None else None
        self.tell(
            events.get(how, RunEvent.CHILD_FAILED),
            run,
            outcome=ending.outcome,
            step_status=status,
            error=ending.error,
        )


def _without_outcome(run: WorkerRun, how: RunOutcome, failure: BaseException | None) -> RunReport:
    return RunReport(
        worker_agent_id=run.agent_id,
        child_run_id=run.run_id,
        selection_reason=run.selection_reason,
        claimed_step_id=run.step_id,
        step_status=run.step_status,
        no_step_claimed=run.step_id is None,
        outcome=_OUTCOMES[how],
        error=error_of(failure) if failure is not None else None,
        note=run.why,
    )


def _free(run: WorkerRun, slot: WorkerSlot) -> None:
    if slot.worker_run is run:
        slot.worker_run = None


def _is_lost(error: BaseException) -> bool:
    """Tell whether the step or its whole Task is no longer the run's to write."""
    return isinstance(error, RefusedError) and error.code in (Code.LEASE_LOST, Code.TASK_TERMINAL)
