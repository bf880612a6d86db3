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
from taskloom.errors import Code, Refused, TaskloomError
from taskloom.ids import StepId
from taskloom.orchestra.child import Child, Ending
from taskloom.orchestra.executor import Emit, Job, Outcome
from taskloom.orchestra.happening import Happening, RunEvent
from taskloom.orchestra.hub import Hub, Said
from taskloom.orchestra.result_check import ResultWrong, read_result
from taskloom.orchestra.roster import Seat
from taskloom.orchestra.run_error import error_of, short, to_the_end
from taskloom.runtime import Board

_OUTCOMES: Final = {
    RunOutcome.FINISHED: "completed",
    RunOutcome.FAILED: "failed",
    RunOutcome.TIMEOUT: "timeout",
    RunOutcome.CANCELLED: "cancelled",
}

MakeTaskTools: TypeAlias = Callable[[Child], Sequence[Tool]]
MakeBoardText: TypeAlias = Callable[[Child], Callable[[], Awaitable[str]]]


class Lives:
    """Runs workers on a board, one call of `live` for each run."""

    def __init__(
        self,
        board: Board,
        hub: Hub,
        *,
        task_tools: MakeTaskTools,
        board_text: MakeBoardText,
        transcripts: Path | None,
    ) -> None:
        """Keep what every run needs."""
        self.board = board
        self.hub = hub
        self._task_tools = task_tools
        self._board_text = board_text
        self._transcripts = transcripts

    async def live(self, child: Child, seat: Seat, step: StepView | None = None) -> None:
        """Let a run live, from here to its end; `step` is one that was claimed for it already."""
        task = child.task = asyncio.current_task()
        assert task is not None
        self._seat(child, seat)
        if self.hub.has_listeners:
            self.tell(RunEvent.CHILD_CREATED, child, worker_pool_id=seat.pool_id)
            self.tell(RunEvent.WORKER_DISPATCHED, child, selection=child.selection_reason)
        outcome: Outcome | None = None
        failure: BaseException | None = None
        try:
            outcome = await self._work(child, seat, step)
        except asyncio.CancelledError as cancelled:
            failure = cancelled
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a worker's run has an end, whatever it raises
            failure = error
            if _is_lost(error) and child.stop_reason is None:
                # Core's own write came too late: the run did nothing wrong.
                child.stop_reason, child.why = RunOutcome.CANCELLED, str(error)
        from_outside = isinstance(failure, asyncio.CancelledError) and task.cancelling() > 0
        if child.is_given_up:
            # Its end is written already; the cancellation was meant for the worker alone.
            _free(child, seat)
            while task.cancelling():
                task.uncancel()
            return
        if from_outside and child.stop_reason is None:
            child.stop_reason = RunOutcome.CANCELLED
        try:
            if failure is None:
                await self.end(child, outcome, None)
            else:
                await to_the_end(self.end(child, outcome, failure))
        finally:
            _free(child, seat)
        if from_outside:
            assert failure is not None
            raise failure

    def _seat(self, child: Child, seat: Seat) -> None:
        seat.child = child

        def release() -> None:
            if not child.is_given_up:
                _free(child, seat)

        child.release = release

    async def _work(self, child: Child, seat: Seat, step: StepView | None) -> Outcome:
        executor = seat.worker.executor
        if child.stop_reason is not None and step is None:
            return Outcome(text="It was stopped before it began.")
        if not executor.claims and step is None:
            step = await self._claim_first(child)
            if step is None:
                return Outcome(text="No step in scope was ready any more.")
        inputs: Mapping[StepId, str] = {}
        if step is not None:
            starting = UpdateStep(
                task_id=child.task_id,
                step_id=step.step_id,
                status=StepStatus.RUNNING,
                fence=child.fence,
            )
            await self.board.send(starting, child.actor)
            if step.depends_on_step_ids:
                inputs = await self.inputs(child, step)
        working = executor.begin(self._job(child, seat, step, inputs), self._emit(child))
        child.working = working
        if child.stop_reason is not None:
            working.stop()
        outcome = await working.result()
        if step is not None and child.stop_reason is None:
            await self._complete(child, step, outcome)
        return outcome

    def _job(
        self, child: Child, seat: Seat, step: StepView | None, inputs: Mapping[StepId, str]
    ) -> Job:
        order, claims = child.order, seat.worker.executor.claims
        transcript = self._transcripts
        return Job(
            run_id=child.run_id,
            worker_agent_id=child.agent_id,
            definition=seat.worker.definition,
            task_id=child.task_id,
            task_title=child.task_title,
            worker_pool_id=seat.pool_id,
            instruction=order.instruction,
            context=order.context,
            constraints=order.constraints,
            allowed_step_ids=order.allowed_step_ids,
            expected_output_schema=order.expected_output_schema,
            allowed_tools=child.allowed_tools,
            step=step,
            inputs=inputs,
            task_tools=self._task_tools(child) if claims else (),
            board_text=self._board_text(child) if claims else None,
            transcript=transcript / f"{child.run_id}.jsonl" if transcript is not None else None,
        )

    def _emit(self, child: Child) -> Emit:
        hub, run_id = self.hub, child.run_id

        async def emit(said: Said) -> None:
            hub.say(run_id, said)

        return emit

    async def claim(self, child: Child, step_id: StepId) -> StepView:
        """Claim a step for a run, and keep what its later writes must carry.

        Raises:
            Refused: the step is not to be had.
        """
        claiming = ClaimStep(task_id=child.task_id, step_id=step_id)
        receipt = await self.board.send(claiming, child.actor)
        assert receipt.step is not None
        child.step_id, child.fence = step_id, receipt.fence
        return receipt.step

    async def inputs(self, child: Child, step: StepView) -> dict[StepId, str]:
        """Return the results of the steps that a step depends on."""

        def look(task: Task) -> dict[StepId, str]:
            before = (task.steps[on] for on in step.depends_on_step_ids if on in task.steps)
            return {each.step_id: each.result_summary for each in before if each.result_summary}

        return await self.board.read(child.task_id, look, child.actor)

    async def _claim_first(self, child: Child) -> StepView | None:
        query = QuerySteps(task_id=child.task_id, statuses=(StepStatus.READY,))
        for step in (await self.board.query(query, child.actor)).steps:
            try:
                return await self.claim(child, step.step_id)
            except Refused as refused:
                if refused.code not in (Code.STEP_ALREADY_CLAIMED, Code.STEP_NOT_READY):
                    raise
                self.tell(RunEvent.STEP_CLAIM_SKIPPED, child, code=refused.code.value)
        return None

    async def _complete(self, child: Child, step: StepView, outcome: Outcome) -> None:
        done = UpdateStep(
            task_id=child.task_id,
            step_id=step.step_id,
            status=StepStatus.COMPLETED,
            result_summary=short(outcome.text),
            artifact_ids=outcome.artifact_ids or None,
            fence=child.fence,
        )
        child.reporting += 1
        try:
            await self.board.send(done, child.actor)
            child.fence = None
        finally:
            child.reporting -= 1
        child.step_status, child.step_result = StepStatus.COMPLETED, done.result_summary

    async def end(
        self, child: Child, outcome: Outcome | None, failure: BaseException | None
    ) -> None:
        """Write down how a run ended: first on the board, then for whoever waits. Once."""
        if child.is_ending:
            return
        child.is_ending = True
        child.drop_timers()
        how = child.stop_reason or (RunOutcome.FAILED if failure else RunOutcome.FINISHED)
        try:
            trouble: TaskloomError | None = None
            if not child.keeps_step and child.step_status is not StepStatus.COMPLETED:
                trouble = await self.let_go(child, how, failure)
            child.ending = await self._ending(child, how, outcome, failure or trouble)
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of an end
            child.ending = _without_outcome(child, how, failure or error)
        finally:
            child.ending = child.ending or _without_outcome(child, how, failure)
            child.fence = None
            if child.release is not None:
                child.release()  # First of all: who hears of the end may dispatch again.
            self.hub.end(child.run_id)
            child.done.set()
        self._tell_end(child, how)

    async def let_go(
        self, child: Child, how: RunOutcome, failure: BaseException | None
    ) -> TaskloomError | None:
        """Fail the step that the run still holds; return what kept that from being written."""
        try:
            if how is RunOutcome.FAILED and child.fence is not None and failure is not None:
                # The reason is a word of the log; what was raised goes beside it.
                failed = UpdateStep(
                    task_id=child.task_id,
                    step_id=child.step_id or "",
                    status=StepStatus.FAILED,
                    reason=how.value,
                    result_summary=short(str(error_of(failure)["message"])),
                    fence=child.fence,
                )
                await self.board.send(failed, child.actor)
            else:
                await self.board.send(EndRun(task_id=child.task_id, outcome=how), child.actor)
        except Refused:
            return None  # It no longer held anything, or the Task is over.
        except TaskloomError as error:
            return error  # The lease will run out, and the step comes back by itself.
        return None

    async def _ending(
        self,
        child: Child,
        how: RunOutcome,
        outcome: Outcome | None,
        failure: BaseException | None,
    ) -> Ending:
        if child.step_status is not StepStatus.COMPLETED:
            await self._look_at_step(child)
        error = error_of(failure) if failure is not None else None
        result: Any = None
        if outcome is not None:
            result = {"text": outcome.text}
            if outcome.data is not None:
                result["data"] = outcome.data
            error = self._check_result(child, outcome, result) or error
        return Ending(
            worker_agent_id=child.agent_id,
            child_run_id=child.run_id,
            selection_reason=child.selection_reason,
            claimed_step_id=child.step_id,
            step_status=child.step_status,
            step_result_summary=child.step_result,
            no_step_claimed=child.step_id is None,
            worker_result=result,
            outcome=_OUTCOMES[how],
            error=error,
            note=child.why,
        )

    async def _look_at_step(self, child: Child) -> None:
        """Take the step's state from the board: its word stands, not the worker's."""

        def look(task: Task) -> StepView | None:
            # By the run, not by what it knows: it may have been cancelled inside its claim.
            step = task.steps.get(task.claims.get(child.run_id, ""))
            return view_step(step) if step is not None else None

        try:
            step = await self.board.read(child.task_id, look, child.actor)
        except TaskloomError:
            return
        if step is not None:
            child.step_id = step.step_id
            child.step_status, child.step_result = step.status, step.result_summary

    def _check_result(
        self, child: Child, outcome: Outcome, result: dict[str, Any]
    ) -> dict[str, Any] | None:
        schema = child.order.expected_output_schema
        if schema is None:
            return None
        try:
            result["data"] = read_result(outcome.text, outcome.data, schema)
        except ResultWrong as wrong:
            self.tell(RunEvent.CHILD_SCHEMA_FAILED, child, error=str(wrong))
            return {
                "code": Code.VALIDATION_ERROR.value,
                "message": f"The worker's result does not fit expected_output_schema: {wrong}. "
                "Its text is in worker_result; read that, or dispatch again.",
                "details": {"reason": RunEvent.CHILD_SCHEMA_FAILED.value},
            }
        return None

    def tell(self, event: RunEvent, child: Child, **payload: Any) -> None:
        """Publish an event about a run."""
        if self.hub.has_listeners:
            self.hub.publish(
                Happening(
                    event_type=event.value,
                    session_id=child.actor.session_id,
                    at=self.board.session.clock.now(),
                    task_id=child.task_id,
                    step_id=child.step_id,
                    agent_id=child.agent_id,
                    run_id=child.run_id,
                    payload=payload,
                )
            )

    def _tell_end(self, child: Child, how: RunOutcome) -> None:
        ending = child.ending
        if ending is None or not self.hub.has_listeners:
            return
        events = {
            RunOutcome.FINISHED: RunEvent.CHILD_COMPLETED,
            RunOutcome.CANCELLED: RunEvent.CHILD_CANCELLED,
        }
        status = ending.step_status.value if ending.step_status is not None else None
        self.tell(
            events.get(how, RunEvent.CHILD_FAILED),
            child,
            outcome=ending.outcome,
            step_status=status,
            error=ending.error,
        )


def _without_outcome(child: Child, how: RunOutcome, failure: BaseException | None) -> Ending:
    return Ending(
        worker_agent_id=child.agent_id,
        child_run_id=child.run_id,
        selection_reason=child.selection_reason,
        claimed_step_id=child.step_id,
        step_status=child.step_status,
        no_step_claimed=child.step_id is None,
        outcome=_OUTCOMES[how],
        error=error_of(failure) if failure is not None else None,
        note=child.why,
    )


def _free(child: Child, seat: Seat) -> None:
    if seat.child is child:
        seat.child = None


def _is_lost(error: BaseException) -> bool:
    """Tell whether the step or its whole Task is no longer the run's to write."""
    return isinstance(error, Refused) and error.code in (Code.LEASE_LOST, Code.TASK_TERMINAL)
