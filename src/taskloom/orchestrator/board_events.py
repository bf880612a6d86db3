"""Publishes the changes of the board's Tasks as session events, while anything listens."""

import asyncio
from contextlib import aclosing
from typing import Any

import msgspec

from taskloom.board import Actor
from taskloom.errors import TaskloomError
from taskloom.ids import Seq, TaskId
from taskloom.orchestrator.event_bus import EventBus, RunEvent, SessionEvent
from taskloom.runtime import Board


class BoardEvents:
    """Follows the logs of Tasks. A Task is followed once something listens."""

    def __init__(self, board: Board, event_bus: EventBus, actor: Actor) -> None:
        """Take the board, where to publish, and the actor that reads."""
        self._board = board
        self._event_bus = event_bus
        self._actor = actor
        self._followers: dict[TaskId, asyncio.Task[None] | None] = {}
        """The known Tasks, with the background task that follows each."""

    async def publish_replayed(self) -> None:
        """Publish which Tasks were replayed from their logs, and which logs cannot be read."""
        for line in (await self._board.list(self._actor)).tasks:
            if line.status == "unavailable":
                self._publish(RunEvent.WAL_FAILED, line.task_id, {"error": line.error})
            else:
                self._publish(RunEvent.WAL_REPLAYED, line.task_id, {})
                self.add(line.task_id)

    def add(self, task_id: TaskId, *, from_start: bool = False) -> None:
        """Publish the changes of a Task from now on, or from its first event."""
        if task_id not in self._followers or from_start:
            self._followers.setdefault(task_id, None)
            if self._event_bus.has_listeners:
                self._follow(task_id, 0 if from_start else self._board.durable_seq(task_id))

    def listening(self) -> None:
        """Follow the known Tasks, because something listens from now on."""
        for task_id in self._followers:
            self._follow(task_id, self._board.durable_seq(task_id))

    async def close(self) -> None:
        """Stop following."""
        followers = [each for each in self._followers.values() if each is not None]
        for follower in followers:
            follower.cancel()
        if followers:
            await asyncio.wait(followers)

    def _follow(self, task_id: TaskId, after: Seq | None) -> None:
        follower = self._followers[task_id]
        if follower is None or follower.done():
            create_task = asyncio.get_running_loop().create_task
            self._followers[task_id] = create_task(
                self._publish_changes(task_id, after), name=f"taskloom follow {task_id}"
            )

    async def _publish_changes(self, task_id: TaskId, after: Seq | None) -> None:
        try:
            if after is None:
                after = await self._board.read(task_id, lambda task: task.seq, self._actor)
            async with aclosing(self._board.follow(task_id, after=after)) as records:
                async for record in records:
                    if not self._event_bus.has_listeners:
                        continue
                    self._event_bus.publish(
                        SessionEvent(
                            event_type=record.event_type.value,
                            session_id=self._board.session_id,
                            at=record.created_at,
                            task_id=task_id,
                            step_id=record.step_id,
                            agent_id=record.actor_agent_id,
                            run_id=record.actor_run_id,
                            wal_seq=record.seq,
                            payload=msgspec.to_builtins(record.payload),
                        )
                    )
        except TaskloomError as error:
            self._publish(RunEvent.WAL_FAILED, task_id, {"error": error.as_dict()})
        self._followers.pop(task_id, None)  # It has ended, or cannot be read.

    def _publish(self, event: RunEvent, task_id: TaskId, payload: dict[str, Any]) -> None:
        self._event_bus.publish(
            SessionEvent(
                event_type=event.value,
                session_id=self._board.session_id,
                at=self._board.clock.now(),
                task_id=task_id,
                payload=payload,
            )
        )
