"""One Task for callers without an event loop."""

from collections.abc import Generator, Iterable

from taskloom.board import (
    Actor,
    AddStep,
    CancelStep,
    CancelTask,
    Command,
    CompleteTask,
    FailTask,
    Operation,
    Receipt,
    ReopenStep,
    RunOutcome,
    StepStatus,
    StepView,
    TaskView,
    UpdateBoard,
)
from taskloom.board.validation import JsonData
from taskloom.errors import RefusedError, TaskloomError
from taskloom.ids import AgentId, PoolId, Seq, StepId, TaskId
from taskloom.runtime.follow import Record
from taskloom.runtime.handles.access import BoardAccess, run_blocking
from taskloom.runtime.handles.claims import claim_next_step, claim_step, end_run
from taskloom.runtime.handles.held_step import HeldStep
from taskloom.runtime.handles.plan import step
from taskloom.runtime.handles.sync_claim import SyncClaim
from taskloom.runtime.handles.tasks import (
    list_step_views,
    new_run_id,
    pool_of,
    wait_for_end,
)


class SyncTaskHandle:
    """One Task, by its id. `board.create_task` and `board.task` return it.

    Each method raises `RefusedError` if the board refuses; then nothing has changed. A Task that
    does not exist is refused at the first call.
    """

    def __init__(self, board: BoardAccess, task_id: TaskId, actor: Actor) -> None:
        """Act for the owner of the plan."""
        self.task_id = task_id
        self._board = board
        self.actor = actor

    # The plan.

    def update(self, *operations: Operation) -> Receipt:
        """Change the plan: all operations in order, or none."""
        return self._send(UpdateBoard(task_id=self.task_id, operations=operations))

    def add_step(
        self,
        step_id: StepId,
        title: str,
        *,
        after: Iterable[StepId] = (),
        summary: str = "",
        pool: PoolId | None = None,
        required: bool = True,
        metadata: JsonData = None,
    ) -> Receipt:
        """Add a step to the end of the plan; the parameters are those of `step`."""
        new = step(
            step_id,
            title,
            after=after,
            summary=summary,
            pool=pool,
            required=required,
            metadata=metadata,
        )
        return self.update(AddStep(step=new))

    def reopen(self, step_id: StepId, reason: str | None = None) -> Receipt:
        """Let a blocked or failed step be tried again."""
        return self.update(ReopenStep(step_id=step_id, reason=reason))

    def cancel_step(self, step_id: StepId, reason: str | None = None) -> Receipt:
        """Cancel a step that no worker has begun, for good."""
        return self.update(CancelStep(step_id=step_id, reason=reason))

    # Its end.

    def complete(self, summary: str | None = None) -> Receipt:
        """Complete the Task. Every required step must be completed."""
        command = CompleteTask(task_id=self.task_id, result_summary=summary)
        return self._send(command)

    def fail(self, reason: str | None = None) -> Receipt:
        """End the Task as failed, its open steps with it."""
        return self._send(FailTask(task_id=self.task_id, reason=reason))

    def cancel(self, reason: str | None = None) -> Receipt:
        """End the Task as no longer wanted, its open steps with it."""
        return self._send(CancelTask(task_id=self.task_id, reason=reason))

    # What it looks like.

    def view(self) -> TaskView:
        """Return the Task with all its steps, as it is now."""
        return run_blocking(self._board.get(self.task_id, self.actor))

    def steps(self, status: StepStatus | Iterable[StepStatus] | None = None) -> list[StepView]:
        """Return all steps, or those of one or several statuses, in plan order."""
        return run_blocking(list_step_views(self._board, self.task_id, self.actor, status))

    def follow(self, after: Seq = 0) -> Generator[Record]:
        """Yield every event after line `after`, first the recorded ones, until the Task ends."""
        records = self._board.follow(self.task_id, after=after)
        try:
            while True:
                yield run_blocking(anext(records))
        except StopAsyncIteration:
            return
        finally:
            run_blocking(records.aclose())

    def wait(self) -> TaskView:
        """Return the Task as it is when it has ended, whoever ends it."""
        return run_blocking(wait_for_end(self._board, self.task_id, self.actor))

    # Its steps.

    def claim(self, step_id: StepId, *, worker: AgentId) -> SyncClaim:
        """Claim a ready step for a new run of the worker.

        Raises:
            RefusedError: The step is not ready, or another run has it.
        """
        pool = run_blocking(pool_of(self._board, self.task_id, step_id, self.actor))
        run = self._new_run(worker, pool)
        try:
            return SyncClaim(self._board, run_blocking(claim_step(self._board, run, step_id)))
        except RefusedError:
            raise
        except BaseException:
            self._abandon(run)
            raise

    def claim_next(
        self, *, worker: AgentId, pool: PoolId | None = None, wait: bool = False
    ) -> SyncClaim | None:
        """Claim the first ready step of the pool, in plan order, for a new run of the worker.

        Return None if none is ready. With `wait`, return when one becomes ready, and None when the
        Task has ended or nothing can become ready without a change of the plan.
        """
        run = self._new_run(worker, pool)
        try:
            held: HeldStep | None = run_blocking(claim_next_step(self._board, run, wait=wait))
        except RefusedError:
            raise
        except BaseException:
            self._abandon(run)
            raise
        return None if held is None else SyncClaim(self._board, held)

    def claims(self, *, worker: AgentId, pool: PoolId | None = None) -> Generator[SyncClaim]:
        """Yield claim after claim, as `claim_next` with `wait` returns them."""
        while (claim := self.claim_next(worker=worker, pool=pool, wait=True)) is not None:
            yield claim

    def _new_run(self, worker: AgentId, pool: PoolId | None) -> Actor:
        return self._board.worker(
            worker, run_id=new_run_id(worker), task_id=self.task_id, worker_pool_id=pool
        )

    def _abandon(self, run: Actor) -> None:
        """End a run that was interrupted while it claimed: it may hold a step."""
        try:
            run_blocking(end_run(self._board, self.task_id, run, RunOutcome.CANCELLED))
        except TaskloomError:
            return  # The lease will run out.

    def _send(self, command: Command) -> Receipt:
        return run_blocking(self._board.send(command, self.actor))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.task_id}>"
