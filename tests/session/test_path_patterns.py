"""Patterns of paths: what they cover, and that no path takes long."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskloom.session.path_patterns import matches

CASES = {
    ("src/**", "src/a.py"): True,
    ("src/**", "src/a/b.py"): True,
    ("src/**", "src"): False,
    ("src/**", "srcs/a"): False,
    ("**", "a"): True,
    ("**/*.py", "a.py"): True,
    ("**/*.py", "a/b/c.py"): True,
    ("*.md", "docs/a.md"): False,
    ("a/**/b/**", "a/b/c"): True,
    ("a/**/**", "a/b"): True,
    ("a?c", "abc"): True,
    ("a?c", "a/c"): False,
    ("*a*b*", "xxaxxbxx"): True,
    ("*a*b*", "xxbxxaxx"): False,
    ("[ab]", "a"): False,
    ("a.c", "abc"): False,
}


@pytest.mark.spec("SE-106")
@pytest.mark.parametrize(("pattern", "path", "covered"), [(*case, CASES[case]) for case in CASES])
def test_a_pattern_covers_what_it_says(pattern: str, path: str, covered: bool) -> None:
    assert matches(pattern, path) is covered


NAMES = st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=4).map("/".join)
PARTS = st.lists(
    st.sampled_from(["a", "b", "*", "?", "**", "a*", "*b", "ab"]), min_size=1, max_size=4
)


@given(PARTS.map("/".join), NAMES)
def test_patterns_agree_with_a_regular_expression(pattern: str, path: str) -> None:
    pieces: list[str] = []
    parts = pattern.split("/")
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part == "**":
            pieces.append("[^/]+(?:/[^/]+)*" if last else "(?:[^/]+/)*")
        else:
            name = "".join({"*": "[^/]*", "?": "[^/]"}.get(char, char) for char in part)
            pieces.append(name if last else f"{name}/")
    assert matches(pattern, path) == bool(re.fullmatch("".join(pieces), path))


@pytest.mark.spec("SE-106")
def test_a_long_path_is_matched_in_a_number_of_steps_that_grows_with_its_length() -> None:
    # A matcher that goes back over `**` takes minutes for this path.
    path = "a/" * 20_000 + "b"
    assert not matches("**/a/**/a/**/a/**/a/**/*.py", path)
    assert not matches("*a*a*a*a*a*a*b", "a" * 20_000)
