"""Patterns of paths: `*` and `?` within a name, `**` for any number of directories.

Matching takes time linear in the length of the path: the patterns are read from a file, but the
paths are chosen by a model.
"""

from collections.abc import Sequence


def matches(pattern: str, path: str) -> bool:
    """Return whether a pattern covers a path; both are relative and separated by `/`.

    >>> matches("src/**", "src/a/b.py"), matches("*.md", "docs/a.md")
    (True, False)
    """
    return _match_names(pattern.split("/"), path.split("/"))


def _match_names(pattern: Sequence[str], names: Sequence[str]) -> bool:
    """Walk the names once, with all places of the pattern that can have been reached so far."""
    end = len(pattern)
    reached = _past_stars(pattern, {0})
    for name in names:
        following: set[int] = set()
        for place in reached - {end}:
            if pattern[place] == "**":
                following |= {place, place + 1}
            elif matches_name(pattern[place], name):
                following.add(place + 1)
        reached = _past_stars(pattern, following)
    return end in reached


def _past_stars(pattern: Sequence[str], places: set[int]) -> set[int]:
    """Add the places behind each `**`: it may stand for no directory, but for a name at the end."""
    found = set(places)
    for place in places:
        behind = place
        while behind < len(pattern) - 1 and pattern[behind] == "**":
            behind += 1
            found.add(behind)
    return found


def matches_name(pattern: str, name: str) -> bool:
    """Return whether a pattern of one name covers it: `*` any characters, `?` any one.

    The last `*` alone is ever taken back, so the time is the product of both lengths at most.
    """
    at, place, star, mark = 0, 0, -1, 0
    while at < len(name):
        if place < len(pattern) and pattern[place] == "*":
            star, mark = place, at
            place += 1
        elif place < len(pattern) and pattern[place] in ("?", name[at]):
            at, place = at + 1, place + 1
        elif star >= 0:
            mark += 1
            at, place = mark, star + 1
        else:
            return False
    return all(rest == "*" for rest in pattern[place:])
