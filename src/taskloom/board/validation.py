"""Checks of values that callers send: type, form and size.

Every error has the code `validation_error` and names the wrong value with a JSON path
(`$.steps[0].title`), because its reader is often a model that must fix the value.
"""

from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from typing import Any, Final, NoReturn, TypeAlias, cast

from taskloom.errors import Code, RefusedError
from taskloom.ids import ID_CHARS_MAX, is_safe_id
from taskloom.text import clip

_SHOWN_MAX: Final = 100
"""The number of characters of a wrong value that an error repeats."""


JsonData: TypeAlias = Any
"""Objects, lists, strings, numbers, booleans and null, as `json_data` returns them."""

_DEPTH_MAX: Final = 64
_INTS: Final = range(-(1 << 63), 1 << 64)
"""The whole numbers that a line of the log can hold."""


def refuse(path: str, why: str, **details: object) -> NoReturn:
    """Raise `validation_error` about the value at `path`."""
    raise RefusedError(Code.VALIDATION_ERROR, f"{path} {why}", {"path": path, **details})


def fields(
    value: object, path: str, *, required: Collection[str], optional: Collection[str] = ()
) -> Mapping[str, object]:
    """Return `value` as an object that has the required fields and no unknown ones."""
    # The check for a mapping is slow; a dict does not need it.
    if type(value) is not dict and not isinstance(value, Mapping):
        refuse(path, f"must be an object, not {kind(value)}.")
    found = cast(Mapping[str, object], value)
    for name in found:
        if name not in required and name not in optional:
            known = ", ".join([*required, *optional])
            seen = shown(str(name))
            refuse(path, f"has an unknown field {seen!r}. Known fields: {known}.", field=seen)
    for name in required:
        if name not in found:
            refuse(f"{path}.{name}", "is required.")
    return found


def items(value: object, path: str, *, most: int, least: int = 0) -> Sequence[object]:
    """Return `value` as a list whose length is within bounds."""
    plain = type(value) is tuple or type(value) is list
    if not plain and (isinstance(value, str) or not isinstance(value, Sequence)):
        refuse(path, f"must be a list, not {kind(value)}.")
    found = cast(Sequence[object], value)
    if len(found) < least:
        refuse(path, f"needs at least {least} item{'s' if least > 1 else ''}.")
    if len(found) > most:
        refuse(path, f"has {len(found)} items; at most {most} are allowed.", limit=most)
    return found


def safe_id(value: object, path: str) -> str:
    """Return `value` as an id of safe characters."""
    if not isinstance(value, str):
        refuse(path, f"must be a string, not {kind(value)}.")
    if not is_safe_id(value):
        shown = clip(value, ID_CHARS_MAX)
        refuse(
            path,
            f"must be 1 to {ID_CHARS_MAX} characters of a-z, 0-9, - and _; got {shown!r}.",
        )
    return value


def text(value: object, path: str, *, most_bytes: int, empty: bool = True) -> str:
    """Return `value` as text that UTF-8 can hold and that is not too long."""
    if not isinstance(value, str):
        refuse(path, f"must be a string, not {kind(value)}.")
    if not empty and not value.strip():
        refuse(path, "must not be empty.")
    try:
        # ASCII text has one byte for each character.
        size = len(value) if value.isascii() else len(value.encode())
    except UnicodeEncodeError as lone:
        refuse(path, f"holds a lone surrogate at character {lone.start}; send valid Unicode.")
    if size > most_bytes:
        refuse(path, f"is {size} bytes long; at most {most_bytes} are allowed.", limit=most_bytes)
    # A subclass of str may be encoded as anything: keep plain text.
    return value if type(value) is str else str.__str__(value)


def optional_text(value: object, path: str, *, most_bytes: int) -> str | None:
    """Return `value` as text, or None for none."""
    return None if value is None else text(value, path, most_bytes=most_bytes)


