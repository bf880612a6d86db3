"""A run while it is under way: its state, its journal, its listener.

The loop, the hooks and the tools of one run share one `RunContext`, found through a context
variable; other runs have their own. `note` is the only way its state changes.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Final, Protocol, TypeAlias

from taskloom.agent.events import Event
from taskloom.agent.journal_entries import Entry
from taskloom.agent.model_texts import Texts
from taskloom.agent.run_state import RunState

Sink: TypeAlias = Callable[[Event], Awaitable[None]]


class Journal(Protocol):
    """Where the entries of a run are kept."""

    def append(self, entry: Entry) -> None:
        """Take an entry; it is in order, and durable after the next `sync`."""
        ...

    async def sync(self) -> None:
        """Return when every entry taken so far survives a crash."""
        ...

    def close(self) -> None:
        """Let go of the file; entries that were not synced may be lost."""
        ...


class RunContext:
    """One run under way."""

    __slots__ = (
        "journal",
        "progress",
        "sink",
        "stop_after",
        "stopping",
        "stream",
        "texts",
    )

    def __init__(
        self,
        progress: RunState,
        texts: Texts,
        *,
        journal: Journal | None = None,
        sink: Sink | None = None,
        stream: bool = False,
    ) -> None:
        """Begin with nothing asked for: no stop, no pieces."""
        self.progress = progress
        self.texts = texts
        self.journal = journal
        self.sink = sink
        self.stream = stream and sink is not None
        self.stopping = False
        """Cancelled: nothing new may begin."""
        self.stop_after: frozenset[str] = frozenset()
        """The safe points, `model` and `tools`, at which the run shall stop."""

    def note(self, entry: Entry) -> None:
        """Make the entry true, and take it into the journal."""
        self.progress.apply(entry)
        if self.journal is not None:
            self.journal.append(entry)

    async def settle(self) -> None:
        """Return when all that was noted is durable."""
        if self.journal is not None:
            await self.journal.sync()

    async def emit(self, event: Event) -> None:
        """Tell the listener, if there is one; waits while it is too far behind."""
        if self.sink is not None:
            await self.sink(event)


class CallSite:
    """The hook or tool call that is running: where an interrupt would come from."""

    __slots__ = ("asked", "call_id", "iteration", "name", "saved", "stage")

    def __init__(
        self, stage: str, name: str, iteration: int, call_id: str = "", saved: Any = None
    ) -> None:
        """Take what the address and the words for people are made of, should they be needed."""
        self.stage = stage
        self.name = name
        self.iteration = iteration
        self.call_id = call_id
        self.saved = saved
        self.asked = 0

    @property
    def address(self) -> str:
        """What the ids of interrupts begin with: the same in a resumed run, no other has it."""
        if self.call_id:
            return f"{self.iteration}.{self.call_id}"
        return f"{self.stage}.{self.iteration}.{self.name}"

    @property
    def where(self) -> str:
        """The place in words for people."""
        return f"tool {self.name}" if self.call_id else f"{self.name}.{self.stage}"


LIVE: Final[ContextVar[RunContext]] = ContextVar("taskloom_run")
SCOPE: Final[ContextVar[CallSite]] = ContextVar("taskloom_scope")
