"""Two things that asyncio lacks: awaiting in another context, and whose cancellation it is."""

import asyncio
import math
from collections.abc import Coroutine, Generator
from contextvars import Context
from typing import Any, Generic, TypeVar, cast

import anyio

T = TypeVar("T")


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
