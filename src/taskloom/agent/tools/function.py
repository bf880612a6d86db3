"""How a Python function runs as a tool: sync ones in a thread, results as text or parts."""

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any, cast, get_args, get_type_hints

import anyio.to_thread
import msgspec

from taskloom.agent.messages import FilePart, ImagePart, JsonPart, Part, TextPart

_PARTS = (TextPart, ImagePart, FilePart, JsonPart)
_END = object()


def text_of(value: object) -> str:
    """Return a tool's value as the text a model reads: itself, or its JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError):
        return str(value)


def part_of(value: object) -> Part:
    """Return one value as one part: text stays text, data becomes JSON."""
    if isinstance(value, _PARTS):
        return value
    return TextPart(value) if isinstance(value, str) else JsonPart(msgspec.to_builtins(value))


def parts_of(value: object) -> tuple[Part, ...]:
    """Return a tool's value as parts: a part, or several."""
    if isinstance(value, list | tuple):
        return tuple(part_of(item) for item in cast("list[object]", value))
    return () if value is None else (part_of(value),)


def returns_parts(function: Callable[..., Any]) -> bool:
    """Return whether a function's return annotation mentions parts."""
    return _mentions_part(get_type_hints(function).get("return"))


def _mentions_part(annotation: Any) -> bool:
    return annotation in _PARTS or any(_mentions_part(inner) for inner in get_args(annotation))


def run_function(function: Callable[..., Any], *, rich: bool) -> Callable[[dict[str, Any]], Any]:
    """Return `async (arguments) -> str or parts`."""
    convert: Callable[[object], Any] = parts_of if rich else text_of

    async def run_async(arguments: dict[str, Any]) -> Any:
        return convert(await function(**arguments))

    async def run_sync(arguments: dict[str, Any]) -> Any:
        # Abandoned on cancel: a thread cannot be stopped, and the run must not wait for it.
        call = partial(function, **arguments)
        value = await anyio.to_thread.run_sync(call, abandon_on_cancel=True)
        # A decorated async function looks like a sync one until it is called.
        return convert(await value if inspect.isawaitable(value) else value)

    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object may be an async callable
    )
    return run_async if is_async else run_sync


def stream_function(
    function: Callable[..., Any], *, rich: bool
) -> Callable[[dict[str, Any]], AsyncIterator[Any]]:
    """Return `(arguments) -> async iterator of str or parts`."""
    convert: Callable[[object], Any] = part_of if rich else text_of

    async def stream_async(arguments: dict[str, Any]) -> AsyncIterator[Any]:
        chunks = function(**arguments)
        try:
            async for chunk in chunks:
                yield convert(chunk)
        finally:
            await chunks.aclose()

    async def stream_sync(arguments: dict[str, Any]) -> AsyncIterator[Any]:
        chunks = cast("Iterator[object]", function(**arguments))
        while True:
            advance = partial(next, chunks, _END)
            chunk = await anyio.to_thread.run_sync(advance, abandon_on_cancel=True)
            if chunk is _END:
                return
            yield convert(chunk)

    return stream_async if inspect.isasyncgenfunction(function) else stream_sync