def texts(value: object, path: str, *, most: int, most_bytes: int) -> tuple[str, ...]:
    """Return `value` as a list of texts."""
    found = items(value, path, most=most)
    return tuple(
        text(item, f"{path}[{at}]", most_bytes=most_bytes, empty=False)
        for at, item in enumerate(found)
    )


def ids(value: object, path: str, *, most: int) -> tuple[str, ...]:
    """Return `value` as a list of ids without repeats, in the given order."""
    found = items(value, path, most=most)
    checked = [safe_id(item, f"{path}[{at}]") for at, item in enumerate(found)]
    return tuple(dict.fromkeys(checked)) if len(checked) > 1 else tuple(checked)


def flag(value: object, path: str) -> bool:
    """Return `value` as true or false."""
    if not isinstance(value, bool):
        refuse(path, f"must be true or false, not {kind(value)}.")
    return value


def number(value: object, path: str, *, least: int, most: int) -> int:
    """Return `value` as a whole number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int):
        refuse(path, f"must be a whole number, not {kind(value)}.")
    if not least <= value <= most:
        seen = str(value) if abs(value) < 1 << 64 else "a number far outside"
        refuse(path, f"must be between {least} and {most}; got {seen}.")
    return value


def one_of(value: object, path: str, choices: Collection[str]) -> str:
    """Return `value` as one of the given words."""
    if not isinstance(value, str) or value not in choices:
        seen = shown(value) if isinstance(value, str) else kind(value)
        refuse(path, f"must be one of {', '.join(choices)}; got {seen!r}.")
    return value


def json_data(value: object, path: str, *, most_bytes: int) -> JsonData:
    """Return a copy of `value` as plain JSON data that is not too big."""
    left = most_bytes

    def count(size: int) -> None:
        # Counted while copying: a huge value, or one that contains itself, is not read to its end.
        nonlocal left
        left -= size
        if left < 0:
            refuse(path, f"is more than {most_bytes} bytes of JSON.", limit=most_bytes)

    def copied(item: object, where: str, depth: int) -> JsonData:
        if depth > _DEPTH_MAX:
            refuse(path, f"is nested more than {_DEPTH_MAX} levels deep.", limit=_DEPTH_MAX)
        count(2)
        if isinstance(item, Mapping):
            plain: dict[str, JsonData] = {}
            for name, one in cast("Mapping[object, object]", item).items():
                key = text(name, f"{where}, a key,", most_bytes=most_bytes)
                count(len(key) + 4)
                plain[key] = copied(one, f"{where}.{shown(key)}", depth + 1)
            return plain
        if isinstance(item, list | tuple):
            listed = cast("Sequence[object]", item)
            return [copied(one, f"{where}[{at}]", depth + 1) for at, one in enumerate(listed)]
        if isinstance(item, str):
            word = text(item, where, most_bytes=most_bytes)
            count(len(word) if word.isascii() else len(word.encode()))
            return word
        return _number_or_none(item, where)

    return copied(value, path, 0)


def _number_or_none(value: object, path: str) -> JsonData:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if value not in _INTS:
            refuse(path, "is too big for a number of JSON; send it as a string.")
        return int(value)
    if isinstance(value, float):
        if not isfinite(value):
            refuse(path, "is not finite, and JSON has no such number; send null or a string.")
        return float(value)
    refuse(path, f"is {kind(value)}, which JSON cannot hold.")


def copy_json(value: object) -> JsonData:
    """Return a copy of plain JSON data, which the caller may change."""
    if isinstance(value, dict):
        named = cast("dict[str, object]", value)
        return {name: copy_json(one) for name, one in named.items()}
    if isinstance(value, list):
        return [copy_json(one) for one in cast("list[object]", value)]
    return value


def shown(value: str) -> str:
    """Return the start of a wrong value, for an error message in valid Unicode."""
    return value[:_SHOWN_MAX].encode("utf-8", "backslashreplace").decode()


def kind(value: object) -> str:
    """Return the JSON name of a value's type."""
    if value is None:
        return "null"
    names: dict[type, str] = {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
    }
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "a list"
    return names.get(type(value), type(value).__name__)
