"""A run as its caller sees it: read its events, wait for it, cancel it.

    async for event in agent.run("…"):      # read the events; leaving the loop ends the run
    result = await agent.run("…").wait()    # only the result
    async with agent.run("…") as run:       # the run is over when the block is

Reading events puts the loop into a task of its own, tied to the reader; `wait` runs it in the
caller's task. It is the same loop either way.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextvars import copy_context
from types import TracebackType
from typing import Literal, Self, TypeAlias

import anyio

from taskloom.agent.checkpoints import CheckpointStore, pack
from taskloom.agent.errors import AgentError
from taskloom.agent.events import Event, RunEnded
from taskloom.agent.loop.channel import Channel
from taskloom.agent.loop.config import AgentConfig
from taskloom.agent.loop.loop import Loop
from taskloom.agent.loop.run_context import Sink, await_in_context
from taskloom.agent.loop.run_source import RunSource
from taskloom.agent.result import Result

StopAt: TypeAlias = Literal["now", "safe_point", "after_model", "after_tools"]

_SAFE_POINTS: dict[StopAt, frozenset[str]] = {
    "safe_point": frozenset({"model", "tools"}),
    "after_model": frozenset({"model"}),
    "after_tools": frozenset({"tools"}),
}


class Run:
    """One run of an agent, made by `Agent.run` or `Agent.resume`. It runs once."""

    def __init__(
        self,
        config: AgentConfig,
        source: RunSource,
        *,
        checkpoints: CheckpointStore | None = None,
        stream: bool = True,
    ) -> None:
        """Nothing runs yet; use `Agent.run` to make one."""
        self.id = source.run_id
        self._config = config
        self._source = source
        self._checkpoints = checkpoints
        self._stream = stream
        self._started = False
        self._result: Result | None = None
        self._loop: Loop | None = None
        self._scope: anyio.CancelScope | None = None
        self._stop_now = False
        self._stop_after: frozenset[str] = frozenset()
        self._timeout_s: float | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def result(self) -> Result:
        """The result of the run, once it has ended.

        Raises:
            AgentError: the run has not ended.
        """
        if self._result is None:
            raise AgentError("The run has no result yet: read its events to the end, or `wait()`.")
        return self._result

    async def wait(self) -> Result:
        """Run without reading events, and return the result."""
        self._start()
        # In a context of its own, as in a task: what hooks set stays inside the run.
        await await_in_context(self._execute(None), copy_context())
        return self.result

    def cancel(self, at: StopAt = "now", *, timeout_s: float | None = None) -> None:
        """End the run as `cancelled`: at its next await, or at a safe point.

        Args:
            at: `now`; or `after_model` (before the tools of a reply run), `after_tools`
                (before the next model call), `safe_point` (the first of the two).
            timeout_s: how long to wait for the safe point before the run is ended at once.
        """
        if at == "now":
            self._stop_now = True
        else:
            self._stop_after |= _SAFE_POINTS[at]
            self._timeout_s = _sooner(self._timeout_s, timeout_s)
        self._apply_cancel()

    def _apply_cancel(self) -> None:
        if self._scope is None:
            return
        if self._loop is not None:
            self._loop.context.stopping = self._stop_now
            self._loop.context.stop_after = self._stop_after
        if self._stop_now:
            self._scope.cancel()
        elif self._timeout_s is not None:
            deadline = anyio.current_time() + self._timeout_s
            self._scope.deadline = min(self._scope.deadline, deadline)
            self._timeout_s = None

    def _start(self) -> None:
        if self._started:
            raise AgentError("A run runs once; start another one with `agent.run(...)`.")
        self._started = True

    async def _execute(self, sink: Sink | None) -> None:
        """Open the run, drive its loop to the end, save or delete its checkpoint, and close it."""
        result: Result | None = None
        try:
            with anyio.CancelScope() as self._scope:
                self._apply_cancel()
                self._loop = await Loop.open(self._config, self._source, sink, stream=self._stream)
                self._apply_cancel()
                result = await self._loop.run()
            if self._loop is None:
                self._result = Result(self.id, "cancelled", [])
            else:
                # Set before saving, so that a failed save does not lose the result.
                self._result = result or await self._loop.end_cancelled()
                await self._save(self._loop, self._result)
        finally:
            self._scope = None
            if self._loop is not None and self._loop.context.journal is not None:
                self._loop.context.journal.close()
        if sink is not None:
            await sink(RunEnded(self._result))

    async def _save(self, loop: Loop, result: Result) -> None:
        """Keep a checkpoint of a run that can be resumed, and no other."""
        if self._checkpoints is None:
            return
        if result.stop_reason in ("interrupted", "cancelled"):
            await self._checkpoints.save(result.run_id, pack(loop.context.state))
        else:
            await self._checkpoints.delete(result.run_id)

    def __aiter__(self) -> AsyncIterator[Event]:
        """Run, and yield every event."""
        return self._events()

    async def _events(self) -> AsyncGenerator[Event]:
        self._start()
        channel = Channel()
        task = asyncio.create_task(self._execute(channel.send), name=f"taskloom run {self.id}")
        task.add_done_callback(lambda _: channel.finish())
        self._task = task
        try:
            while (event := await channel.receive()) is not None:
                yield event
            await task
        finally:
            channel.leave()
            await self._end_task()

    async def _end_task(self) -> None:
        """Cancel the loop if it still runs, and wait for its end."""
        task = self._task
        if task is None or task.done():
            return
        self.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([task])

    async def __aenter__(self) -> Self:
        """Enter a block; the run ends with it."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the run if it still runs."""
        await self._end_task()


def _sooner(one: float | None, other: float | None) -> float | None:
    known = [seconds for seconds in (one, other) if seconds is not None]
    return min(known) if known else None
