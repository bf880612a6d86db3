"""The board's Tasks as plans, live: each active Task is one, for as long as it is active."""

import asyncio
import logging
from typing import Final

from taskloom.acp.plans.from_board import TASK_PLAN, task_plan
from taskloom.acp.plans.publisher import PlanPublisher
from taskloom.board import TASK_TERMINAL, Actor, Task
from taskloom.errors import TaskloomError
from taskloom.ids import TaskId
from taskloom.runtime import Board

DISCOVER_S: Final = 0.5
"""How often Tasks that another process began are looked for; our own are told at once."""

_LOG = logging.getLogger("taskloom.acp")


class BoardFeed:
    """Shows the Tasks of one board within turns."""

    def __init__(self, board: Board, publisher: PlanPublisher) -> None:
        """Show nothing yet."""
        self._board = board
        self._publisher = publisher
        self._actor: Actor = board.orchestrator("taskloom_acp", run_id="run_view")
        self._watching: dict[TaskId, asyncio.Task[None]] = {}
        self._finder: asyncio.Task[None] | None = None
        self._more = asyncio.Event()

    def start(self) -> None:
        """Begin to follow every active Task."""
        if self._finder is None:
            self._finder = asyncio.get_running_loop().create_task(self._find())

    def look(self) -> None:
        """Look for new Tasks now: something was begun."""
        self._more.set()

    async def stop(self) -> None:
        """Stop following; what is shown stays."""
        tasks = [*self._watching.values(), *([self._finder] if self._finder else [])]
        self._watching.clear()
        self._finder = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def show(self) -> None:
        """Bring the plans of all Tasks to their true state."""
        active = await self._active()
        for task_id in active:
            view = await self._board.get(task_id, self._actor)
            if view.status not in TASK_TERMINAL:
                self._publisher.publish(task_plan(view))
        for plan in self._publisher.plans:
            task_id = plan.id.removeprefix(TASK_PLAN)
            if plan.id.startswith(TASK_PLAN) and task_id not in active:
                await self._conclude(task_id)

    def hide(self) -> None:
        """Take the plans of all Tasks away."""
        for plan in self._publisher.plans:
            if plan.id.startswith(TASK_PLAN):
                self._publisher.remove(plan.id)

    async def _active(self) -> list[TaskId]:
        """Return the Tasks that have not ended, the oldest first."""
        lines = (await self._board.list(self._actor)).tasks
        terminal = {status.value for status in TASK_TERMINAL}
        there = [one for one in lines if one.status not in (*terminal, "unavailable")]
        return [line.task_id for line in reversed(there)]

    async def _find(self) -> None:
        while True:
            self._more.clear()
            try:
                for task_id in await self._active():
                    if task_id not in self._watching:
                        self._watch(task_id)
            except (TaskloomError, OSError) as error:
                _LOG.warning("the board cannot be listed: %s", error)
            try:
                await asyncio.wait_for(self._more.wait(), DISCOVER_S)
            except TimeoutError:
                continue

    def _watch(self, task_id: TaskId) -> None:
        task = asyncio.get_running_loop().create_task(self._follow(task_id))
        self._watching[task_id] = task

        def forget(_: asyncio.Task[None]) -> None:
            if self._watching.get(task_id) is task:
                del self._watching[task_id]

        task.add_done_callback(forget)

    async def _follow(self, task_id: TaskId) -> None:
        """Show every change of a Task until its end, and then take its plan away."""
        seen = -1
        try:
            async with await self._board.watch(task_id) as watch:
                while True:
                    changes = watch.reset()
                    seq = await self._board.read(task_id, _seq, self._actor)
                    if seq != seen and await self._show(task_id):
                        return
                    seen = seq
                    await watch.wait(changes)
        except (TaskloomError, OSError) as error:
            _LOG.warning("the Task %s cannot be shown: %s", task_id, error)

    async def _show(self, task_id: TaskId) -> bool:
        """Show a Task as it is; tell whether it has ended, and its plan is taken away."""
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
