"""Unknown keys in a document, with suggestions."""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, cast

from msgspec import inspect

from taskloom.config.config import Config


def unknown_keys(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the path of each unknown key, and a suggestion."""
    yield from _unknown(document, inspect.type_info(Config), "")


def suggest(word: str, known: Iterable[str]) -> str:
    """Return a sentence with the names similar to `word`, or with all of them."""
    names = sorted(known)
    near = get_close_matches(word, names, n=3, cutoff=0.6)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    return f"Known: {', '.join(names)}." if names else "There are none."


def _unknown(value: object, kind: inspect.Type, path: str) -> Iterator[tuple[str, str]]:
    match kind:
        case inspect.StructType() if isinstance(value, dict):
            yield from _unknown_in(cast("dict[str, object]", value), kind, path)
        case inspect.VarTupleType() if isinstance(value, list):
            for index, each in enumerate(cast("list[object]", value)):
                yield from _unknown(each, kind.item_type, f"{path}[{index}]")
        case inspect.DictType() if isinstance(value, dict):
            for name, each in cast("dict[str, object]", value).items():
                yield from _unknown(each, kind.value_type, _join(path, name))
        case inspect.UnionType() if isinstance(value, dict):
            chosen = cast("dict[str, object]", value).get("type")
            for each in kind.types:
                if isinstance(each, inspect.StructType) and each.tag == chosen:
                    yield from _unknown(cast("object", value), each, path)
        case _:
            return


def _unknown_in(
    table: dict[str, object], kind: inspect.StructType, path: str
) -> Iterator[tuple[str, str]]:
    fields = {field.encode_name: field.type for field in kind.fields}
    known = [*fields, kind.tag_field] if kind.tag_field else [*fields]
    for name, each in table.items():
        if name not in known:
            yield _join(path, name), suggest(name, known)
        elif name in fields:
            yield from _unknown(each, fields[name], _join(path, name))


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
