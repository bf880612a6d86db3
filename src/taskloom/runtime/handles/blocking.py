"""The handles' shared logic without an event loop.

The methods of `BlockingAccess` are coroutines that block instead of suspending, so `run_blocking`
runs whatever is built on them to its end in one go.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import closing
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from taskloom.board import (
    Actor,
    Command,
    CreateTask,
    QuerySteps,
    Receipt,
    Rules,
    StepPage,
    Task,
    TaskPage,
    TaskView,
)
from taskloom.ids import Seq, TaskId
from taskloom.runtime.change_signal import SyncChangeSignal
from taskloom.runtime.follow import Record
from taskloom.runtime.handles.access import Signal
from taskloom.runtime.log_reader import ListTasks

if TYPE_CHECKING:
    from taskloom.runtime.sync_board import SyncBoard

_T = TypeVar("_T")


def run_blocking(call: Coroutine[object, None, _T]) -> _T:
    """Run a coroutine over `BlockingAccess` to its end."""
    try:
        call.send(None)
    except StopIteration as done:
        result: _T = done.value
        return result
    finally:
        call.close()
    raise AssertionError("a call over BlockingAccess never suspends")


class BlockingAccess:
    """A `SyncBoard` behind the methods of a `Board`."""

    def __init__(self, board: "SyncBoard") -> None:
        self._board = board
        self.orchestrator = board.orchestrator
        self.worker = board.worker

    @property
    def rules(self) -> Rules:
        return self._board.rules

    async def send(self, command: CreateTask | Command, actor: Actor) -> Receipt:
        return self._board.send(command, actor)

    async def get(self, task_id: TaskId, actor: Actor) -> TaskView:
        return self._board.get(task_id, actor)

    async def query(self, query: QuerySteps, actor: Actor) -> StepPage:
        return self._board.query(query, actor)

    async def read(self, task_id: TaskId, look: Callable[[Task], _T], actor: Actor) -> _T:
        return self._board.read(task_id, look, actor)

    async def list(self, actor: Actor, query: ListTasks | None = None) -> TaskPage:
        return self._board.list(actor, query)

    async def log_names(self) -> frozenset[str]:
        return self._board.log_names()

    async def watch(self, task_id: TaskId) -> Signal:
        return _BlockingSignal(self._board.watch(task_id))

    async def follow(self, task_id: TaskId, *, after: Seq = 0) -> AsyncGenerator[Record]:
        with closing(self._board.follow(task_id, after=after)) as records:
            for record in records:
                yield record


class _BlockingSignal:
    def __init__(self, signal: SyncChangeSignal) -> None:
        self._signal = signal
        self.reset = signal.reset

    async def __aenter__(self) -> Self:
        self._signal.__enter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._signal.__exit__(kind, error, trace)

    async def wait(self, since: int) -> None:
        self._signal.wait(since)
