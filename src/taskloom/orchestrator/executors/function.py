"""A worker that is a Python function.

    def work(step, inputs): return f"{step.title}: done"
    async def work(job, emit): ...
    def work(step, should_stop): yield "a line of output"; return "the result"

A function gets the arguments that its parameters name: `job`, `step`, `inputs` (the results of the
steps it depends on, by step id), `emit` (adds a line of output; awaited in an async function),
`should_stop` (returns whether the run was asked to stop). An exception fails the step.
"""

import inspect
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Sequence
from contextlib import aclosing
from typing import Any, Final, TypeVar, cast

import anyio
import anyio.from_thread
import anyio.to_thread
import msgspec

from taskloom.errors import ConfigError
from taskloom.orchestrator.errors import FunctionWorkerError, RunStoppedError
from taskloom.orchestrator.executors.executor import Emit, Job, Outcome

_PARAMETERS: Final = ("job", "step", "inputs", "emit", "should_stop")

T = TypeVar("T")


class FunctionExecutor:
    """An `Executor` that calls a function for each step.

    A function that is not async runs in a thread. A thread cannot be stopped from outside: it
    runs until it checks `should_stop` or calls `emit`, which raises once its run has ended.
    """

    claims = False
    tools: Sequence[str] = ()

    def __init__(self, function: Callable[..., object]) -> None:
        """Take the function.

        Raises:
            ConfigError: it has a parameter that is none of the known ones.
        """
        self._function = function
        self._wanted = _wanted(function)

    def begin(self, job: Job, emit: Emit) -> "_FunctionRun":
        """Return a run that has not started."""
        return _FunctionRun(self._function, self._wanted, job, emit)


class _FunctionRun:
    """One call of the function."""

    def __init__(
        self, function: Callable[..., object], wanted: Sequence[str], job: Job, emit: Emit
    ) -> None:
        self._function = function
        self._wanted = wanted
        self._job = job
        self._emit = emit
        self._stopping = False
        self._ended = False

    def stop(self) -> None:
        self._stopping = True

    async def result(self) -> Outcome:
        try:
            if _is_async(self._function):
                value = await self._call_async()
            else:
                # A limiter of its own: slow functions must not wait for each other.
                value = await anyio.to_thread.run_sync(
                    self._call_in_thread,
                    abandon_on_cancel=True,
                    limiter=anyio.CapacityLimiter(1),
                )
            if inspect.isawaitable(value):  # From a plain function that called an async one.
                value = await value
        finally:
            self._stopping = self._ended = True
        return _outcome(value)

    def _arguments(self, emit: object) -> dict[str, object]:
        given = {
            "job": self._job,
            "step": self._job.step,
            "inputs": self._job.inputs,
            "emit": emit,
            "should_stop": lambda: self._stopping,
        }
        return {name: given[name] for name in self._wanted}

    async def _call_async(self) -> object:
        value: Any = self._function(**self._arguments(self._emit))
        if inspect.isasyncgen(value):
            return await self._drain_async(cast("AsyncGenerator[object]", value))
        return await value

    async def _drain_async(self, items: AsyncGenerator[object]) -> object:
        """Emit each item; an async generator returns nothing, so its last item is the result."""
        last: object = None
        async with aclosing(items):
            async for item in items:
                last = item
                if isinstance(item, str):
                    await self._emit(item)
        return last

    def _call_in_thread(self) -> object:
        try:
            return self._drained(self._function(**self._arguments(self._emit_from_thread)))
        except (StopIteration, SystemExit, KeyboardInterrupt) as error:
            # Any of these would stop or hang the event loop.
            raise FunctionWorkerError(f"The function raised {error!r}.") from error

    def _drained(self, value: object) -> object:
        """Emit what a generator yields; its return value is the result, else its last item."""
        if not inspect.isgenerator(value):
            return value
        items = cast("Generator[object, None, object]", value)
        last: object = None
        returned: list[object] = []
        for item in _with_return(items, returned):
            last = item
            if isinstance(item, str):
                self._emit_from_thread(item)
        return last if returned[0] is None else returned[0]

    def _emit_from_thread(self, text: str) -> None:
        if self._ended:
            raise RunStoppedError
        anyio.from_thread.run(self._show, text)

    async def _show(self, text: str) -> None:
        await self._emit(text)


def _with_return(items: Generator[T, None, object], returned: list[object]) -> Iterator[T]:
    returned.append((yield from items))


def _wanted(function: Callable[..., object]) -> tuple[str, ...]:
    name = getattr(function, "__qualname__", repr(function))
    if not callable(function):
        raise ConfigError(f"{name} is not a function.")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise ConfigError(f"The parameters of {name} cannot be read: {error}.") from error
    for each in parameters:
        if each.kind is inspect.Parameter.VAR_KEYWORD:
            return _PARAMETERS
        optional = each.default is not inspect.Parameter.empty
        if each.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL):
            raise ConfigError(f"{name} takes `{each.name}` by position; let it take it by name.")
        if each.name not in _PARAMETERS and not optional:
            raise ConfigError(
                f"{name} has the parameter `{each.name}`; a worker's function may have "
                f"{', '.join(_PARAMETERS)}."
            )
    return tuple(each.name for each in parameters if each.name in _PARAMETERS)


def _is_async(function: Callable[..., object]) -> bool:
    call = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004  # the kind of `__call__` matters, not that it exists
    return inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call)


def _outcome(value: object) -> Outcome:
    match value:
        case Outcome():
            return value
        case None:
            return Outcome()
        case str():
            return Outcome(text=value)
        case _:
            try:
                data = msgspec.to_builtins(value)
                return Outcome(text=msgspec.json.encode(data).decode(), data=data)
            except (TypeError, ValueError, RecursionError) as error:
                raise FunctionWorkerError(
                    f"The function returned a {type(value).__name__}, which is not JSON: {error}. "
                    "Return text, JSON data, or an Outcome."
                ) from error
