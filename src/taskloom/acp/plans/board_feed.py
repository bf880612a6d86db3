"""The Tasks of the board as plans: each active Task is one plan, for as long as it is active."""

import asyncio
import logging
from typing import Any, Final

from taskloom.acp.plans.plan import EntryState, ItemsPlan, PlanEntry
from taskloom.acp.plans.publisher import PlanPublisher
from taskloom.board import TASK_TERMINAL, Actor, StepStatus, StepView, Task, TaskView
from taskloom.errors import TaskloomError
from taskloom.ids import TaskId
from taskloom.runtime import Board

DISCOVER_S: Final = 0.5
"""How often Tasks that another process created are looked for."""

TASK_PLAN: Final = "task-"
"""The prefix of the ids of these plans, so that no other plan has such an id."""

STATE: Final[dict[StepStatus, EntryState]] = {
    StepStatus.PENDING: "pending",
    StepStatus.READY: "pending",
    StepStatus.CLAIMED: "in_progress",
    StepStatus.RUNNING: "in_progress",
    StepStatus.BLOCKED: "blocked",
    StepStatus.COMPLETED: "completed",
    StepStatus.FAILED: "failed",
    StepStatus.CANCELLED: "cancelled",
}

_LOG = logging.getLogger("taskloom.acp")


def step_entry(step: StepView) -> PlanEntry:
    """Return a step of the board as a plan entry. Pure."""
    details: dict[str, Any] = {"stepId": step.step_id, "state": step.status.value}
    if step.claimed_by_agent_id is not None:
        details["worker"] = step.claimed_by_agent_id
    return PlanEntry(
        text=step.title,
        state=STATE[step.status],
        priority="medium" if step.required else "low",
        note=step.reason or "",
        details=details,
    )


def task_plan(task: TaskView) -> ItemsPlan:
    """Return a Task of the board as a plan, its steps in the order of their creation. Pure."""
    entries = tuple(step_entry(step) for step in task.steps)
    return ItemsPlan(TASK_PLAN + task.task_id, entries, task.title)


class BoardFeed:
    """Publishes the Tasks of one board as plans, within turns."""

    def __init__(self, board: Board, publisher: PlanPublisher) -> None:
        """Take both; nothing is published yet."""
        self._board = board
        self._publisher = publisher
        self._actor: Actor = board.orchestrator("taskloom_acp", run_id="run_view")
        self._followers: dict[TaskId, asyncio.Task[None]] = {}
        self._finder: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()

    def start(self) -> None:
        """Start to follow every active Task."""
        if self._finder is None:
            self._finder = asyncio.get_running_loop().create_task(self._find_tasks())

    def wake(self) -> None:
        """Look for new Tasks now, since one was created."""
        self._wake.set()

    async def stop(self) -> None:
        """Stop following; the plans stay as they are."""
        tasks = [*self._followers.values(), *([self._finder] if self._finder else [])]
        self._followers.clear()
        self._finder = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def publish_all(self) -> None:
        """Publish every Task in its current state, and remove the plans of ended ones."""
        active = await self._active_tasks()
        for task_id in active:
            view = await self._board.get(task_id, self._actor)
            if view.status not in TASK_TERMINAL:
                self._publisher.publish(task_plan(view))
        for plan in self._publisher.plans:
            task_id = plan.id.removeprefix(TASK_PLAN)
            if plan.id.startswith(TASK_PLAN) and task_id not in active:
                await self._conclude(task_id)

    def remove_all(self) -> None:
        """Remove the plans of all Tasks."""
        for plan in self._publisher.plans:
            if plan.id.startswith(TASK_PLAN):
                self._publisher.remove(plan.id)

    async def _active_tasks(self) -> list[TaskId]:
        """Return the Tasks that have not ended, the oldest first."""
        lines = (await self._board.list(self._actor)).tasks
        skipped = {*(status.value for status in TASK_TERMINAL), "unavailable"}
        return [line.task_id for line in reversed(lines) if line.status not in skipped]

    async def _find_tasks(self) -> None:
        while True:
            self._wake.clear()
            try:
                for task_id in await self._active_tasks():
                    if task_id not in self._followers:
                        self._start_follower(task_id)
            except (TaskloomError, OSError) as error:
                _LOG.warning("cannot list the Tasks of the board: %s", error)
            try:
                await asyncio.wait_for(self._wake.wait(), DISCOVER_S)
            except TimeoutError:
                continue

    def _start_follower(self, task_id: TaskId) -> None:
        task = asyncio.get_running_loop().create_task(self._follow(task_id))
        self._followers[task_id] = task

        def forget(_: asyncio.Task[None]) -> None:
            if self._followers.get(task_id) is task:
                del self._followers[task_id]

        task.add_done_callback(forget)

    async def _follow(self, task_id: TaskId) -> None:
        """Publish every change of a Task until it ends, then remove its plan."""
        published = -1
        try:
            async with await self._board.watch(task_id) as watch:
                while True:
                    changes = watch.reset()
                    seq = await self._board.read(task_id, _seq, self._actor)
                    if seq != published and await self._publish(task_id):
                        return
                    published = seq
                    await watch.wait(changes)
        except (TaskloomError, OSError) as error:
            _LOG.warning("cannot show the Task %s: %s", task_id, error)

    async def _publish(self, task_id: TaskId) -> bool:
        """Publish a Task; return whether it has ended, which removes its plan."""
        view = await self._board.get(task_id, self._actor)
        if view.status in TASK_TERMINAL:
            await self._publisher.conclude(task_plan(view))
            return True
        self._publisher.publish(task_plan(view))
        return False

    async def _conclude(self, task_id: TaskId) -> None:
        try:
            view = await self._board.get(task_id, self._actor)
        except TaskloomError:
            self._publisher.remove(TASK_PLAN + task_id)
            return
        await self._publisher.conclude(task_plan(view))


def _seq(task: Task) -> int:
    return task.seq
