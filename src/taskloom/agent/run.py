"""A run as its caller sees it: listen to it, wait for it, cancel it.

    async for event in agent.run("…"):      # listen; leaving the loop ends the run
    result = await agent.run("…").wait()    # only the result
    async with agent.run("…") as run:       # the run is over when the block is

Listening puts the loop into a task of its own, tied to the reader; waiting runs it right
where the caller waits. It is the same loop either way.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextvars import copy_context
from types import TracebackType
from typing import Literal, Self, TypeAlias

import anyio

from taskloom.agent.channel import Channel
from taskloom.agent.context import await_in_context
from taskloom.agent.errors import AgentError
from taskloom.agent.events import Event, RunEnded
from taskloom.agent.loop import Loop
from taskloom.agent.result import Result
from taskloom.agent.run_context import Sink

StopAt: TypeAlias = Literal["now", "safe_point", "after_model", "after_tools"]

_SAFE_POINTS: dict[StopAt, frozenset[str]] = {
    "safe_point": frozenset({"model", "tools"}),
    "after_model": frozenset({"model"}),
    "after_tools": frozenset({"tools"}),
}

Opener: TypeAlias = Callable[[Sink | None], Awaitable[Loop]]
Closer: TypeAlias = Callable[[Loop, Result], Awaitable[Result]]
"""Called with the result before anybody sees it: it saves what must be saved."""


class Run:
    """One run of an agent, made by `Agent.run` or `Agent.resume`. It runs once."""

    def __init__(self, run_id: str, open_loop: Opener, close_loop: Closer) -> None:
        """Keep how the loop is made; nothing runs yet."""
        self.id = run_id
        self._open = open_loop
        self._close = close_loop
        self._begun = False
        self._result: Result | None = None
        self._loop: Loop | None = None
        self._scope: anyio.CancelScope | None = None
        self._stop_now = False
        self._stop_after: frozenset[str] = frozenset()
        self._timeout_s: float | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def result(self) -> Result:
        """The result, once the run has ended.

        Raises:
            AgentError: it has not.
        """
        if self._result is None:
            raise AgentError("The run has no result yet: read its events to the end, or `wait()`.")
        return self._result

    async def wait(self) -> Result:
        """Run without listening, and return the result."""
        self._begin()
        # In a context of its own: what hooks set stays inside the run, as it does in a task.
        await await_in_context(self._execute(None), copy_context())
        return self.result

    def cancel(self, at: StopAt = "now", *, timeout_s: float | None = None) -> None:
        """End the run as `cancelled`: at its next await, or at a safe point.

        Args:
            at: `now`; or `after_model` (before the tools of a reply run), `after_tools`
                (before the model is asked again), `safe_point` (whichever comes first).
            timeout_s: how long a safe point may take before the run is ended where it is.
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
            self._loop.live.stopping = self._stop_now
            self._loop.live.stop_after = self._stop_after
        if self._stop_now:
            self._scope.cancel()
        elif self._timeout_s is not None:
            deadline = anyio.current_time() + self._timeout_s
            self._scope.deadline = min(self._scope.deadline, deadline)
            self._timeout_s = None

    def _begin(self) -> None:
        if self._begun:
            raise AgentError("A run runs once; start another with `agent.run(...)`.")
        self._begun = True

    async def _execute(self, sink: Sink | None) -> None:
        result: Result | None = None
        try:
            with anyio.CancelScope() as self._scope:
                self._apply_cancel()
                self._loop = await self._open(sink)
                self._apply_cancel()
                result = await self._loop.drive()
            if self._loop is None:
                self._result = Result(self.id, "cancelled", [])
            else:
                result = result or await self._loop.cancelled()
                self._result = result  # Kept even if it cannot be saved.
                self._result = await self._close(self._loop, result)
        finally:
            self._scope = None
            if self._loop is not None and self._loop.live.journal is not None:
                self._loop.live.journal.close()
        if sink is not None:
            await sink(RunEnded(self._result))

    def __aiter__(self) -> AsyncIterator[Event]:
        """Run, and yield every event."""
        return self._events()

    async def _events(self) -> AsyncGenerator[Event]:
        self._begin()
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
        """Cancel the loop if it still runs, and wait until nothing of it is left."""
        task = self._task
        if task is None or task.done():
            return
        self.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([task])

    async def __aenter__(self) -> Self:
        """Enter a block at whose end the run is over."""
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
