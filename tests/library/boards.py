"""Boards for the tests of this directory, and the blocking board behind the methods of the other.

`Awaited` lets one test show the behaviour of both: each call of a blocking object runs on a
thread and is awaited, its generators are asynchronous ones, its blocks `async with` blocks.
"""

from collections.abc import AsyncGenerator, Callable
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, cast

import anyio
import anyio.to_thread

from taskloom.board import Rules
from taskloom.log import Durability
from taskloom.runtime import Board, Clock, SyncBoard, open_board, open_board_sync

TWINS: Final = ("async", "blocking")
LONG_S: Final = 60.0
"""After this long a test that waits is taken to hang."""
_GENERATORS: Final = ("follow", "claims")
_PLAIN: Final = ("task", "orchestrator", "worker")
_END: Final = object()


class Awaited:
    """A blocking board, Task or claim as its asynchronous twin looks."""

    def __init__(self, inner: Any) -> None:  # noqa: ANN401 - whatever the blocking twin is
        self._inner = inner

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the blocking twin has
        value = getattr(self._inner, name)
        if not callable(value):
            return value

        def plain(*args: object, **named: object) -> object:
            return wrapped(value(*args, **named))

        def each(*args: object, **named: object) -> AsyncGenerator[Any]:
            return _each(value(*args, **named))

        async def awaited(*args: object, **named: object) -> object:
            return wrapped(await _in_thread(lambda: value(*args, **named)))

        return plain if name in _PLAIN else each if name in _GENERATORS else awaited

    async def __aenter__(self) -> Self:
        await _in_thread(self._inner.__enter__)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with anyio.CancelScope(shield=True):
            await _in_thread(lambda: self._inner.__exit__(kind, error, trace))


async def _each(values: Any) -> AsyncGenerator[Any]:  # noqa: ANN401 - a generator of anything
    while (value := await _in_thread(lambda: next(values, _END))) is not _END:
        yield wrapped(value)


def wrapped(value: object) -> object:
    """Wrap what has an asynchronous twin."""
    return Awaited(value) if type(value).__name__.startswith("Sync") else value


async def _in_thread(call: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever the call returns
    return await anyio.to_thread.run_sync(call)


def open_twin(
    twin: str,
    project: Path,
    *,
    lease_s: float | None = None,
    rules: Rules | None = None,
    clock: Clock | None = None,
) -> Board:
    """Open one of the two boards, to be used as the asynchronous one."""
    rules = rules or (Rules() if lease_s is None else Rules(lease=timedelta(seconds=lease_s)))
    if twin == "async":
        return open_board(project, session="s1", rules=rules, clock=clock, durability=Durability.OS)
    board: SyncBoard = open_board_sync(
        project, session="s1", rules=rules, clock=clock, durability=Durability.OS
    )
    return cast("Board", Awaited(board))
