"""Who is told what happens: happenings for those who watch, and each run's own stream.

Nobody who works waits for somebody who watches: a listener that is too slow misses the oldest
events and is told how many. What matters is in the log, where it can be read again.
"""

from asyncio import Event as Signal
from collections import deque
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Final, Generic, Self, TypeAlias, TypeVar

from taskloom.agent import Event
from taskloom.ids import RunId
from taskloom.orchestrator.events import RunEvent, SessionEvent

_HELD_MAX: Final = 10_000
"""Events a listener may be behind."""

_KEPT_MAX: Final = 500
"""Events of a run that whoever looks at it later is still shown."""

_RUNS_MAX: Final = 200
"""Runs whose streams are kept after their end; their transcripts hold the rest."""

RunOutput: TypeAlias = Event | str
"""What a run tells: an event of an agent, or a line of output."""

_T = TypeVar("_T")


class Listener(Generic[_T]):
    """One who listens: `async with` it, and `async for` what comes."""

    def __init__(
        self,
        group: "list[Listener[_T]]",
        first: "list[_T] | None" = None,
        notice: Callable[[int, _T], _T] | None = None,
    ) -> None:
        """Belong to a group; begin with what is already there.

        `notice` makes the event that tells how many were missed before another one.
        """
        self._group = group
        self._held: deque[_T] = deque(first or (), _HELD_MAX)
        self._notice = notice
        self._more = Signal()
        self._closed = False
        self.missed = 0
        """Events that were left out and not told of yet."""

    async def __aenter__(self) -> Self:
        """Begin to listen."""
        self._group.append(self)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop listening."""
        if self in self._group:
            self._group.remove(self)

    def put(self, event: _T) -> None:
        """Take an event; the oldest makes room if need be."""
        if len(self._held) == _HELD_MAX:
            self.missed += 1
        self._held.append(event)
        self._more.set()

    def close(self) -> None:
        """Let the listener end when it has read all."""
        self._closed = True
        self._more.set()

    def __aiter__(self) -> AsyncIterator[_T]:
        """Listen."""
        return self

    async def __anext__(self) -> _T:
        """Return the next event, when there is one."""
        while not self._held:
            if self._closed:
                raise StopAsyncIteration
            self._more.clear()
            await self._more.wait()
        # What was missed is older than all that is left, so it is told first.
        return self._missed_first() or self._held.popleft()

    def _missed_first(self) -> _T | None:
        if not self.missed or self._notice is None or not self._held:
            return None
        count, self.missed = self.missed, 0
        return self._notice(count, self._held[0])

    def take(self) -> list[_T]:
        """Return what is there now, without waiting."""
        first = self._missed_first()
        found = list(self._held) if first is None else [first, *self._held]
        self._held.clear()
        return found


class _Stream:
    """What one run said, and who listens to it."""

    __slots__ = ("ended", "kept", "listeners")

    def __init__(self) -> None:
        self.kept: deque[RunOutput] = deque(maxlen=_KEPT_MAX)
        self.listeners: list[Listener[RunOutput]] = []
        self.ended = False


class EventBus:
    """One session's events. Use it from one event loop."""

    def __init__(self) -> None:
        """Begin with nobody listening."""
        self._listeners: list[Listener[SessionEvent]] = []
        self._streams: dict[RunId, _Stream] = {}
        self._is_closed = False

    @property
    def has_listeners(self) -> bool:
        """Whether anybody would hear a happening."""
        return bool(self._listeners)

    def listen(self) -> Listener[SessionEvent]:
        """Return a listener to all happenings from now on."""
        listener = Listener(self._listeners, notice=_missed)
        if self._is_closed:
            listener.close()
        return listener

    def publish(self, session_event: SessionEvent) -> None:
        """Tell everybody who listens."""
        for listener in self._listeners:
            listener.put(session_event)

    def begin(self, run_id: RunId) -> None:
        """Say that a run is there, so that it can be listened to."""
        self._streams.setdefault(run_id, _Stream())

    def say(self, run_id: RunId, said: RunOutput) -> None:
        """Add to a run's own stream; what comes after its end is for nobody."""
        stream = self._streams.get(run_id)
        if stream is None or stream.ended:
            return
        stream.kept.append(said)
        for listener in stream.listeners:
            listener.put(said)

    def stream(self, run_id: RunId) -> Listener[RunOutput]:
        """Return a listener to one run: first what is kept of it, then what comes.

        Of a run that is long over, or never was, nothing comes: the listener ends at once.
        """
        stream = self._streams.get(run_id)
        if stream is None:
            stream = _Stream()
            stream.ended = True
        listener = Listener(stream.listeners, list(stream.kept))
        if stream.ended:
            listener.close()
        return listener

    def end(self, run_id: RunId) -> None:
        """Say that a run is over."""
        stream = self._streams.get(run_id)
        if stream is None:
            return
        stream.ended = True
        for listener in stream.listeners:
            listener.close()
        if len(self._streams) > _RUNS_MAX:
            over = [one for one, each in self._streams.items() if each.ended]
            for one in over[: len(self._streams) - _RUNS_MAX]:
                del self._streams[one]

    def close(self) -> None:
        """End every listener, those that come later too."""
        self._is_closed = True
        for listener in self._listeners:
            listener.close()
        for run_id in list(self._streams):
            self.end(run_id)


def _missed(count: int, before: SessionEvent) -> SessionEvent:
    return SessionEvent(
        event_type=RunEvent.EVENTS_MISSED.value,
        session_id=before.session_id,
        at=before.at,
        payload={"count": count},
    )
