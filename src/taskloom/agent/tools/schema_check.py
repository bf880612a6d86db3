"""Check JSON arguments against a JSON schema that did not come from a Python function.

Tools of other programs have schemas of their own. This checks the keywords that such schemas use
and ignores the others, since the tool checks its arguments too. The library `jsonschema` does
more; the core has three dependencies, and this is not worth a fourth.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from taskloom.agent.errors import ToolArgumentsError

_TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: _number(value) and value % 1 == 0,
    "number": lambda value: _number(value),
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "null": lambda value: value is None,
}


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_schema(schema: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return a function that returns the arguments as they are, or raises ToolArgumentsError."""

    def check(arguments: Mapping[str, Any]) -> dict[str, Any]:
        value = dict(arguments)
        _check(value, schema, "", schema)
        return value

    return check


def _check(value: Any, schema: Mapping[str, Any], path: str, root: Mapping[str, Any]) -> None:
    schema = _resolve(schema, root)
    _check_type(value, schema, path)
    if "enum" in schema and value not in schema["enum"]:
        raise ToolArgumentsError(f"{_at(path)}must be one of {schema['enum']}")
    if "const" in schema and value != schema["const"]:
        raise ToolArgumentsError(f"{_at(path)}must be {schema['const']!r}")
    _check_choice(value, schema, path, root)
    if isinstance(value, dict):
        _check_object(cast("dict[str, Any]", value), schema, path, root)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, item in enumerate(value):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]  # JSON: any values
            _check(item, schema["items"], f"{path}[{index}]", root)
    elif isinstance(value, str):
        _check_range(len(value), schema, path, ("minLength", "maxLength"), " characters")
    elif isinstance(value, int | float):
        _check_range(value, schema, path, ("minimum", "maximum"), "")


def _resolve(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    ref = schema.get("$ref")
    if not isinstance(ref, str) or not ref.startswith("#/"):
        return schema
    found: Any = root
    for step in ref[2:].split("/"):
        found = found.get(step, {}) if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # a schema of another program
    return cast("Mapping[str, Any]", found)


def _check_type(value: Any, schema: Mapping[str, Any], path: str) -> None:
    wanted = schema.get("type")
    names: list[str] = [wanted] if isinstance(wanted, str) else list(wanted or ())
    known = [name for name in names if name in _TYPES]
    if known and not any(_TYPES[name](value) for name in known):
        raise ToolArgumentsError(f"{_at(path)}expected {' or '.join(known)}, got {_kind(value)}")


def _check_choice(
    value: Any, schema: Mapping[str, Any], path: str, root: Mapping[str, Any]
) -> None:
    choices = schema.get("anyOf") or schema.get("oneOf")
    if not isinstance(choices, list):
        return
    reasons: list[str] = []
    for choice in cast("list[dict[str, Any]]", choices):
        try:
            return _check(value, choice, path, root)
        except ToolArgumentsError as error:
            reasons.append(str(error))
    raise ToolArgumentsError("; or ".join(dict.fromkeys(reasons)))


def _check_object(
    value: dict[str, Any], schema: Mapping[str, Any], path: str, root: Mapping[str, Any]
) -> None:
    properties: dict[str, Any] = schema.get("properties") or {}
    for name in schema.get("required") or ():
        if name not in value:
            raise ToolArgumentsError(f"missing argument `{_join(path, name)}`")
    for name, item in value.items():
        if name in properties:
            _check(item, properties[name], _join(path, name), root)
        elif schema.get("additionalProperties") is False:
            known = ", ".join(f"`{known}`" for known in properties) or "none"
            raise ToolArgumentsError(
                f"unknown argument `{_join(path, name)}`; the arguments are: {known}"
            )


def _check_range(
    value: float, schema: Mapping[str, Any], path: str, words: tuple[str, str], unit: str
) -> None:
    low, high = (schema.get(word) for word in words)
    if low is not None and value < low:
        raise ToolArgumentsError(f"{_at(path)}must be at least {low}{unit}")
    if high is not None and value > high:
        raise ToolArgumentsError(f"{_at(path)}must be at most {high}{unit}")


def _at(path: str) -> str:
    return f"argument `{path}`: " if path else ""


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _kind(value: object) -> str:
    names = (name for name in ("null", "boolean", "integer", *_TYPES) if _TYPES[name](value))
    return next(names, type(value).__name__)
