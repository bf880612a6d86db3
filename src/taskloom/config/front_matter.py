"""The front matter of a definition file: `key: value` lines between two lines of `---`.

It is a subset of YAML: a value is a text, plain or quoted, or a list in brackets on one line.
Everything else is refused with its line number instead of being misread. A YAML library would be
one more dependency for these few lines.
"""

import re
from typing import Final, NamedTuple

from taskloom.errors import ConfigError

_FENCE: Final = re.compile(r"-{3,}\s*")
_LINE: Final = re.compile(r"([A-Za-z_][\w-]*)\s*:(?:\s+(.*)|)$")
_QUOTED: Final = re.compile(r"\"(?:[^\"\\]|\\[\"\\])*\"|'(?:[^']|'')*'")
_UNSUPPORTED: Final = "|>&*!%@`{"
"""Characters that start YAML values which are not supported here."""

Value = str | tuple[str, ...]


class FrontMatterError(ConfigError):
    """A line of the front matter is not valid."""

    def __init__(self, line: int, reason: str) -> None:
        """Raise for a line, counted from 1."""
        super().__init__(f"line {line}: {reason}", line=line)
        self.line = line


class FrontMatter(NamedTuple):
    """The values by key, and the line of each."""

    values: dict[str, Value]
    lines: dict[str, int]


def split_front_matter(text: str) -> tuple[FrontMatter, str]:
    """Return the front matter of a text, and the body below it.

    Raises:
        FrontMatterError: it is missing or not valid.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    if not _FENCE.fullmatch(lines[0]):
        raise FrontMatterError(
            1, "a definition starts with a line `---`, then `id: …` and other keys"
        )
    end = next((n for n, line in enumerate(lines[1:], 1) if _FENCE.fullmatch(line)), None)
    if end is None:
        raise FrontMatterError(1, "the front matter has no end: write a line `---` below it")
    head = FrontMatter({}, {})
    for number, line in enumerate(lines[1:end], start=2):
        if line.strip() and not line.lstrip().startswith("#"):
            key, value = _read(number, line)
            if key in head.values:
                raise FrontMatterError(number, f"`{key}` occurs twice")
            head.values[key] = value
            head.lines[key] = number
    return head, "\n".join(lines[end + 1 :]).strip()


def _read(number: int, line: str) -> tuple[str, Value]:
    if line.lstrip().startswith("- "):
        raise FrontMatterError(number, "write a list on one line, as in `tags: [first, second]`")
    if line[0].isspace():
        raise FrontMatterError(number, "indented lines are not supported; write `key: value`")
    found = _LINE.match(line)
    if found is None:
        raise FrontMatterError(number, f"write `key: value`; got {line.strip()[:60]!r}")
    return found[1], _value(number, (found[2] or "").strip())


def _value(number: int, text: str) -> Value:
    if text.startswith("["):
        if not text.endswith("]"):
            raise FrontMatterError(number, "a list must end with `]` on the same line")
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
    index = text.find(",")
    return len(text) if index < 0 else index


def _scalar(number: int, text: str) -> str:
    if _QUOTED.fullmatch(text):
        inner = text[1:-1]
        if text[0] == "'":
            return inner.replace("''", "'")
        return re.sub(r"\\([\"\\])", r"\1", inner)
    if text and (text[0] in _UNSUPPORTED or text[0] in "\"'[]"):
        raise FrontMatterError(
            number, f"{text[:40]!r} is not supported; put it in quotes, on one line"
        )
    return text.split(" #", 1)[0].rstrip()
