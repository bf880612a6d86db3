r"""Values as words for people: one line, nothing that a terminal would obey.

Titles, results and reasons come from models and their tools. A control character among them is
shown as what it is (`\x1b`), so no text of a board can move a cursor or colour a screen.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final
from unicodedata import category

from taskloom.text import clip, clip_line, join_limited

LINE_MAX: Final = 300
"""More than a terminal is wide; `--json` has the whole text."""

_NAMED_MAX: Final = 5

_OBEYED: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls, directions of writing, lone surrogates, unassigned, and Unicode's own line ends."""

_JOINER: Final = "\u200d"
"""Part of many emoji, and harmless."""


def clean(text: str) -> str:
    """Show what a terminal would obey; keep tabs and newlines as one space each."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible, text))


def _visible(char: str) -> str:
    if char in "\t\n\r":
        return " "
    if char == _JOINER or category(char) not in _OBEYED:
        return char
    point = ord(char)
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}"


def one_line(text: str, most: int = LINE_MAX) -> str:
    """Return a text on one line, cut with an ellipsis."""
    # Clipped before it is cleaned, which costs a step per character, and after, which lengthens.
    return clip(clean(clip_line(text, most)), most)


def json_text(value: object) -> str:
    """Return JSON data as JSON."""
    return json.dumps(value, ensure_ascii=False)


def moment(at: datetime | None) -> str:
    """Return a moment in UTC, to the second."""
    return "" if at is None else f"{_in_utc(at):%Y-%m-%d %H:%M:%S}"


def _in_utc(at: datetime) -> datetime:
    """Take a moment without an offset for UTC, and one at the edge of time as it is."""
    if at.tzinfo is None:
        return at.replace(tzinfo=UTC)
    try:
        return at.astimezone(UTC)
    except OverflowError:
        return at.replace(tzinfo=UTC)


def span(length: timedelta) -> str:
    """Return a length of time in its two largest units."""
    seconds = abs(length.total_seconds())
    if seconds < 10:
        return f"{seconds:.1f}s"
    minutes, whole = divmod(int(seconds), 60)
    if minutes == 0:
        return f"{whole}s"
    hours, minutes = divmod(minutes, 60)
    if hours == 0:
        return f"{minutes}m {whole:02}s"
    days, hours = divmod(hours, 24)
    return f"{days}d {hours}h" if days else f"{hours}h {minutes:02}m"


def lease(end: datetime, now: datetime) -> str:
    """Say how much of a lease is left. One that is over stays until somebody takes it back."""
    left = _in_utc(end) - _in_utc(now)
    return f"lease {span(left)} left" if left > timedelta() else f"lease over for {span(left)}"


def counts(by_status: Mapping[str, int]) -> str:
    """Say how many steps are where."""
    return ", ".join(f"{count:,} {status}" for status, count in by_status.items() if count)


def size(size_bytes: int) -> str:
    """Return a size in the unit that fits."""
    amount = float(size_bytes)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


def plural(count: int, noun: str) -> str:
    """Return `1 step`, `2 steps`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def some(names: Sequence[str]) -> str:
    """Name the first few, and count the others."""
    return join_limited([one_line(name) for name in names], _NAMED_MAX)
