"""Await a coroutine inside a context of its own, without paying for a task.

A context variable that a hook sets must reach what comes after it in the same stage and
nothing later. A task would do that and costs ten times as much, and its cancellation would
have to be tied by hand; here the coroutine stays part of the task that awaits it.
"""

from collections.abc import Coroutine, Generator
from contextvars import Context
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


class await_in_context(Generic[T]):  # noqa: N801 - it is used like a function
    """`await in_context(coroutine, copy_context())`."""

    __slots__ = ("_context", "_coroutine")

    def __init__(self, coroutine: Coroutine[Any, Any, T], context: Context) -> None:
        """Take both; nothing runs yet."""
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
                except BaseException as error:  # noqa: BLE001 - it is the coroutine's to handle
                    waits_for = run(coroutine.throw, error)
                else:
                    waits_for = run(coroutine.send, answer)
        except StopIteration as stop:
            return cast("T", stop.value)
