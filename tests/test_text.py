"""Short forms of texts and lists."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskloom.text import clip, clip_line, join_limited


@pytest.mark.parametrize(
    ("text", "clipped"), [("", ""), ("abc", "abc"), ("abcd", "ab…"), ("a\nbc", "a\n…")]
)
def test_a_long_text_is_cut_and_ends_in_an_ellipsis(text: str, clipped: str) -> None:
    assert clip(text, 3) == clipped


@given(st.text(max_size=80), st.integers(1, 20))
def test_a_clipped_line_never_exceeds_its_limit_and_says_when_it_is_cut(
    text: str, limit: int
) -> None:
    line, whole = clip_line(text, limit), " ".join(text.split())
    assert line == (whole if len(whole) <= limit else whole[: limit - 1] + "…")


def test_white_space_before_a_text_does_not_hide_it() -> None:
    assert clip_line(" " * 1_000 + "found", 10) == "found"


def test_the_first_names_are_listed_and_the_others_counted() -> None:
    assert join_limited([]) == ""
    assert join_limited(["a", "b"], 2) == "a, b"
    assert join_limited(["a", "b", "c", "d"], 2) == "a, b and 2 more"
    assert join_limited(["x"] * 1_201, 1) == "x and 1,200 more"
