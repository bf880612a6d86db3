"""What the loop, the hooks and the tools of one run share: state, journal, event sink.

Code inside a run finds its `RunContext` through the context variable `CURRENT_RUN`; other runs
have their own. `record` is the only way the state changes. At the end are two things that asyncio
lacks: awaiting in another context, and whose cancellation it is.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import Context, ContextVar, copy_context
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar, cast

import anyio

from taskloom.agent.events import Event
from taskloom.agent.language import Language, language_or_default
from taskloom.agent.loop.journal_entries import Entry
from taskloom.agent.loop.run_state import RunState
from taskloom.agent.loop.tracing import active_tracer
from taskloom.agent.model_texts import texts

T = TypeVar("T")

Sink: TypeAlias = Callable[[Event], Awaitable[None]]


class Journal(Protocol):
    """A durable list of entries.

    A protocol with one implementation, so that `taskloom.log` is imported only for runs that
    have a journal.
    """

    def append(self, entry: Entry) -> None:
        """Add an entry; it is durable after the next `sync`."""
        ...

    async def sync(self) -> None:
        """Return when every entry added so far survives a crash."""
        ...

    def close(self) -> None:
        """Close the file; entries that were not synced may be lost."""
        ...


class RunContext:
    """One run in progress."""

    __slots__ = (
        "journal",
        "language",
        "sink",
        "state",
        "stop_after",
        "stopping",
        "stream",
        "texts",
        "tracer",
    )

    def __init__(
        self,
        state: RunState,
        language: Language | None = None,
        *,
        journal: Journal | None = None,
        sink: Sink | None = None,
        stream: bool = False,
    ) -> None:
        self.state = state
        self.language: Language = language_or_default(language)
        self.texts = texts(self.language)
        self.journal = journal
        self.sink = sink
        self.stream = stream and sink is not None
        self.tracer = active_tracer()
        self.stopping = False
        """The run was cancelled: nothing new may start."""
        self.stop_after: frozenset[str] = frozenset()
        """The safe points, `model` and `tools`, at which the run must stop."""

    def record(self, entry: Entry) -> None:
        """Apply an entry to the state and add it to the journal."""
        self.state.apply(entry)
        if self.journal is not None:
            self.journal.append(entry)

    async def sync(self) -> None:
        """Return when every recorded entry is durable; at once without a journal."""
        if self.journal is not None:
            await self.journal.sync()

    async def emit(self, event: Event) -> None:
        """Send an event to the reader, if there is one; waits while the reader lags behind."""
        if self.sink is not None:
            await self.sink(event)


class CallSite:
    """The hook or tool call that is running: the place an interrupt comes from."""

    __slots__ = ("asked", "call_id", "iteration", "name", "saved", "stage")

    def __init__(
        self, stage: str, name: str, iteration: int, call_id: str = "", saved: Any = None
    ) -> None:
        self.stage = stage
        self.name = name
        self.iteration = iteration
        self.call_id = call_id
        self.saved = saved
        self.asked = 0

    @property
    def address(self) -> str:
        """The prefix of interrupt ids: unique in the run, and the same when it is resumed."""
        if self.call_id:
            return f"{self.iteration}.{self.call_id}"
        return f"{self.stage}.{self.iteration}.{self.name}"

    @property
    def where(self) -> str:
        """The place in words for people."""
        return f"tool {self.name}" if self.call_id else f"{self.name}.{self.stage}"


CURRENT_RUN: Final[ContextVar[RunContext]] = ContextVar("taskloom_run")
CALL_SITE: Final[ContextVar[CallSite]] = ContextVar("taskloom_call_site")


def context_without_run() -> Context:
    """Return a copy of the current context in which no run is active.

    For work that a run starts but that is not part of it: without this, `send_event`,
    `set_value` and `interrupt` there would act on the run that started the work. Other context
    variables, such as the current trace, are copied.
    """
    copied = Context()
    for variable, value in copy_context().items():
        if variable is not CURRENT_RUN and variable is not CALL_SITE:
            copied.run(variable.set, value)
    return copied


class await_in_context(Generic[T]):  # noqa: N801 - it is used like a function
    """`await await_in_context(coroutine, copy_context())`.

    A context variable that a hook sets must reach the rest of the stage and nothing after it. A
    task would do that too, but costs ten times as much and needs its cancellation wired by hand;
    here the coroutine stays part of the task that awaits it.
    """

    __slots__ = ("_context", "_coroutine")

    def __init__(self, coroutine: Coroutine[Any, Any, T], context: Context) -> None:
        self._coroutine = coroutine
        self._context = context

    def __await__(self) -> Generator[Any, Any, T]:
        """Drive the coroutine step by step, each step inside the context."""
        run, coroutine = self._context.run, self._coroutine
        try:
            waits_for = run(coroutine.send, None)
            while True:
                try:
                    answer = yield waits_for
                except GeneratorExit:
                    run(coroutine.close)
                    raise
                except BaseException as error:  # noqa: BLE001 - the coroutine handles it
                    waits_for = run(coroutine.throw, error)
                else:
                    waits_for = run(coroutine.send, answer)
        except StopIteration as stop:
            return cast("T", stop.value)


def is_cancelled() -> bool:
    """Return whether this task or its scope was asked to cancel, when a `CancelledError` came.

    Code that awaits a task which other code cancelled raises the same error as code that is
    itself cancelled; only the second ends a run as cancelled.
    """
    task = asyncio.current_task()
    requested = task is not None and task.cancelling() > 0
    return requested or anyio.current_effective_deadline() == -math.inf
