"""SortedInts against `sorted(set(...))`."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskloom.board.state.sorted_ints import SortedInts


@given(
    first=st.sets(st.integers(-50, 2_000), max_size=60),
    then=st.lists(st.integers(-50, 2_000), max_size=200),
)
@settings(max_examples=200)
def test_it_is_a_sorted_set_whatever_is_added_and_removed(first: set[int], then: list[int]) -> None:
    numbers, expected = SortedInts(first), set(first)
    for number in then:
        if number in expected:
            numbers.remove(number)
            expected.remove(number)
        else:
            numbers.add(number)
            expected.add(number)
        assert (number in numbers) == (number in expected)
    assert list(numbers) == sorted(expected)
    assert len(numbers) == len(expected)


@pytest.mark.parametrize("seed", range(5))
def test_long_runs_are_split_and_emptied_in_any_order(seed: int) -> None:
    shuffle = Random(seed).shuffle
    order = list(range(3_000))
    shuffle(order)
    numbers = SortedInts()
    for number in order:
        numbers.add(number)
    assert list(numbers) == list(range(3_000))
    assert 1_500 in numbers
    assert 3_000 not in numbers
    shuffle(order)
    for number in order[:2_990]:
        numbers.remove(number)
    assert list(numbers) == sorted(order[2_990:])
    for number in order[2_990:]:
        numbers.remove(number)
    assert (list(numbers), len(numbers)) == ([], 0)
    assert 5 not in numbers
    numbers.add(5)
    assert list(numbers) == [5]


def test_repeats_are_folded_at_the_beginning() -> None:
    numbers = SortedInts([3, 1, 3, 2, 1])
    assert (list(numbers), len(numbers)) == ([1, 2, 3], 3)
