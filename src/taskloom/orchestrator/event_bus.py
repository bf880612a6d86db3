"""Events of a session and the output of its runs, for interfaces that watch them.

Board changes have the names of the log's events; `RunEvent` lists the others. No worker waits for a
listener: a listener that is too slow loses the oldest events and gets their number instead. The log
holds every board event for a later reader.
"""

from asyncio import Event as Signal
from collections import deque
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeAlias, TypeVar
from weakref import WeakSet

from msgspec import Struct

from taskloom.agent import Event
from taskloom.ids import AgentId, RunId, SessionId, StepId, TaskId

_QUEUE_MAX: Final = 10_000
"""Events that one listener may be behind."""

_OUTPUT_MAX: Final = 500
"""The last output of a run that a later listener still gets."""

_RUNS_MAX: Final = 200
"""Ended runs whose output is kept; their transcripts hold the rest."""

ORCHESTRATOR: Final[RunId] = "orchestrator"
"""The run id of the Orchestrator's own run, for `output`, `message` and `stop`."""

RunOutput: TypeAlias = Event | str
"""What a run emits: an event of an agent, or a line of text."""

_T = TypeVar("_T")


class RunEvent(StrEnum):
    """Session events that are not changes of the board."""

    STEP_CLAIM_SKIPPED = "task_step_claim_skipped"
    WAL_REPLAYED = "task_wal_replayed"
    WAL_FAILED = "task_wal_failed"
    WORKER_DISPATCHED = "worker_dispatched"
    WORKER_DISPATCH_FAILED = "worker_dispatch_failed"
    CHILD_CREATED = "child_agent_created"
    CHILD_COMPLETED = "child_agent_completed"
    CHILD_FAILED = "child_agent_failed"
    CHILD_CANCEL_REQUESTED = "child_agent_cancel_requested"
    CHILD_CANCELLED = "child_agent_cancelled"
    CHILD_CANCEL_TIMEOUT = "child_agent_cancel_timeout"
    CHILD_SCHEMA_FAILED = "child_result_schema_validation_failed"
    EVENTS_MISSED = "events_missed"
    """This listener was too slow and lost `payload["count"]` events. The log has them."""


class SessionEvent(Struct, frozen=True, kw_only=True):
    """One event. `event_type` is a name of the log's events or of `RunEvent`."""

    event_type: str
    session_id: SessionId
    at: datetime
    task_id: TaskId | None = None
    step_id: StepId | None = None
    agent_id: AgentId | None = None
    run_id: RunId | None = None
    wal_seq: int | None = None
    payload: dict[str, Any] = {}


class Listener(Generic[_T]):
    """A queue of events: read it with `async for`, or drain it with `take`.

    It receives from its creation until it is closed, its block is left, or no reference remains.
    """

    def __init__(
        self, first: "deque[_T] | None" = None, missed: Callable[[int, _T], _T] | None = None
    ) -> None:
        """Start with the events of `first`.

        `missed` makes the event that reports how many were lost before another event.
        """
        self._queue: deque[_T] = deque(first or (), _QUEUE_MAX)
        self._make_missed = missed
        self._signal = Signal()
        self._closed = False
        self.missed = 0
        """Events that were lost and not reported yet."""

    async def __aenter__(self) -> Self:
        """Enter a block at whose end the listener is closed."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the listener."""
        self.close()

    @property
    def is_closed(self) -> bool:
        """Whether no further event can come."""
        return self._closed

    def put(self, event: _T) -> None:
        """Queue an event; the oldest is lost if the queue is full."""
        if self._closed:
            return
        if len(self._queue) == _QUEUE_MAX:
            self.missed += 1
        self._queue.append(event)
        self._signal.set()

    def close(self) -> None:
        """Accept no further event; iteration ends after those that are queued."""
        self._closed = True
        self._signal.set()

    def __aiter__(self) -> Self:
        """Return the listener."""
        return self

    async def __anext__(self) -> _T:
        """Wait for the next event and return it."""
        while not self._queue:
            if self._closed:
                raise StopAsyncIteration
            self._signal.clear()
            await self._signal.wait()
        # What was lost is older than all that is queued, so its number comes first.
        return self._missed_first() or self._queue.popleft()

    def take(self) -> list[_T]:
        """Return the queued events without waiting."""
        first = self._missed_first()
        found = list(self._queue) if first is None else [first, *self._queue]
        self._queue.clear()
        return found

    def _missed_first(self) -> _T | None:
        if not self.missed or self._make_missed is None or not self._queue:
            return None
        count, self.missed = self.missed, 0
        return self._make_missed(count, self._queue[0])


class _Output:
    """The last output of one run, and its listeners."""

    __slots__ = ("ended", "kept", "listeners")

    def __init__(self) -> None:
        self.kept: deque[RunOutput] = deque(maxlen=_OUTPUT_MAX)
        self.listeners: WeakSet[Listener[RunOutput]] = WeakSet()
        self.ended = False


class EventBus:
    """The events of one session. Use it from one event loop."""

    def __init__(self) -> None:
        """Start without listeners."""
        # Weak: an `async for` that is left with `break` leaves no listener behind.
        self._listeners: WeakSet[Listener[SessionEvent]] = WeakSet()
        self._outputs: dict[RunId, _Output] = {}
        self._is_closed = False

    @property
    def has_listeners(self) -> bool:
        """Whether any listener would receive an event."""
        return bool(self._listeners) and any(not each.is_closed for each in self._listeners)

    def listen(self) -> Listener[SessionEvent]:
        """Return a listener to all events from now on."""
        listener = Listener(missed=_missed)
        if self._is_closed:
            listener.close()
        self._listeners.add(listener)
        return listener

    def publish(self, event: SessionEvent) -> None:
        """Queue an event for every listener."""
        for listener in self._listeners:
            listener.put(event)

    def begin_run(self, run_id: RunId) -> None:
        """Keep the output of a run from now on."""
        self._outputs.setdefault(run_id, _Output())

    def publish_output(self, run_id: RunId, output: RunOutput) -> None:
        """Add to a run's output; output after its end is dropped."""
        run = self._outputs.get(run_id)
        if run is None or run.ended:
            return
        run.kept.append(output)
        for listener in run.listeners:
            listener.put(output)

    def output(self, run_id: RunId) -> Listener[RunOutput]:
        """Return a listener to one run: what is kept of its output, then what follows.

        It ends with the run, and at once for a run that is unknown or long ended.
        """
        run = self._outputs.get(run_id)
        listener = Listener(None if run is None else run.kept)
        if run is None or run.ended:
            listener.close()
        else:
            run.listeners.add(listener)
        return listener

    def end_run(self, run_id: RunId) -> None:
        """End the output of a run and its listeners."""
        run = self._outputs.get(run_id)
        if run is None:
            return
        run.ended = True
        for listener in run.listeners:
            listener.close()
        if len(self._outputs) > _RUNS_MAX:
            ended = [one for one, each in self._outputs.items() if each.ended]
            for one in ended[: len(self._outputs) - _RUNS_MAX]:
                del self._outputs[one]

    def close(self) -> None:
        """End every listener, and every one made later."""
        self._is_closed = True
        for listener in self._listeners:
            listener.close()
        for run_id in list(self._outputs):
            self.end_run(run_id)


def _missed(count: int, before: SessionEvent) -> SessionEvent:
    return SessionEvent(
        event_type=RunEvent.EVENTS_MISSED.value,
        session_id=before.session_id,
        at=before.at,
        payload={"count": count},
    )
