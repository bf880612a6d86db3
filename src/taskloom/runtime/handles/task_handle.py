"""One Task for asynchronous callers: change its plan, claim its steps, wait for its end."""

from collections.abc import AsyncGenerator, Iterable

import anyio

from taskloom.board import (
    Actor,
    AddStep,
    CancelStep,
    CancelTask,
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
from taskloom.runtime.handles.access import BoardAccess
from taskloom.runtime.handles.claim import Claim
from taskloom.runtime.handles.claims import claim_next_step, claim_step, end_run
from taskloom.runtime.handles.held_step import HeldStep
from taskloom.runtime.handles.plan import step
from taskloom.runtime.handles.tasks import (
    list_step_views,
    new_run_id,
    pool_of,
    wait_for_end,
)


class TaskHandle:
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

    async def update(self, *operations: Operation) -> Receipt:
        """Change the plan: all operations in order, or none."""
        return await self._board.send(
            UpdateBoard(task_id=self.task_id, operations=operations), self.actor
        )

    async def add_step(
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
        return await self.update(AddStep(step=new))

    async def reopen(self, step_id: StepId, reason: str | None = None) -> Receipt:
        """Let a blocked or failed step be tried again."""
        return await self.update(ReopenStep(step_id=step_id, reason=reason))

    async def cancel_step(self, step_id: StepId, reason: str | None = None) -> Receipt:
        """Cancel a step that no worker has begun, for good."""
        return await self.update(CancelStep(step_id=step_id, reason=reason))

    # Its end.

    async def complete(self, summary: str | None = None) -> Receipt:
        """Complete the Task. Every required step must be completed."""
        command = CompleteTask(task_id=self.task_id, result_summary=summary)
        return await self._board.send(command, self.actor)

    async def fail(self, reason: str | None = None) -> Receipt:
        """End the Task as failed, its open steps with it."""
        return await self._board.send(FailTask(task_id=self.task_id, reason=reason), self.actor)

    async def cancel(self, reason: str | None = None) -> Receipt:
        """End the Task as no longer wanted, its open steps with it."""
        return await self._board.send(CancelTask(task_id=self.task_id, reason=reason), self.actor)

    # What it looks like.

    async def view(self) -> TaskView:
        """Return the Task with all its steps, as it is now."""
        return await self._board.get(self.task_id, self.actor)

    async def steps(
        self, status: StepStatus | Iterable[StepStatus] | None = None
    ) -> list[StepView]:
        """Return all steps, or those of one or several statuses, in plan order."""
        return await list_step_views(self._board, self.task_id, self.actor, status)

    def follow(self, after: Seq = 0) -> AsyncGenerator[Record]:
        """Yield every event after line `after`, first the recorded ones, until the Task ends."""
        return self._board.follow(self.task_id, after=after)

    async def wait(self) -> TaskView:
        """Return the Task as it is when it has ended, whoever ends it."""
        return await wait_for_end(self._board, self.task_id, self.actor)

    # Its steps.

    async def claim(self, step_id: StepId, *, worker: AgentId) -> Claim:
        """Claim a ready step for a new run of the worker.

        Raises:
            RefusedError: The step is not ready, or another run has it.
        """
        pool = await pool_of(self._board, self.task_id, step_id, self.actor)
        run = self._new_run(worker, pool)
        try:
            return Claim(self._board, await claim_step(self._board, run, step_id))
        except RefusedError:
            raise
        except BaseException:
            await self._abandon(run)
            raise

    async def claim_next(
        self, *, worker: AgentId, pool: PoolId | None = None, wait: bool = False
    ) -> Claim | None:
        """Claim the first ready step of the pool, in plan order, for a new run of the worker.

        Return None if none is ready. With `wait`, return when one becomes ready, and None when the
        Task has ended or nothing can become ready without a change of the plan.
        """
        run = self._new_run(worker, pool)
        try:
            held: HeldStep | None = await claim_next_step(self._board, run, wait=wait)
        except RefusedError:
            raise
        except BaseException:
            await self._abandon(run)
            raise
        return None if held is None else Claim(self._board, held)

    async def claims(self, *, worker: AgentId, pool: PoolId | None = None) -> AsyncGenerator[Claim]:
        """Yield claim after claim, as `claim_next` with `wait` returns them."""
        while (claim := await self.claim_next(worker=worker, pool=pool, wait=True)) is not None:
            yield claim

    def _new_run(self, worker: AgentId, pool: PoolId | None) -> Actor:
        return self._board.worker(
            worker, run_id=new_run_id(worker), task_id=self.task_id, worker_pool_id=pool
        )

    async def _abandon(self, run: Actor) -> None:
        """End a run that was interrupted while it claimed: it may hold a step."""
        with anyio.CancelScope(shield=True):
            try:
                await end_run(self._board, self.task_id, run, RunOutcome.CANCELLED)
            except TaskloomError:
                return  # The lease will run out.

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.task_id}>"
