"""From a typed Python function to a JSON schema, and from JSON arguments back to Python.

The signature becomes a msgspec struct: its JSON schema is what the model is told, and
converting to it is the check. Descriptions come from `Annotated[..., Meta(...)]` or from the
`Args:` section of the docstring.
"""

import copy
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_type_hints

import msgspec

from taskloom.agent.errors import InvalidToolError

_PATH = re.compile(r" - at `\$\.?(?P<path>[^`]*)`$")
_ARG = re.compile(r"^\s+\**(?P<name>\w+)(?:\s*\([^)]*\))?:\s*(?P<text>.+)$")


class ToolArgumentsError(Exception):
    """The arguments do not fit; the message says which and why."""


def description(function: Callable[..., Any]) -> str:
    """Return the docstring up to its sections."""
    text = inspect.getdoc(function) or ""
    return re.split(r"\n\s*(?:Args|Returns|Raises|Yields|Example|Examples):\s*\n", text)[0].strip()


def argument_texts(function: Callable[..., Any]) -> dict[str, str]:
    """Return what the docstring's `Args:` section says of each argument."""
    text = inspect.getdoc(function) or ""
    found = re.search(r"\n\s*Args:\s*\n(?P<body>.*?)(?:\n\s*\n|\n\S|\Z)", text, re.DOTALL)
    lines = found["body"].splitlines() if found else []
    return {m["name"]: m["text"].strip() for m in map(_ARG.match, lines) if m}


def arguments_type(function: Callable[..., Any], name: str) -> type[msgspec.Struct]:
    """Return a struct with one field for each parameter.

    Raises:
        InvalidToolError: a parameter has no annotation, or cannot be given by name.
    """
    hints = _hints(function, name)
    told = argument_texts(function)
    fields: list[tuple[str, Any, Any]] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise InvalidToolError(
                f"Tool `{name}`: parameter `{parameter.name}` cannot be given by name; "
                "use plain named parameters."
            )
        if parameter.name not in hints:
            raise InvalidToolError(
                f"Tool `{name}`: parameter `{parameter.name}` has no annotation; the model is "
                "told the types, so write one, such as `str`."
            )
        annotation = hints[parameter.name]
        if parameter.name in told:
            annotation = Annotated[annotation, msgspec.Meta(description=told[parameter.name])]
        fields.append((parameter.name, annotation, _default(parameter)))
    return msgspec.defstruct(f"{name}_arguments", fields, kw_only=True, forbid_unknown_fields=True)


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise InvalidToolError(
            f"Tool `{name}`: {error}; a type in an annotation must be known at the top of the "
            "module, not only inside a function or for type checkers."
        ) from error


def _default(parameter: inspect.Parameter) -> Any:
    value = parameter.default
    if value is parameter.empty:
        return msgspec.NODEFAULT
    if isinstance(value, list | dict | set):
        return msgspec.field(default_factory=lambda: copy.copy(value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType, reportUnknownVariableType]  # a default may hold anything
    return value


def json_schema(type_: type[msgspec.Struct], tool: str) -> dict[str, Any]:
    """Return the schema of an arguments struct, without a detour over `$ref` at its top.

    Raises:
        InvalidToolError: a parameter's type has no JSON form.
    """
    try:
        _, parts = msgspec.json.schema_components([type_], ref_template="#/$defs/{name}")
    except TypeError as error:
        raise InvalidToolError(f"Tool `{tool}`: a parameter has no JSON form: {error}") from error
    schema = dict(parts.pop(type_.__name__))
    schema.pop("title", None)
    if parts:
        schema["$defs"] = parts
    return schema


def check_struct(type_: type[msgspec.Struct]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return a function that turns JSON arguments into Python ones, or raises ArgumentsWrong."""
    names = type_.__struct_fields__

    def check(arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            value = msgspec.convert(arguments, type_)
        except msgspec.ValidationError as error:
            raise ToolArgumentsError(reason(error)) from None
        return {name: getattr(value, name) for name in names}

    return check


def reason(error: msgspec.ValidationError) -> str:
    """Word a msgspec error so that a model knows which argument is meant."""
    text = str(error).replace("Object missing required field", "missing argument")
    text = text.replace("Object contains unknown field", "there is no argument")
    found = _PATH.search(text)
    if not found:
        return text
    what = _PATH.sub("", text)
    return f"argument `{found['path']}`: {what[0].lower()}{what[1:]}" if found["path"] else what
