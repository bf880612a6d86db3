"""The methods of a board that handles call.

What handles do is written once, as coroutines over `BoardAccess`. A `Board` is one as it is. A
`SyncBoard` stands behind one whose coroutines block instead of suspending: then `run_blocking`
runs whatever is built on them to its end, without an event loop.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine
from types import TracebackType
from typing import Protocol, Self, TypeVar

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
from taskloom.ids import AgentId, PoolId, RunId, Seq, StepId, TaskId
from taskloom.runtime.follow import Record
from taskloom.runtime.handles.lease_renewal import LeaseRenewer
from taskloom.runtime.log_reader import ListTasks

_T = TypeVar("_T")


class Signal(Protocol):
    """Wakes its owner at every change of a Task; see `ChangeSignal`."""

    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def reset(self) -> int:
        """Return how many changes there were."""
        ...

    async def wait(self, since: int) -> None:
        """Return when there are more changes, or when it is time to look anyway."""
        ...


class BoardAccess(Protocol):
    """The methods of `Board` that the handles need."""

    @property
    def rules(self) -> Rules: ...
    @property
    def lease_renewer(self) -> LeaseRenewer: ...

    def orchestrator(self, agent_id: AgentId, *, run_id: RunId) -> Actor: ...
    def worker(
        self,
        agent_id: AgentId,
        *,
        run_id: RunId,
        task_id: TaskId,
        worker_pool_id: PoolId | None = None,
        allowed_step_ids: frozenset[StepId] | None = None,
    ) -> Actor: ...
    async def send(self, command: CreateTask | Command, actor: Actor) -> Receipt: ...
    async def get(self, task_id: TaskId, actor: Actor) -> TaskView: ...
    async def query(self, query: QuerySteps, actor: Actor) -> StepPage: ...
    async def read(self, task_id: TaskId, look: Callable[[Task], _T], actor: Actor) -> _T: ...
    async def list(self, actor: Actor, query: ListTasks | None = None) -> TaskPage: ...
    async def log_names(self) -> frozenset[str]: ...
    async def watch(self, task_id: TaskId) -> Signal: ...
    def follow(self, task_id: TaskId, *, after: Seq = 0) -> AsyncGenerator[Record]: ...


def run_blocking(call: Coroutine[object, None, _T]) -> _T:
    """Run a coroutine to its end that never suspends."""
    try:
        call.send(None)
    except StopIteration as done:
        result: _T = done.value
        return result
    finally:
        call.close()
    raise AssertionError("a call of a blocking board suspended")
