"""How a typed Python function becomes a tool: its JSON schema, the check of arguments, its call.

The signature becomes a msgspec struct: the model gets its JSON schema, and converting arguments to
it is the check. Descriptions come from `Annotated[..., Meta(...)]` or from the `Args:` section of
the docstring. Sync functions run in a thread; results become text or parts.
"""

import copy
import inspect
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from typing import Annotated, Any, cast, get_args, get_type_hints

import anyio.to_thread
import msgspec

from taskloom.agent.errors import InvalidToolError, ToolArgumentsError
from taskloom.agent.messages import FilePart, ImagePart, JsonPart, Part, TextPart

_PATH = re.compile(r" - at `\$\.?(?P<path>[^`]*)`$")
_ARG = re.compile(r"^\s+\**(?P<name>\w+)(?:\s*\([^)]*\))?:\s*(?P<text>.+)$")
_PARTS = (TextPart, ImagePart, FilePart, JsonPart)
_END = object()


def description(function: Callable[..., Any]) -> str:
    """Return the docstring without its sections."""
    text = inspect.getdoc(function) or ""
    return re.split(r"\n\s*(?:Args|Returns|Raises|Yields|Example|Examples):\s*\n", text)[0].strip()


def argument_descriptions(function: Callable[..., Any]) -> dict[str, str]:
    """Return the description of each argument in the docstring's `Args:` section."""
    text = inspect.getdoc(function) or ""
    found = re.search(r"\n\s*Args:\s*\n(?P<body>.*?)(?:\n\s*\n|\n\S|\Z)", text, re.DOTALL)
    lines = found["body"].splitlines() if found else []
    return {m["name"]: m["text"].strip() for m in map(_ARG.match, lines) if m}


def arguments_type(function: Callable[..., Any], name: str) -> type[msgspec.Struct]:
    """Return a struct with one field for each parameter.

    Raises:
        InvalidToolError: a parameter has no annotation, or cannot be passed by name.
    """
    hints = _hints(function, name)
    descriptions = argument_descriptions(function)
    fields: list[tuple[str, Any, Any]] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise InvalidToolError(
                f"Tool `{name}`: parameter `{parameter.name}` cannot be passed by name; "
                "use plain named parameters."
            )
        if parameter.name not in hints:
            raise InvalidToolError(
                f"Tool `{name}`: parameter `{parameter.name}` has no annotation; the model "
                "needs its type, so add one, such as `str`."
            )
        annotation = hints[parameter.name]
        if parameter.name in descriptions:
            meta = msgspec.Meta(description=descriptions[parameter.name])
            annotation = Annotated[annotation, meta]
        fields.append((parameter.name, annotation, _default(parameter)))
    return msgspec.defstruct(f"{name}_arguments", fields, kw_only=True, forbid_unknown_fields=True)


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise InvalidToolError(
            f"Tool `{name}`: {error}; define or import the annotated type at the top of the "
            "module, not inside a function or under `TYPE_CHECKING`."
        ) from error


def _default(parameter: inspect.Parameter) -> Any:
    value = parameter.default
    if value is parameter.empty:
        return msgspec.NODEFAULT
    if isinstance(value, list | dict | set):
        return msgspec.field(default_factory=lambda: copy.copy(value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType, reportUnknownVariableType]  # a default may hold anything
    return value


def json_schema(type_: type[msgspec.Struct], tool: str) -> dict[str, Any]:
    """Return the JSON schema of an arguments struct, without a `$ref` at its top.

    Raises:
        InvalidToolError: a parameter's type has no JSON schema.
    """
    try:
        _, parts = msgspec.json.schema_components([type_], ref_template="#/$defs/{name}")
    except TypeError as error:
        raise InvalidToolError(f"Tool `{tool}`: a parameter has no JSON schema: {error}") from error
    schema = dict(parts.pop(type_.__name__))
    schema.pop("title", None)
    if parts:
        schema["$defs"] = parts
    return schema


def check_struct(type_: type[msgspec.Struct]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return a function that converts JSON arguments, or raises ToolArgumentsError."""
    names = type_.__struct_fields__

    def check(arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            value = msgspec.convert(arguments, type_)
        except msgspec.ValidationError as error:
            raise ToolArgumentsError(reason(error)) from None
        return {name: getattr(value, name) for name in names}

    return check


def reason(error: msgspec.ValidationError) -> str:
    """Return a msgspec error in words that name the argument."""
    text = str(error).replace("Object missing required field", "missing argument")
    text = text.replace("Object contains unknown field", "unknown argument")
    found = _PATH.search(text)
    if not found:
        return text
    what = _PATH.sub("", text)
    return f"argument `{found['path']}`: {what[0].lower()}{what[1:]}" if found["path"] else what


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
