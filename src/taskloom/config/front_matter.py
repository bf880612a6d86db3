"""The head of a definition file: `key: value` lines between two lines of `---`.

This is the part of YAML that such heads are written in, and no more: a value is a text, bare or
in quotes, or a list in brackets on one line. Whatever else stands there is refused with its line,
rather than read as something that nobody meant.
"""

import re
from typing import Final, NamedTuple

_FENCE: Final = re.compile(r"-{3,}\s*")
_LINE: Final = re.compile(r"([A-Za-z_][\w-]*)\s*:(?:\s+(.*)|)$")
_QUOTED: Final = re.compile(r"\"(?:[^\"\\]|\\[\"\\])*\"|'(?:[^']|'')*'")
_BEGINS_OTHERWISE: Final = "|>&*!%@`{"
"""What begins something of YAML that is not understood here."""

Value = str | tuple[str, ...]


class FrontMatterError(Exception):
    """A line of a head that cannot be understood."""

    def __init__(self, line: int, what: str) -> None:
        """Keep the line, from 1, and what is wrong with it."""
        super().__init__(f"line {line}: {what}")
        self.line = line


class Head(NamedTuple):
    """What a head says: values by key, and the line of each."""

    values: dict[str, Value]
    lines: dict[str, int]


def split_head(text: str) -> tuple[Head, str]:
    """Return the head of a text, and the body below it.

    Raises:
        FrontMatterError: there is no head, or it holds what is not understood.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    if not _FENCE.fullmatch(lines[0]):
        raise FrontMatterError(
            1, "a definition begins with a line `---`, then `id: …` and the like"
        )
    end = next((n for n, line in enumerate(lines[1:], 1) if _FENCE.fullmatch(line)), None)
    if end is None:
        raise FrontMatterError(1, "the head has no end: write a line `---` below it")
    head = Head({}, {})
    for number, line in enumerate(lines[1:end], start=2):
        if line.strip() and not line.lstrip().startswith("#"):
            key, value = _read(number, line)
            if key in head.values:
                raise FrontMatterError(number, f"`{key}` stands there twice")
            head.values[key] = value
            head.lines[key] = number
    return head, "\n".join(lines[end + 1 :]).strip()


def _read(number: int, line: str) -> tuple[str, Value]:
    if line.lstrip().startswith("- "):
        raise FrontMatterError(number, "write a list on one line, as in `tags: [first, second]`")
    if line[0].isspace():
        raise FrontMatterError(
            number, "a line that is set in is not understood; write `key: value`"
        )
    found = _LINE.match(line)
    if found is None:
        raise FrontMatterError(number, f"write `key: value`; got {line.strip()[:60]!r}")
    return found[1], _value(number, (found[2] or "").strip())


def _value(number: int, text: str) -> Value:
    if text.startswith("["):
        if not text.endswith("]"):
            raise FrontMatterError(number, "a list ends with `]` on the same line")
        return split_list(number, text[1:-1])
    return _scalar(number, text)


def split_list(number: int, text: str) -> tuple[str, ...]:
    """Return the items of `a, "b, c", d`."""
    items: list[str] = []
    rest = text.strip()
    while rest:
        quoted = _QUOTED.match(rest)
        end = quoted.end() if quoted else _comma(rest)
        items.append(_scalar(number, rest[:end].strip()))
        rest = rest[end:].lstrip()
        if rest and not rest.startswith(","):
            raise FrontMatterError(number, f"a comma is missing before {rest[:40]!r}")
        rest = rest[1:].lstrip()
    return tuple(item for item in items if item)


def _comma(text: str) -> int:
    place = text.find(",")
    return len(text) if place < 0 else place


def _scalar(number: int, text: str) -> str:
    if _QUOTED.fullmatch(text):
        inner = text[1:-1]
        if text[0] == "'":
            return inner.replace("''", "'")
        return re.sub(r"\\([\"\\])", r"\1", inner)
    if text and (text[0] in _BEGINS_OTHERWISE or text[0] in "\"'[]"):
        raise FrontMatterError(
            number, f"{text[:40]!r} is not understood; put it in quotes, on one line"
        )
    return text.split(" #", 1)[0].rstrip()
