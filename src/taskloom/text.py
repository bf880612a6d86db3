"""Short forms of texts and lists, for messages and screens. Every package may import it."""

from collections.abc import Sequence

ELLIPSIS = "…"


def clip(text: str, max_chars: int) -> str:
    """Return the text, cut to `max_chars` characters; the last one of a cut text is an ellipsis."""
    return text if len(text) <= max_chars else text[: max_chars - 1] + ELLIPSIS


def clip_line(text: str, max_chars: int) -> str:
    """Return the text on one line, each run of white space as one space, and clipped."""
    head = text[: max_chars * 4]  # A text of megabytes costs no more than a line,
    line = " ".join(head.split())
    if len(head) < len(text) and len(line) <= max_chars:  # unless it is mostly white space.
        line = " ".join(text.split())
    return clip(line, max_chars)


def join_limited(names: Sequence[str], limit: int = 10) -> str:
    """Return `a, b and 3 more`: the first names, and how many others there are."""
    shown = ", ".join(names[:limit])
    more = len(names) - limit
    return f"{shown} and {more:,} more" if more > 0 else shown
