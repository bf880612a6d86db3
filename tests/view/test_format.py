"""Values as text: short, on one line, and harmless to a terminal."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskloom.view import format

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("bell\a", r"bell\x07"),
        ("over\rwritten", "over written"),
        ("right\u202eleft", r"right\u202eleft"),
        ("lone \ud800", r"lone \ud800"),
        ("one\u2028two", "one two"),
        ("naïve 日本 👩\u200d🔧", "naïve 日本 👩\u200d🔧"),
        ("nul\0", r"nul\x00"),
    ],
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert format.one_line(text) == shown


@pytest.mark.spec("TB-124")
@given(st.text(st.characters(), max_size=50))
def test_any_text_becomes_one_line_that_utf_8_can_hold(text: str) -> None:
    line = format.one_line(text)
    assert len(line.splitlines()) <= 1
    assert "\x1b" not in line
    line.encode()


def test_a_long_text_is_cut_with_an_ellipsis() -> None:
    assert format.one_line("x" * 1000, 10) == "x" * 9 + "…"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.25, "0.2s"),
        (59, "59s"),
        (61, "1m 01s"),
        (3 * 3600 + 120, "3h 02m"),
        (86400 * 2 + 3600, "2d 1h"),
        (-61, "1m 01s"),
    ],
)
def test_a_duration_has_its_two_largest_units(seconds: float, shown: str) -> None:
    assert format.duration(timedelta(seconds=seconds)) == shown


def test_a_lease_shows_the_time_left_or_since_when_it_has_expired() -> None:
    minute = timedelta(minutes=1)
    assert format.lease_left(NOON + minute, NOON) == "lease 1m 00s left"
    assert format.lease_left(NOON - minute, NOON) == "lease expired 1m 00s ago"
    assert format.lease_left(NOON, NOON) == "lease expired 0.0s ago"


def test_times_are_in_utc() -> None:
    east = NOON.astimezone(tz=None).astimezone()
    assert format.timestamp(east) == "2026-01-01 12:00:00"
    assert format.timestamp(None) == ""


@pytest.mark.parametrize(
    ("size", "shown"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (3 << 30, "3.0 GiB")]
)
def test_sizes_have_the_unit_that_fits(size: int, shown: str) -> None:
    assert format.size(size) == shown


def test_the_first_names_are_shown_and_the_others_counted() -> None:
    assert format.join_names(["a", "b"]) == "a, b"
    assert format.join_names(list("abcdefg")) == "a, b, c, d, e and 2 more"
    assert format.plural(1, "step") == "1 step"
    assert format.plural(1200, "step") == "1,200 steps"
