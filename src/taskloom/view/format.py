r"""Values as text for people: on one line, with control characters escaped.

Titles, results and reasons come from models and their tools. A control character in them is shown
as an escape (`\x1b`), so that no text of a board can move the cursor or colour the screen.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final
from unicodedata import category

from taskloom.text import clip, clip_line, join_limited

LINE_MAX: Final = 300
"""Wider than a terminal; `--json` has the whole text."""

_NAMED_MAX: Final = 5

_CONTROLS: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls, writing directions, lone surrogates, unassigned characters, Unicode line ends."""

_JOINER: Final = "\u200d"
"""Part of many emoji, and harmless."""


def clean(text: str) -> str:
    """Escape control characters; tabs and newlines become one space each."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_escape, text))


def _escape(char: str) -> str:
    if char in "\t\n\r":
        return " "
    if char == _JOINER or category(char) not in _CONTROLS:
        return char
    point = ord(char)
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}"


def one_line(text: str, limit: int = LINE_MAX) -> str:
    """Return a text on one line, clean and clipped."""
    # Clipped before cleaning, which is slow, and after, because escapes make it longer.
    return clip(clean(clip_line(text, limit)), limit)


def whole_line(text: str) -> str:
    """Return a text on one line with nothing left out: newlines are shown as a sign."""
    return clean(text.replace("\r\n", "⏎").replace("\n", "⏎").replace("\r", "⏎"))


def json_text(value: object) -> str:
    """Return JSON data as JSON."""
    return json.dumps(value, ensure_ascii=False)


def timestamp(at: datetime | None) -> str:
    """Return a time in UTC, to the second."""
    return "" if at is None else f"{_in_utc(at):%Y-%m-%d %H:%M:%S}"


def _in_utc(at: datetime) -> datetime:
    """Convert to UTC; a time without an offset, or out of range, is taken for UTC."""
    if at.tzinfo is None:
        return at.replace(tzinfo=UTC)
    try:
        return at.astimezone(UTC)
    except OverflowError:
        return at.replace(tzinfo=UTC)


def duration(length: timedelta) -> str:
    """Return a duration in its two largest units."""
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


def lease_left(end: datetime, now: datetime) -> str:
    """Return the time left on a lease, or since when it has expired."""
    left = _in_utc(end) - _in_utc(now)
    if left > timedelta():
        return f"lease {duration(left)} left"
    return f"lease expired {duration(left)} ago"


def counts(by_status: Mapping[str, int]) -> str:
    """Return the number of steps per status."""
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


def join_names(names: Sequence[str]) -> str:
    """Return the first names and the number of the others."""
    return join_limited([one_line(name) for name in names], _NAMED_MAX)
